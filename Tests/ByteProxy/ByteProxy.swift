// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import LoopbackSockets
package import SystemIO

/// A TCP proxy between a client and a server that does to their connections what no HTTP library would.
///
/// It knows of bytes and connections and of nothing else: what it does is set off by bytes that the client sends, and it
/// happens so many bytes later, or behind other bytes. It listens on a free port of 127.0.0.1 and has one thread.
package final class ByteProxy: Sendable {
    /// The port that it listens on.
    package let port: UInt16
    private let configuration: Configuration
    private let notes: ProxyNotes
    private let thread: ProxyThread

    /// Makes a proxy and lets it listen.
    ///
    /// - Parameters:
    ///   - server: the server's port on 127.0.0.1.
    ///   - configuration: what is done to every connection.
    ///   - rules: what is done at moments that the client's bytes name.
    /// - Throws: `SystemError` where there is no socket to be had.
    package init(to server: UInt16, _ configuration: Configuration = .init(), rules: [Rule] = []) throws(SystemError) {
        let listener = try ProxySocket.listen(receiveBuffer: configuration.receiveBuffer)
        self.port = try LoopbackSocket.port(of: listener.descriptor)
        self.configuration = configuration
        self.notes = ProxyNotes(rules: rules)
        let loop = ProxyLoop(
            listener: listener, server: server, configuration: configuration, rules: rules, notes: self.notes)
        self.thread = try ProxyThread { wake in loop.run(until: wake) }
    }

    /// The proxy's address, without a slash at its end.
    package var url: String { "http://127.0.0.1:\(self.port)" }

    /// How many connections came so far.
    package var connections: Int { self.notes.connections }

    /// How often the mark of a rule, counted from 0, was seen so far, whether or not the rule was in force then.
    package func count(ofRule rule: Int) -> Int { self.notes.count(ofRule: rule) }

    /// The edits that have found nothing to replace so far, by what they look for.
    package var unusedEdits: [String] {
        (self.configuration.requestEdits + self.configuration.replyEdits).map(\.target)
            .filter { !self.notes.hasEdited($0) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Puts the rules out of force; what they have begun goes on, and marks are still counted.
    package func stopMeddling() { self.notes.stopMeddling() }
}

extension ByteProxy {
    /// What is done to every connection.
    package struct Configuration: Sendable {
        /// Size in bytes of the buffers that the system receives the client's bytes into.
        ///
        /// Segments are then as small as on a network. Default: nil, the system's choice.
        package var receiveBuffer: Int32?
        /// How fast the client's bytes are taken.
        ///
        /// Default: nil, as fast as they come.
        package var requestPace: Pace?
        /// Bytes of the client's that are replaced wherever they occur.
        ///
        /// Default: none.
        package var requestEdits: [Edit] = []
        /// Bytes of the server's that are replaced wherever they occur.
        ///
        /// Default: none.
        package var replyEdits: [Edit] = []
        /// Whether all behind the server's first blank line is sent in chunks, one for each time that bytes come.
        ///
        /// It ends with the server's end of the connection. Default: false.
        package var chunksReplies = false

        /// Makes a configuration that changes nothing.
        package init() {}
    }

    /// Bytes that take the place of others.
    package struct Edit: Sendable {
        let target: [UInt8]
        let replacement: [UInt8]

        /// Makes an edit.
        package init(_ target: String, _ replacement: String) {
            self.target = Array(target.utf8)
            self.replacement = Array(replacement.utf8)
        }
    }

    /// So many bytes at a time, and a pause between.
    package struct Pace: Sendable {
        let bytes: Int
        let pause: Duration

        /// Makes a pace.
        package init(bytes: Int, pause: Duration) {
            self.bytes = bytes
            self.pause = pause
        }
    }

    /// What happens once the client has sent certain bytes.
    package struct Rule: Sendable {
        let mark: [UInt8]
        let occurrences: ClosedRange<Int>
        let action: Action

        /// Every time that the mark is seen.
        package static let always = 1...Int.max

        /// Makes a rule.
        ///
        /// - Parameters:
        ///   - mark: the bytes that set it off, for example a request's first line up to where others differ.
        ///   - action: what happens then.
        ///   - occurrences: which of the times that the mark is seen, counted from 1 over all connections; by default the first.
        package init(_ mark: String, _ action: Action, occurrences: ClosedRange<Int> = 1...1) {
            self.mark = Array(mark.utf8)
            self.occurrences = occurrences
            self.action = action
        }
    }

    /// What happens.
    package enum Action: Sendable {
        /// Nothing; the mark is counted.
        case nothing
        /// The connection ends in some way at a place.
        case end(End, Place)
        /// These bytes are the reply, sent once so many bytes of the request, counted from the mark's first, have been
        /// forwarded; no more are, and the connection ends so when the reply has been sent.
        case answer([UInt8], afterRequestBytes: Int, then: End)
        /// The lowest bit of the request's byte with this number, counted from the mark's first, is flipped.
        case flip(Int)
        /// The reply pauses behind these bytes, and meanwhile so many of a filling byte are sent, one after each pause.
        case pauseReply(behind: String, filling: UInt8, times: Int, pause: Duration)
        /// The reply is sent at this pace.
        case paceReply(Pace)
    }

    /// How a connection ends.
    package enum End: Sendable, CaseIterable {
        /// Both sides are closed.
        case close
        /// Both sides are reset.
        case reset
        /// Nothing is forwarded any more, and nothing is closed.
        case silence
        /// Whoever would get the next byte sees the end; what it sends goes on being taken.
        case halfClose
    }

    /// Where a connection ends.
    package enum Place: Sendable {
        /// When so many bytes of the request, counted from the mark's first, have been forwarded.
        case request(Int)
        /// When the request has been forwarded up to and with these bytes.
        case requestThrough(String)
        /// When so many bytes of the reply have been forwarded.
        ///
        /// 0 is when its first byte has come.
        case reply(Int)
        /// When the reply has been forwarded up to and with these bytes.
        case replyThrough(String)
    }
}
