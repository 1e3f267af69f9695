// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// The client by public API alone, told what to do line by line: one JSON object in, one JSON object out.
//
// The first line makes the client. Where it is to have no secret, each request that needs a signature is a line
// `{"sign": N, "request": …}` of output, answered by a line `{"signed": N, "url": …, "headers": …}` of input.

import FoundationEssentials
import OSSMultipart

// The main thread reads and the tasks have threads of their own.
var session: Session?
while let line = readLine() {
    let data = Data(line.utf8)
    if let signed = try? JSONDecoder().decode(Signatures.Answer.self, from: data) {
        signatures.resolve(signed)
        continue
    }
    do {
        let command = try JSONDecoder().decode(Command.self, from: data)
        if command.do == "client" {
            session = try Session(command)
            output.write(Answer())
        } else if let session {
            Task.detached {
                var answer = Answer()
                do { answer = try await session.perform(command) } catch let error as OSSError {
                    answer.error = "\(error)"
                    answer.code = error.service?.code.name ?? error.code.description
                } catch {
                    answer.error = "\(error)"
                }
                output.write(answer)
            }
        }
    } catch {
        var answer = Answer()
        answer.error = "\(error)"
        output.write(answer)
    }
}
