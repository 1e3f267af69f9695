// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Glibc
import Testing

@testable import SystemIO

@Suite(.timeLimit(.minutes(1))) struct ChildProcessTests {
    @Test func `What a program prints comes back with its exit status`() throws {
        let outcome = try ChildProcess.run(
            ["sh", "-c", "printf abc; exit 7"], outputLimit: 10, timeLimit: .seconds(30))
        #expect(outcome.output == Array("abc".utf8))
        #expect(outcome.exitStatus == 7)
    }

    @Test func `Signals that are blocked or ignored here end the program all the same`() throws {
        var blocked = sigset_t(), previous = sigset_t()
        // SAFETY: both sets are this frame's own; the mask is this thread's, and there is no suspension before it is set back.
        unsafe sigemptyset(&blocked)
        unsafe sigaddset(&blocked, SIGUSR1)
        #expect(unsafe pthread_sigmask(SIG_BLOCK, &blocked, &previous) == 0)
        defer { _ = unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }
        _ = signal(SIGUSR2, SIG_IGN)
        for name in ["USR1", "USR2"] {
            let outcome = try ChildProcess.run(
                ["sh", "-c", "kill -\(name) $$; echo alive"], outputLimit: 100, timeLimit: .seconds(30))
            #expect(outcome.output == [])
            #expect(outcome.exitStatus == nil)
        }
    }

    @Test func `A program that prints too much or takes too long is killed`() throws {
        #expect { try ChildProcess.run(["yes"], outputLimit: 100, timeLimit: .seconds(30)) } throws: { error in
            (error as? SystemError)?.number == EFBIG
        }
        #expect {
            try ChildProcess.run(["sleep", "3600"], outputLimit: 100, timeLimit: .milliseconds(50))
        } throws: { error in
            (error as? SystemError)?.number == ETIMEDOUT
        }
    }
}
