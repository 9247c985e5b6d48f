// swift-tools-version: 6.2
import PackageDescription

// One target a room. What a room may import stands here and in scripts/check-arrows, which also reads the import
// lines themselves: SwiftPM alone lets a target import a module that it never declared.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

func room(_ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = []) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func system(_ name: String, _ pkgConfig: String, _ debian: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([debian])])
}

// scripts/sanitize says so: the sanitizers bring a malloc of their own, and C++'s `new` would still be jemalloc's.
let isSanitized = Context.environment["GRYT_SANITIZED"] != nil

let package = Package(
    name: "gryt-push",
    // For GrytPushPreview, which apps use. Everything else runs on Linux.
    platforms: [.iOS(.v13), .macOS(.v10_15)],
    products: [
        .library(name: "GrytPushPreview", targets: ["GrytPushPreview"]),
        .executable(name: "gryt-push", targets: ["gryt-push"]),
        .executable(name: "push-simulator", targets: ["push-simulator"]),
    ],
    targets: [
        system("CLibevent", "libevent_core", "libevent-dev"),
        system("CNghttp2", "libnghttp2", "libnghttp2-dev"),
        system("COpenSSL", "openssl", "libssl-dev"),
        system("CSQLite", "sqlite3", "libsqlite3-dev"),
        system("CJemalloc", "jemalloc", "libjemalloc-dev"),
        .systemLibrary(name: "CSystem"),
        .target(name: "CWipedMemory", dependencies: isSanitized ? [] : ["CJemalloc"]),

        room("PushModel"),
        room("Telemetry"),
        room("Cryptography", ["COpenSSL"]),
        // On Apple's systems CryptoKit takes the place of OpenSSL, which is then not looked for.
        room("GrytPushPreview", [.target(name: "Cryptography", condition: .when(platforms: [.linux]))]),
        room("EventLoops", ["CLibevent", "CSystem"]),
        room("HTTPServer", ["CSystem", "EventLoops"]),
        room("HTTP2Client", ["CNghttp2", "COpenSSL", "EventLoops"]),
        room("Limits", ["PushModel"]),
        room("DeviceStore", ["PushModel", "Cryptography"]),
        room("SQLiteDeviceStore", ["CSQLite", "DeviceStore", "PushModel", "Cryptography"]),
        room("PushServices", ["PushModel", "HTTP2Client", "Cryptography", "Telemetry"]),
        room("Relay", ["PushModel", "Limits", "DeviceStore", "PushServices"]),
        room(
            "RelayAPI", ["Relay", "PushModel", "Limits", "DeviceStore", "HTTPServer", "Telemetry"],
            resources: [.embedInCode("openapi.json")]),
        room("PushSimulator", ["GrytPushPreview", "Cryptography", "EventLoops", "CNghttp2", "COpenSSL", "CLibevent"]),

        program(
            "gryt-push",
            [
                "CSystem", "CWipedMemory", "PushModel", "Telemetry", "Cryptography", "EventLoops", "HTTPServer",
                "HTTP2Client",
                "Limits", "DeviceStore", "SQLiteDeviceStore", "PushServices", "Relay", "RelayAPI",
            ]),
        program("push-simulator", ["PushSimulator"]),
        // For bench/scale, and in no product.
        program("store-bench", ["PushModel", "Cryptography", "EventLoops", "DeviceStore", "SQLiteDeviceStore"]),
        // What two test targets share, each of them.
        .target(name: "LoopbackProxy", path: "Tests/LoopbackProxy", swiftSettings: strict),
        .target(
            name: "OpenAPIDocument", dependencies: ["PushSimulator"], path: "Tests/OpenAPIDocument",
            swiftSettings: strict),

        tests("PushModelTests", ["PushModel"]),
        tests("TelemetryTests", ["Telemetry"]),
        tests("CryptographyTests", ["Cryptography"]),
        tests("GrytPushPreviewTests", ["GrytPushPreview", "PushModel", "PushSimulator", "Cryptography"]),
        tests("EventLoopsTests", ["EventLoops"]),
        tests("HTTPServerTests", ["HTTPServer", "EventLoops"]),
        tests(
            "HTTP2ClientTests",
            ["HTTP2Client", "EventLoops", "CNghttp2", "COpenSSL", "PushSimulator", "LoopbackProxy"]),
        tests("LimitsTests", ["Limits", "PushModel"]),
        tests("DeviceStoreTests", ["DeviceStore", "PushModel", "Cryptography"]),
        tests("SQLiteDeviceStoreTests", ["SQLiteDeviceStore", "DeviceStore", "PushModel", "Cryptography", "CSQLite"]),
        tests(
            "PushServicesTests",
            ["PushServices", "PushModel", "HTTP2Client", "Cryptography", "EventLoops", "Telemetry", "PushSimulator"]),
        tests("RelayTests", ["Relay", "PushModel", "Limits", "DeviceStore", "PushServices", "Telemetry"]),
        tests(
            "RelayAPITests",
            [
                "RelayAPI", "Relay", "HTTPServer", "HTTP2Client", "PushServices", "PushModel", "Limits", "DeviceStore",
                "Telemetry", "EventLoops", "OpenAPIDocument",
            ]),
        tests(
            "PushSimulatorTests",
            ["PushSimulator", "GrytPushPreview", "Cryptography", "EventLoops", "CNghttp2", "COpenSSL"]),
        tests("SettingsTests", ["gryt-push", "Limits", "Telemetry", "Cryptography"]),
        tests(
            "CheckTests",
            [
                "gryt-push", "HTTP2Client", "HTTPServer", "PushServices", "SQLiteDeviceStore", "DeviceStore",
                "PushModel",
                "Cryptography",
            ]),
        tests(
            "OperatorTests",
            [
                "gryt-push", "RelayAPI", "Relay", "PushServices", "HTTP2Client", "SQLiteDeviceStore", "DeviceStore",
                "PushModel", "Telemetry", "EventLoops",
            ]),
        tests(
            "ProgramTests",
            [
                "gryt-push", "Telemetry", "PushModel", "PushSimulator", "GrytPushPreview", "Cryptography", "EventLoops",
                "LoopbackProxy", "OpenAPIDocument",
            ]),
    ]
)

