// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import LoopbackSockets
import SystemIO

/// One connection through a proxy: its two sockets and what is on its way between them.
struct ProxyLink {
    let client: PosixFile
    let server: PosixFile
    private var request = ProxyFlow()
    private var reply = ProxyFlow()
    /// Whether nothing is forwarded any more.
    private var isSilent = false
    /// Bytes that are the reply, once the request has been cut.
    private var answer: (bytes: [UInt8], then: ByteProxy.End)?
    /// Whether the first blank line of the replies has passed, where they are sent in chunks.
    private var isBehindHead = false
    /// Whether both sockets may be closed.
    private(set) var isOver = false

    /// `POLLRDHUP` of Linux, which Swift's module of the C library does not have.
    private static let hasEnded: Int32 = 0x2000

    init(client: PosixFile, server: PosixFile, requestPace: ByteProxy.Pace?) {
        self.client = client
        self.server = server
        self.request.pace = requestPace
    }

    // MARK: What it waits for

    /// The events that matter on both sockets.
    func events(at now: ContinuousClock.Instant) -> (client: Int32, server: Int32) {
        // With nothing forwarded, all that is left to see is a side that goes.
        guard !self.isSilent else { return (Self.hasEnded, 0) }
        return (
            (self.request.takesMore ? POLLIN : 0) | (self.reply.isReady(at: now) ? POLLOUT : 0),
            (self.reply.takesMore ? POLLIN : 0) | (self.request.isReady(at: now) ? POLLOUT : 0)
        )
    }

    /// When something has to be done although nothing happens.
    var nextMoment: ContinuousClock.Instant? {
        [
            self.reply.pause?.next, self.reply.pending.isEmpty ? nil : self.reply.rest,
            self.request.pending.isEmpty ? nil : self.request.rest,
            self.request.quietMoment, self.reply.quietMoment,
        ]
        .compactMap { $0 }.min()
    }

    // MARK: What happens

    /// Takes and forwards what there is.
    mutating func step(
        client: Int32, server: Int32, at now: ContinuousClock.Instant, with context: ProxyLoop.Context
    ) {
        if self.isSilent {
            if client & (Self.hasEnded | POLLHUP | POLLERR) != 0 { self.isOver = true }
            return
        }
        if client & (POLLIN | POLLHUP | POLLERR) != 0, self.request.takesMore {
            self.take(
                ProxySocket.receive(self.client, upTo: self.request.pace?.bytes ?? 65_536), into: \.request, at: now)
        }
        if server & (POLLIN | POLLHUP | POLLERR) != 0, self.reply.takesMore {
            self.take(ProxySocket.receive(self.server, upTo: 65_536), into: \.reply, at: now)
        }
        guard !self.isOver else { return }
        self.lookAtRequest(isQuiet: self.request.isQuiet(at: now), context)
        self.editReply(isQuiet: self.reply.isQuiet(at: now), context)
        self.reply.fill(at: now)
        self.forward(\.request, to: self.server, at: now)
        self.forward(\.reply, to: self.client, at: now)
        self.endWhereCut()
    }

    private mutating func take(
        _ received: ProxySocket.Received, into flow: WritableKeyPath<Self, ProxyFlow>, at now: ContinuousClock.Instant
    ) {
        switch received {
        case .bytes(let bytes):
            self[keyPath: flow].unseen += bytes
            self[keyPath: flow].lastTaken = now
        case .nothingYet: break
        case .end: self[keyPath: flow].isAtEnd = true
        case .broken: self.finish(.reset)
        }
    }

    private mutating func finish(_ end: ByteProxy.End) {
        switch end {
        case .close: self.isOver = true
        case .reset:
            LoopbackSocket.resetAtClose(self.client.descriptor)
            LoopbackSocket.resetAtClose(self.server.descriptor)
            self.isOver = true
        case .silence: self.isSilent = true
        case .halfClose: break
        }
    }

    // MARK: The request

    private mutating func lookAtRequest(isQuiet: Bool, _ context: ProxyLoop.Context) {
        while true {
            let found = context.rules.compactMap {
                ProxySocket.firstIndex(of: $0.mark, in: self.request.unseen, from: 0)
            }
            guard let start = found.min() else { break }
            self.releaseRequest(start, context)
            for (number, rule) in context.rules.enumerated() where self.request.unseen.starts(with: rule.mark) {
                let times = context.notes.addMark(ofRule: number)
                if context.notes.meddles, rule.occurrences.contains(times) { self.arm(rule.action) }
            }
            self.releaseRequest(1, context)
        }
        let held =
            isQuiet || self.request.isAtEnd
            ? 0
            : self.request.heldBack(for: context.rules.map(\.mark) + context.configuration.requestEdits.map(\.target))
        self.releaseRequest(self.request.unseen.count - held, context)
    }

    private mutating func releaseRequest(_ count: Int, _ context: ProxyLoop.Context) {
        let bytes = Array(self.request.unseen[..<count])
        self.request.unseen.removeFirst(count)
        self.request.release(Self.edit(bytes, context.configuration.requestEdits, context.notes))
    }

