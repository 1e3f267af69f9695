// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

import PackageDescription

// Every target is checked the same way; each feature's proposal says what it asks for.
let settings: [SwiftSetting] = [
    // SE-0335: `any` is written out.
    .enableUpcomingFeature("ExistentialAny"),
    // SE-0409: an import is internal unless it is said to be public.
    .enableUpcomingFeature("InternalImportsByDefault"),
    // SE-0444: a member is seen only where its module is imported.
    .enableUpcomingFeature("MemberImportVisibility"),
    // SE-0461: an async function runs where its caller runs unless it is `@concurrent`.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // SE-0458: unsafe code is marked.
    .strictMemorySafety(),
    // SE-0443: a warning is an error.
    .treatAllWarnings(as: .error),
]

/// An example: it sees what users see, and is no product.
func example(_ name: String, folder: String) -> Target {
    .executableTarget(
        name: name,
        dependencies: ["ExampleSupport", "OSSLocalServer", "OSSMultipart"],
        path: "Examples/\(folder)",
        packageAccess: false,
        swiftSettings: settings
    )
}

let package = Package(
    name: "swift-oss-multipart",
    platforms: [.macOS(.v26)],
    products: [
        .library(name: "OSSMultipart", targets: ["OSSMultipart"]),
        .library(name: "OSSMultipartFoundation", targets: ["OSSMultipartFoundation"]),
        .library(name: "OSSLocalServer", targets: ["OSSLocalServer"]),
        .executable(name: "ossmp", targets: ["ossmp"]),
        .executable(name: "oss-local-server", targets: ["oss-local-server"]),
    ],
    targets: [
        // C libraries of the system.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CISAL", pkgConfig: "libisal", providers: [.apt(["libisal-dev"])]),
        .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CGetopt"),
        .systemLibrary(name: "CLinux"),

        // What bytes mean.
        .target(name: "OSSWire", dependencies: ["COpenSSL", "CISAL", "CExpat"], swiftSettings: settings),
        // What the operating system does with files and threads.
        .target(name: "SystemIO", dependencies: ["CLinux"], swiftSettings: settings),
        // How bytes travel.
        .target(name: "CurlTransport", dependencies: ["CCurl", "OSSWire", "SystemIO"], swiftSettings: settings),
        // The client and the uploader.
        .target(
            name: "OSSMultipart",
            dependencies: ["CurlTransport", "OSSWire", "SystemIO"],
            swiftSettings: settings
        ),
        // What needs Foundation as a whole, for programs that have it anyway.
        .target(
            name: "OSSMultipartFoundation", dependencies: ["OSSMultipart"], swiftSettings: settings
        ),
        // The server to develop and test against.
        .target(
            name: "OSSLocalServer",
            dependencies: ["CMicroHTTPD", "OSSWire", "SystemIO"],
            swiftSettings: settings
        ),

        // The tools see what users see: the public API and nothing else.
        .executableTarget(
            name: "ossmp",
            dependencies: ["CGetopt", "OSSMultipart"],
            packageAccess: false,
            swiftSettings: settings
        ),
        .executableTarget(
            name: "oss-local-server",
            dependencies: ["CGetopt", "OSSLocalServer"],
            packageAccess: false,
            swiftSettings: settings
        ),

        // The library without the tool, for `make bench`.
        .executableTarget(
            name: "bench-driver",
            dependencies: ["OSSMultipart"],
            path: "Benchmarks/driver",
            packageAccess: false,
            swiftSettings: settings
        ),

        // The client as a program that is told what to do, for `make interop` and for tests of a client without a secret.
        .executableTarget(
            name: "interop-driver",
            dependencies: ["OSSMultipart"],
            path: "Tests/Interop/driver",
            packageAccess: false,
            swiftSettings: settings
        ),

        // `make examples` runs them.
        .target(
            name: "ExampleSupport",
            dependencies: ["OSSLocalServer", "OSSMultipart"],
            path: "Examples/Support",
            packageAccess: false,
            swiftSettings: settings
        ),
        example("example-multipart-by-hand", folder: "MultipartByHand"),
        example("example-task-futures", folder: "TaskFutures"),
        example("example-pause-and-resume", folder: "PauseAndResume"),
        example("example-crash-and-resume", folder: "CrashAndResume"),
        example("example-random-access", folder: "RandomAccess"),
        example("example-stream", folder: "Stream"),
        example("example-folder", folder: "Folder"),
        example("example-credentials", folder: "Credentials"),
        example("example-remote-signing", folder: "RemoteSigning"),
        example("example-progress", folder: "Progress"),
        example("example-faults", folder: "Faults"),

        // Feeds the readers of foreign bytes; `make fuzz` builds it with libFuzzer.
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .executableTarget(
            name: "Fuzz",
            dependencies: ["CFuzzer", "OSSMultipart", "SystemIO"],
            path: "Tests/Fuzz/Readers",
            swiftSettings: settings
        ),

        .testTarget(
            name: "OSSWireTests",
            dependencies: ["OSSWire"],
            resources: [.embedInCode("vectors.json")],
            swiftSettings: settings
        ),
        // Sockets and threads of the tests' stand-ins.
        .target(
            name: "LoopbackSockets", dependencies: ["SystemIO"], path: "Tests/LoopbackSockets", swiftSettings: settings
        ),
        .testTarget(
            name: "OSSLocalServerTests",
            dependencies: ["LoopbackSockets", "OSSLocalServer", "OSSWire", "SystemIO"],
            swiftSettings: settings
        ),
        .testTarget(name: "SystemIOTests", dependencies: ["SystemIO"], swiftSettings: settings),
        .testTarget(
            name: "CurlTransportTests",
            dependencies: ["CurlTransport", "LoopbackSockets", "OSSWire", "SystemIO"],
            swiftSettings: settings
        ),
        // Breaks connections as networks do; two test targets use it.
        .target(
            name: "ByteProxy", dependencies: ["LoopbackSockets", "SystemIO"], path: "Tests/ByteProxy",
            swiftSettings: settings
        ),
        .testTarget(
            name: "OSSMultipartTests",
            dependencies: [
                "ByteProxy", "CurlTransport", "LoopbackSockets", "OSSLocalServer", "OSSMultipart",
                "OSSMultipartFoundation", "OSSWire", "SystemIO", "interop-driver",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OSSMPTests",
            dependencies: ["ByteProxy", "OSSLocalServer", "OSSWire", "SystemIO", "ossmp"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