// The fuzzer's program (scripts/fuzz), and nothing else that is not in it: no tests, and the relay's own program as a
// library. Not there unless asked for, since only the toolchain's clang has libFuzzer, and a build for everyday use
// should not need it.
if Context.environment["GRYT_FUZZING"] == "1" {
    // The sanitizer that goes with the fuzzers has a `free` of its own.
    package.targets.removeAll { $0.name == "CWipedMemory" }
    let rooms = package.targets.filter { $0.type == .regular }.map(\.name)
    package.products = [.executable(name: "gryt-fuzz", targets: ["gryt-fuzz"])]
    package.targets.removeAll { $0.type == .test || $0.type == .executable }
    package.targets += [
        .target(
            name: "gryt-push", dependencies: rooms.filter { $0 != "PushSimulator" }.map { .init(stringLiteral: $0) },
            exclude: ["Program.swift"], swiftSettings: strict),
        .target(name: "CFuzzing", path: "Fuzzing/CFuzzing"),
        .executableTarget(
            name: "gryt-fuzz", dependencies: (rooms + ["gryt-push", "CFuzzing"]).map { .init(stringLiteral: $0) },
            path: "Fuzzing/Targets", swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
}

// Only what is tested under a sanitizer before each change (scripts/sanitize --ci): building the other tests takes longer
// than running these.
if Context.environment["GRYT_SANITIZED"] == "ci" {
    let tested = [
        "EventLoopsTests", "HTTPServerTests", "HTTP2ClientTests", "SQLiteDeviceStoreTests", "LimitsTests", "RelayTests",
        "PushServicesTests", "CryptographyTests", "TelemetryTests", "ProgramTests",
    ]
    package.targets.removeAll { $0.type == .test && !tested.contains($0.name) }
    package.targets.first { $0.name == "ProgramTests" }?.sources = [
        "Harness", "OperatorHarness.swift", "EndToEndTests.swift", "DrainTests.swift",
    ]
}
