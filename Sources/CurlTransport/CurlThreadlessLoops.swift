// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// Loops without a thread of their own: a thread that may block carries its request itself, and nobody has to be woken.
///
/// The way to the transport's thread and back costs as much as the digests of a small part. Each loop carries one request at
/// a time and keeps one connection, so it stays with one host while there is something to do for it.
final class CurlThreadlessLoops: Sendable {
    private final class Place: Sendable {
        let loop: CurlMultiLoop
        // Used by the thread that has taken the place, until it gives it back; the lock of `state` is between one thread and
        // the next.
        private nonisolated(unsafe) var worker: CurlMultiWorker?

        init(_ loop: CurlMultiLoop) { self.loop = loop }

        /// Carries a call to its end.
        ///
        /// - Parameter begin: is run before the first one.
        func carry(_ call: CurlCall, begin: () -> Void) -> Result<TransportResponse, any Error> {
            // SAFETY: see `worker`.
            if let worker = unsafe self.worker { return worker.carry(call) }
            do throws(TransportError) {
                let worker = try CurlMultiWorker(loop: self.loop)
                unsafe self.worker = worker
                begin()
                return worker.carry(call)
            } catch {
                return .failure(error)
            }
        }

        /// Closes the connection.
        func close() {
            // SAFETY: see `worker`.
            unsafe self.worker?.close()
            unsafe self.worker = nil
        }
    }

    /// A place that nobody has.
    private struct FreePlace {
        let number: Int
        /// The host and port that its connection goes to; nil where it has none yet.
        var origin: String?
        /// When the last request was over.
        var since = ContinuousClock.now
    }

    private struct State {
        /// In the order they were given back.
        var free: [FreePlace]
        var isShutDown = false
        var whenAllAreFree: [CheckedContinuation<Void, Never>] = []
    }

    /// How long a connection is kept for its host though another one is asked for.
    ///
    /// *Source:* our own choice: longer than the pauses of an upload to the first, shorter than most uploads to the second.
    /// *Applies to:* transports that are used for several hosts.
    private static let loyalty = Duration.seconds(2)

    private let places: [Place]
    private let connections: IdleConnections
    private let state: Lock<State>

    /// Makes loops; nothing is opened before the first request.
    ///
    /// - Parameters:
    ///   - count: how many there are, which may be 0.
    ///   - first: the number of the first one.
    ///   - connections: what those that are used take their one connection from.
    init(
        configuration: CurlTransportConfiguration, count: Int, first: Int, connections: IdleConnections,
        disk: BlockingExecutor
    ) {
        self.places = (0..<count).map {
            Place(
                CurlMultiLoop(
                    configuration: configuration, number: first + $0, share: .one, disk: disk, isThreadless: true))
        }
        self.connections = connections
        self.state = Lock(State(free: (0..<count).map { FreePlace(number: $0) }))
    }

    /// Carries a call on this thread where that is one that may block, and a loop is free.
    ///
    /// - Returns: what came of it; nil where nothing was begun.
    func carry(_ call: CurlCall) async -> Result<TransportResponse, any Error>? {
        guard BlockingExecutor.isHere, var taken = self.take(for: call.origin) else { return nil }
        defer { self.giveBack(taken) }
        let place = self.places[taken.number]
        let result = await withTaskCancellationHandler {
            BlockingExecutor.callHere { place.carry(call) { self.connections.give() } }
        } onCancel: {
            if call.cancel() { place.loop.cancel(call) }
        }
        if result != nil { taken = FreePlace(number: taken.number, origin: call.origin) }
        return result
    }

    /// Takes a place whose connection goes to that host, the freshest; else one that has none, or whose host seems done with.
    private func take(for origin: String) -> FreePlace? {
        self.state.withLock { state in
            guard !state.isShutDown else { return nil }
            let index =
                state.free.lastIndex { $0.origin == origin } ?? state.free.lastIndex { $0.origin == nil }
                ?? state.free.firstIndex { $0.since + Self.loyalty < .now }
            return index.map { state.free.remove(at: $0) }
        }
    }

    private func giveBack(_ place: FreePlace) {
        // A cancellation that came too late is still there, with the request and what that sends.
        self.places[place.number].loop.forgetCommands()
        let isShutDown = self.state.withLock { state in
            if !state.isShutDown { state.free.append(place) }
            return state.isShutDown
        }
        if isShutDown { self.leave([place]) }
    }

    /// Closes places that nobody can take any more, and says so when they were the last.
    private func leave(_ left: [FreePlace]) {
        for place in left { self.places[place.number].close() }
        let waiting: [CheckedContinuation<Void, Never>] = self.state.withLock { state in
            state.free += left
            guard state.free.count == self.places.count else { return [] }
            defer { state.whenAllAreFree = [] }
            return state.whenAllAreFree
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Ends what is under way with ``TransportError/Kind/shutDown`` and takes no more; does not wait for it.
    func stop() {
        let free: [FreePlace]? = self.state.withLock { state in
            guard !state.isShutDown else { return nil }
            state.isShutDown = true
            defer { state.free = [] }
            return state.free
        }
        guard let free else { return }
        for place in self.places { place.loop.stop() }
        self.leave(free)
    }

    /// Ends what is under way with ``TransportError/Kind/shutDown``, closes all connections, and returns when that is done.
    func shutDown() async {
        self.stop()
        await withCheckedContinuation { continuation in
            let isDone = self.state.withLock { state in
                if state.free.count == self.places.count { return true }
                state.whenAllAreFree.append(continuation)
                return false
            }
            if isDone { continuation.resume() }
        }
    }
}
