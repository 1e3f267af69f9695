// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import SystemIO

/// What the thread of a proxy does: it waits for all of its sockets and forwards what comes.
struct ProxyLoop: Sendable {
    /// What all connections have in common.
    struct Context: Sendable {
        let configuration: ByteProxy.Configuration
        let rules: [ByteProxy.Rule]
        let notes: ProxyNotes
    }

    private let listener: PosixFile
    private let server: UInt16
    private let context: Context

    init(
        listener: PosixFile, server: UInt16, configuration: ByteProxy.Configuration, rules: [ByteProxy.Rule],
        notes: ProxyNotes
    ) {
        self.listener = listener
        self.server = server
        self.context = Context(configuration: configuration, rules: rules, notes: notes)
    }

    /// Works until the file hangs up.
    func run(until wake: PosixFile) {
        var links: [ProxyLink] = []
        while true {
            var now = ContinuousClock.now
            var entries = [
                pollfd(fd: wake.descriptor, events: 0, revents: 0),
                pollfd(fd: self.listener.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            for link in links {
                let events = link.events(at: now)
                // An entry without events would still report a hang-up, again and again.
                entries.append(Self.entry(link.client, events.client))
                entries.append(Self.entry(link.server, events.server))
            }
            let moment = links.compactMap(\.nextMoment).min()
            // SAFETY: the entries are ours and their number is passed.
            _ = unsafe poll(&entries, nfds_t(entries.count), moment.map { Self.milliseconds(from: now, to: $0) } ?? -1)
            if entries[0].revents != 0 { return }
            now = .now
            for index in links.indices {
                links[index].step(
                    client: Int32(entries[2 + 2 * index].revents), server: Int32(entries[3 + 2 * index].revents),
                    at: now, with: self.context
                )
            }
            links.removeAll(where: \.isOver)
            if entries[1].revents != 0, let client = ProxySocket.accept(self.listener) {
                self.context.notes.addConnection()
                // Without a server the client sees its connection close.
                if let server = ProxySocket.connect(port: self.server) {
                    links.append(
                        ProxyLink(client: client, server: server, requestPace: self.context.configuration.requestPace))
                }
            }
        }
    }

    private static func entry(_ socket: PosixFile, _ events: Int32) -> pollfd {
        pollfd(fd: events == 0 ? -1 : socket.descriptor, events: Int16(events), revents: 0)
    }

    private static func milliseconds(from now: ContinuousClock.Instant, to moment: ContinuousClock.Instant) -> Int32 {
        let duration = now.duration(to: moment)
        let milliseconds =
            duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        return Int32(clamping: max(0, milliseconds + 1))
    }
}
