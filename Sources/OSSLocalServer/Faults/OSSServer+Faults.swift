// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import SystemIO

extension OSSServer {
    /// The rules in force; they may be changed while the server runs.
    public final class Faults: Sendable {
        private struct Rule {
            let fault: Fault
            var count = 0
        }

        private let rules = Lock<[Rule]>([])
        private let counts = Lock<[String: Int]>([:])

        init() {}

        /// Adds rules behind the others; each begins to count at 1.
        ///
        /// Where several rules meet one request, all that slow it down or change its reply work, and of the others the first.
        public func add(_ faults: Fault...) { self.add(contentsOf: faults) }

        /// Adds rules behind the others; each begins to count at 1.
        public func add(contentsOf faults: [Fault]) {
            self.rules.withLock { $0 += faults.map { Rule(fault: $0) } }
        }

        /// Removes all rules.
        public func removeAll() { self.rules.withLock { $0.removeAll() } }

        /// How many requests of an operation have met a rule so far, those still being held among them.
        public func count(ofOperation operation: String) -> Int { self.counts.withLock { $0[operation] ?? 0 } }

        /// Counts a request and returns what is to happen to it.
        func match(operation: String, bucket: String?, key: String?, partNumber: Int?) -> [Fault.Action.Kind] {
            let actions = self.rules.withLock { rules in
                var actions: [Fault.Action.Kind] = []
                for index in rules.indices {
                    let fault = rules[index].fault
                    // By bytes: two keys that look alike are two keys.
                    guard fault.operation ?? operation == operation, fault.bucket ?? bucket == bucket,
                        fault.key.map({ key?.utf8.elementsEqual($0.utf8) ?? false }) ?? true,
                        fault.partNumber ?? partNumber == partNumber,
                        fault.keyPrefix.map({ key?.utf8.starts(with: $0.utf8) ?? false }) ?? true
                    else { continue }
                    rules[index].count += 1
                    if fault.occurrences.contains(rules[index].count) { actions.append(fault.action.kind) }
                }
                return actions
            }
            if !actions.isEmpty { self.counts.withLock { $0[operation, default: 0] += 1 } }
            return actions
        }
    }
}
