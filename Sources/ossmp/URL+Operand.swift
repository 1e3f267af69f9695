// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import FoundationEssentials

extension URL {
    /// The file that an operand names.
    ///
    /// A tilde at its beginning is part of the name: where the home folder was meant the shell has put it in.
    init(operand path: String) { self.init(filePath: path.utf8.first == UInt8(ascii: "~") ? "./" + path : path) }
}