    private mutating func arm(_ action: ByteProxy.Action) {
        switch action {
        case .nothing: break
        case .end(let end, .request(let count)):
            self.request.limit = self.request.passed + count
            self.request.end = end
        case .end(let end, .requestThrough(let mark)):
            self.request.limitMark = Array(mark.utf8)
            self.request.end = end
        case .end(let end, .reply(let count)):
            self.reply.limit = self.reply.passed + count
            self.reply.end = end
        case .end(let end, .replyThrough(let mark)):
            self.reply.limitMark = Array(mark.utf8)
            self.reply.end = end
        case .answer(let bytes, let count, let end):
            self.request.limit = self.request.passed + count
            self.answer = (bytes, end)
        case .flip(let index): self.request.flip = self.request.passed + index
        case .pauseReply(let mark, let filling, let times, let pause):
            self.reply.pause = .init(mark: Array(mark.utf8), filling: filling, times: times, pause: pause)
        case .paceReply(let pace): self.reply.pace = pace
        }
        // So that no byte passes where none may.
        if let limit = self.request.limit, self.request.passed >= limit { self.request.isCut = true }
    }

    // MARK: The reply

    private mutating func editReply(isQuiet: Bool, _ context: ProxyLoop.Context) {
        let configuration = context.configuration
        let held =
            isQuiet || self.reply.isAtEnd ? 0 : self.reply.heldBack(for: configuration.replyEdits.map(\.target))
        let count = self.reply.unseen.count - held
        guard count > 0 else { return }
        let bytes = Self.edit(Array(self.reply.unseen[..<count]), configuration.replyEdits, context.notes)
        self.reply.unseen.removeFirst(count)
        guard configuration.chunksReplies else { return self.reply.release(bytes) }
        let blankLine = Array("\r\n\r\n".utf8)
        var body = bytes
        if !self.isBehindHead {
            guard let start = ProxySocket.firstIndex(of: blankLine, in: bytes, from: 0) else {
                return self.reply.release(bytes)
            }
            self.isBehindHead = true
            self.reply.release(Array(bytes[..<(start + blankLine.count)]))
            body = Array(bytes[(start + blankLine.count)...])
        }
        guard !body.isEmpty else { return }
        self.reply.release(Array("\(String(body.count, radix: 16))\r\n".utf8) + body + Array("\r\n".utf8))
    }

    private static func edit(_ bytes: [UInt8], _ edits: [ByteProxy.Edit], _ notes: ProxyNotes) -> [UInt8] {
        var bytes = bytes
        for edit in edits {
            var start = 0
            while let found = ProxySocket.firstIndex(of: edit.target, in: bytes, from: start) {
                bytes.replaceSubrange(found..<found + edit.target.count, with: edit.replacement)
                start = found + edit.replacement.count
                notes.addEdit(of: edit.target)
            }
        }
        return bytes
    }

    // MARK: Forwarding

    private mutating func forward(
        _ path: WritableKeyPath<Self, ProxyFlow>, to sink: PosixFile, at now: ContinuousClock.Instant
    ) {
        var flow = self[keyPath: path]
        defer { self[keyPath: path] = flow }
        if flow.isReady(at: now) {
            let most = flow.pace?.bytes ?? flow.pending.count
            guard let sent = ProxySocket.send(sink, flow.pending.prefix(most)) else { return self.finish(.reset) }
            flow.pending.removeFirst(sent)
            if let pace = flow.pace { flow.rest = now + pace.pause }
        }
        guard flow.isAtEnd, flow.pending.isEmpty, flow.unseen.isEmpty, flow.kept.isEmpty, flow.pause?.next == nil,
            !flow.endWasTold
        else { return }
        if self.isBehindHead, sink === self.client, !flow.isCut {
            // The last chunk, once.
            self.isBehindHead = false
            flow.pending = Array("0\r\n\r\n".utf8)
            return
        }
        flow.endWasTold = true
        LoopbackSocket.endSending(sink.descriptor)
        let other = sink === self.client ? self.request : self.reply
        if other.endWasTold { self.isOver = true }
    }

    private mutating func endWhereCut() {
        if self.request.isCut, self.request.pending.isEmpty {
            if let answer = self.answer {
                self.answer = nil
                LoopbackSocket.endSending(self.server.descriptor)
                self.reply.pending = answer.bytes
                self.reply.isCut = true
                self.reply.end = answer.then
            } else if let end = self.request.end {
                self.request.end = nil
                self.finish(end)
                if end == .halfClose, !self.isOver {
                    LoopbackSocket.endSending(self.server.descriptor)
                    self.request.endWasTold = true
                }
            }
        }
        // Nothing more of the reply passes: with the first byte that would, its end has come.
        if self.reply.isCut, self.reply.pending.isEmpty, let end = self.reply.end {
            self.reply.end = nil
            self.finish(end)
            if end == .halfClose, !self.isOver {
                LoopbackSocket.endSending(self.client.descriptor)
                self.reply.endWasTold = true
            }
        }
        // The client has gone, and nothing more is forwarded to the one or the other.
        if self.request.isAtEnd, self.request.isCut || self.reply.isCut, self.request.pending.isEmpty,
            self.reply.pending.isEmpty
        {
            self.isOver = true
        }
    }
}
