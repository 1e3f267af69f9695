// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

/// The parts of an upload that are stored, by number and in its order.
///
/// There may be ten thousand, and an array of places takes half of what a dictionary does.
struct PartReceipts: Sendable {
    /// The place of a part is its number less one.
    private var places: [PartReceipt?] = []
    /// How many there are.
    private(set) var count = 0

    /// Begins with none, and room for so many that none of them moves the others.
    init(capacity: Int = 0) { self.places.reserveCapacity(capacity) }

    /// Takes in those of a sequence; of two with one number the later counts.
    init(_ receipts: some Sequence<PartReceipt>) { for receipt in receipts { self.insert(receipt) } }

    /// The receipt of a part; nil where it is not stored.
    subscript(number: Int) -> PartReceipt? {
        self.places.indices.contains(number - 1) ? self.places[number - 1] : nil
    }

    /// Takes in a receipt, in place of an earlier one of that part.
    mutating func insert(_ receipt: PartReceipt) {
        while self.places.count < receipt.number { self.places.append(nil) }
        if self.places[receipt.number - 1] == nil { self.count += 1 }
        self.places[receipt.number - 1] = receipt
    }

    /// Takes a part's receipt away; false where there was none.
    @discardableResult mutating func remove(_ number: Int) -> Bool {
        guard self[number] != nil else { return false }
        self.places[number - 1] = nil
        self.count -= 1
        return true
    }

    /// The numbers of the parts that are stored.
    var numbers: some Sequence<Int> { self.lazy.map(\.number) }
}

extension PartReceipts: Sequence {
    /// One after the other, in the order of their numbers.
    func makeIterator() -> some IteratorProtocol<PartReceipt> { self.places.lazy.compactMap { $0 }.makeIterator() }
}

extension PartReceipts: Equatable {
    /// Whether the same parts are stored, however much room was made.
    static func == (left: Self, right: Self) -> Bool { left.count == right.count && left.elementsEqual(right) }
}
