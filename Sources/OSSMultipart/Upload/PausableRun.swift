// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

/// Runs something that can go on where it stopped again and again, as often as it is paused.
final class PausableRun<Success: Sendable>: Sendable {
    private enum Phase {
        case running(Task<Success, any Error>?)
        case pausing(Task<Success, any Error>)
        case paused(CheckedContinuation<Void, Never>?)
        case cancelled
        case ended
    }
    private let phase = Lock(Phase.running(nil))

    /// Runs `body`, waits while paused, runs it again, until there is an end.
    ///
    /// - Parameters:
    ///   - body: what to run; it is cancelled by a pause and by the end.
    ///   - pause: called when a pause has come to rest.
    ///   - resumption: called when it goes on after that.
    func drive(
        _ body: @escaping @Sendable () async throws -> Success, whenPaused pause: () -> Void,
        whenResumed resumption: () -> Void
    ) async -> Result<Success, any Error> {
        while true {
            // Unstructured, and awaited at once: pausing cancels this run alone.
            let run = Task { try await body() }
            self.began(run)
            let result = await run.result
            guard self.isPausing(after: result) else {
                self.phase.withLock { $0 = .ended }
                return result
            }
            pause()
            await self.waitForResume()
            // Cancelled while it was paused: there is nothing to begin only to end it.
            if self.hasBeenCancelled { return .failure(CancellationError()) }
            resumption()
        }
    }

    /// Stops what is under way until ``resume()``; returns at once.
    func pause() {
        let run = self.phase.withLock { phase -> Task<Success, any Error>? in
            switch phase {
            case .running(let run?):
                phase = .pausing(run)
                return run
            case .running(nil):
                phase = .paused(nil)
                return nil
            case .pausing, .paused, .cancelled, .ended: return nil
            }
        }
        run?.cancel()
    }

    /// Goes on after a pause.
    func resume() {
        let waiting = self.phase.withLock { phase -> CheckedContinuation<Void, Never>? in
            guard case .paused(let waiting) = phase else {
                // A pause that has not come to rest yet is taken back: its run ends, and another one begins.
                if case .pausing = phase { phase = .running(nil) }
                return nil
            }
            phase = .running(nil)
            return waiting
        }
        waiting?.resume()
    }

    /// Stops for good; returns at once.
    func cancel() {
        let (run, waiting) = self.phase.withLock { phase in
            defer { if case .ended = phase {} else { phase = .cancelled } }
            switch phase {
            case .running(let run): return (run, CheckedContinuation<Void, Never>?.none)
            case .pausing(let run): return (run, nil)
            case .paused(let waiting): return (nil, waiting)
            case .cancelled, .ended: return (nil, nil)
            }
        }
        run?.cancel()
        waiting?.resume()
    }

    // MARK: The driver's own steps

    private func began(_ run: Task<Success, any Error>) {
        let isWanted = self.phase.withLock { phase in
            switch phase {
            case .running:
                phase = .running(run)
                return true
            case .paused:
                phase = .pausing(run)
                return false
            case .pausing, .cancelled, .ended: return false
            }
        }
        if !isWanted { run.cancel() }
    }

    /// Whether a run was ended by a pause, and not by its own success or failure.
    private func isPausing(after result: Result<Success, any Error>) -> Bool {
        guard case .failure(let error) = result, error is CancellationError else { return false }
        return self.phase.withLock { phase in
            switch phase {
            case .pausing:
                phase = .paused(nil)
                return true
            // The pause was taken back before it came to rest, and perhaps asked for again.
            case .running(nil), .paused: return true
            case .running, .cancelled, .ended: return false
            }
        }
    }

    /// Whether it was cancelled; it has ended then.
    private var hasBeenCancelled: Bool {
        self.phase.withLock { phase in
            guard case .cancelled = phase else { return false }
            phase = .ended
            return true
        }
    }

    private func waitForResume() async {
        await withCheckedContinuation { continuation in
            let waits = self.phase.withLock { phase in
                guard case .paused = phase else { return false }
                phase = .paused(continuation)
                return true
            }
            if !waits { continuation.resume() }
        }
    }
}
