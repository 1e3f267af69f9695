// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

internal import OSSWire

/// The service's rules for parts, checked before anything is sent.
enum PartRules {
    static func validate(partNumber: Int, _ operation: OSSError.Operation) throws(OSSError) {
        guard (1...Limits.maximumPartNumber).contains(partNumber) else {
            throw OSSError(
                .invalidArgument,
                "the part number \(partNumber) is outside 1 to 10000; use larger parts if you need more",
                operation: operation, partNumber: partNumber
            )
        }
    }

    static func validate(
        size: Int64, partNumber: Int, isLastPart: Bool, _ operation: OSSError.Operation
    ) throws(OSSError) {
        if size > Limits.maximumPartSize {
            throw OSSError(
                .invalidArgument,
                "the part has \(size) bytes, more than 5 GiB (\(Limits.maximumPartSize)); use smaller parts",
                operation: operation, partNumber: partNumber
            )
        }
        if size < Limits.minimumPartSize, !isLastPart {
            throw OSSError(
                .invalidArgument,
                "the part has \(size) bytes; every part but the last has at least \(Limits.minimumPartSize): use larger "
                    + "parts, or say isLastPart if it is the last one",
                operation: operation, partNumber: partNumber
            )
        }
    }

    /// Checks the list of CompleteMultipartUpload.
    static func validate(parts: [OSSPartInfo]) throws(OSSError) {
        let operation = OSSError.Operation.completeMultipartUpload
        guard !parts.isEmpty else {
            throw OSSError(
                .invalidArgument,
                "the list of parts is empty; upload at least one part (PutObject stores an empty object)",
                operation: operation
            )
        }
        guard parts.count <= Limits.maximumPartNumber else {
            throw OSSError(
                .invalidArgument, "the list has \(parts.count) parts; the service takes 10000 at most",
                operation: operation
            )
        }
        var previous = 0
        for (index, part) in parts.enumerated() {
            try self.validate(partNumber: part.partNumber, operation)
            guard part.partNumber > previous else {
                throw OSSError(
                    .invalidArgument,
                    "part \(part.partNumber) comes after part \(previous); list the parts in ascending order, each once",
                    operation: operation, partNumber: part.partNumber
                )
            }
            previous = part.partNumber
            guard !part.eTag.isEmpty else {
                throw OSSError(
                    .invalidArgument, "part \(part.partNumber) has no ETag; take it from uploadPart or listParts",
                    operation: operation, partNumber: part.partNumber
                )
            }
            if let size = part.size {
                try self.validate(
                    size: size, partNumber: part.partNumber, isLastPart: index == parts.count - 1, operation
                )
            }
        }
    }
}
