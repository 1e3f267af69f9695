// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import Testing

@testable import OSSMultipart

@Suite struct AdaptiveWindowTests {
    /// A network on which a part takes a second, or longer where more are on their way than it carries at full speed.
    private struct Network {
        /// Parts a second at most, however many are in flight.
        var capacity: Double
        var now = Duration.zero

        /// Sends a number of parts and returns the windows, one a part.
        mutating func send(_ parts: Int, _ window: inout AdaptiveWindow, overloadAbove limit: Int = .max) -> [Int] {
            var sizes: [Int] = []
            while sizes.count < parts {
                // All that are in flight begin and end together.
                let together = window.size
                self.now += .seconds(max(1, Double(together) / self.capacity))
                for index in 0..<together {
                    window.stored(bytes: 100, at: self.now, isOverloaded: index == 0 && together > limit)
                    sizes.append(window.size)
                }
            }
            return sizes
        }
    }

    private func window(_ maximum: Int) -> AdaptiveWindow { AdaptiveWindow(maximum: maximum, at: .zero) }

    @Test(arguments: [1, 2, 3, 4]) func `A small maximum is where it begins and stays`(maximum: Int) {
        var window = self.window(maximum)
        var network = Network(capacity: 1000)
        #expect(window.size == maximum)
        #expect(network.send(100, &window).allSatisfy { $0 == maximum })
    }

    @Test func `Where each further connection carries as much again it doubles up to the maximum`() {
        var window = self.window(50)
        var network = Network(capacity: 1000)
        let sizes = network.send(200, &window)
        #expect(sizes[3] == 8)
        #expect(sizes[3 + 8] == 16)
        #expect(sizes[3 + 8 + 16] == 32)
        #expect(sizes[3 + 8 + 16 + 32] == 50)
        #expect(sizes.max() == 50)
        #expect(sizes.last == 50)
    }

    @Test func `Where more connections carry no more it goes back`() {
        var window = self.window(64)
        var network = Network(capacity: 4)
        let sizes = network.send(12, &window)
        #expect(sizes[3] == 8)
        #expect(sizes[3 + 8] == 4)
    }

    @Test func `Growth is tried again after some rounds, by one, and kept where it gains`() {
        var window = self.window(64)
        var network = Network(capacity: 4)
        _ = network.send(12, &window)
        network.capacity = 1000
        let quiet = network.send(4 * (AdaptiveWindow.roundsBeforeProbe - 1), &window)
        #expect(quiet.allSatisfy { $0 == 4 })
        #expect(network.send(4, &window).last == 5)
        #expect(network.send(5, &window).last == 6)
    }

    @Test func `An overload halves it, once a round, and never below one`() {
        var window = self.window(16)
        for _ in 0..<4 { window.stored(bytes: 1, at: .seconds(1), isOverloaded: false) }
        #expect(window.size == 8)
        window.stored(bytes: 1, at: .seconds(1), isOverloaded: true)
        #expect(window.size == 4)
        window.stored(bytes: 1, at: .seconds(1), isOverloaded: true)
        #expect(window.size == 4)
        for _ in 0..<3 { window.stored(bytes: 1, at: .seconds(2), isOverloaded: false) }
        #expect(window.size == 4)
        for size in [2, 1, 1, 1] {
            window.stored(bytes: 1, at: .seconds(3), isOverloaded: true)
            #expect(window.size == size)
            for _ in 0..<size { window.stored(bytes: 1, at: .seconds(3), isOverloaded: false) }
        }
    }

    @Test func `A service that refuses above a limit is met at it or below`() {
        var window = self.window(32)
        var network = Network(capacity: 1000)
        let sizes = network.send(400, &window, overloadAbove: 10)
        #expect(sizes.suffix(100).allSatisfy { (5...11).contains($0) })
    }
}
