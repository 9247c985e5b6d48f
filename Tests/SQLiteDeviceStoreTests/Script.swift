import DeviceStore
import PushModel
import SQLiteDeviceStore
import Testing

/// Everything that a relay asks of its store, one after the other, with a restart in between. The same registrations each
/// time, so that what two runs leave can be compared.
struct Script: Sendable {
    /// One call, which is acknowledged when it returns and has changed nothing when it throws.
    enum Step: Sendable {
        /// Ends the store and opens the database again.
        case restart
        case register(Int)
        case remove(Int)
        case forget(Int)
        case count(Int)
        case markUsed(Int, UTCDay)
        case dropIdle(UTCDay)
    }

    /// What is in a database, as far as anybody can learn it.
    struct Contents: Equatable {
        /// The days of last use, by registration.
        var found: [Int: UTCDay] = [:]
        var devices = DeviceCounts(ios: 0, android: 0)
        var counts: [DailyTotal] = []
    }

    static let steps: [Step] = [
        .register(0), .register(1), .count(1), .register(2), .register(3), .remove(0), .forget(2), .register(4),
        .markUsed(1, UTCDay(number: 20_003)), .restart, .count(5), .register(5), .dropIdle(UTCDay(number: 20_000)),
        .register(0), .register(6), .register(7), .register(8), .remove(6), .restart,
        .markUsed(7, UTCDay(number: 20_004)),
        .remove(1), .count(2), .forget(7),
    ]

    private let registrations: [Registration]

    init() {
        let shared = newToken(.android)
        let longAgo = WallInstant(milliseconds: noon.milliseconds - 100 * 86_400_000)
        registrations = (0..<9).map { index in
            switch index {
            // One phone, two servers.
            case 2, 3: registration(token: shared)
            // Nobody has pushed to it for a long time.
            case 4: registration(at: longAgo)
            default: registration(index.isMultiple(of: 2) ? .ios : .android)
            }
        }
    }

    /// Runs one step, which is none of the restarts.
    func run(_ step: Step, on store: SQLiteDeviceStore) async throws {
        switch step {
        case .restart: preconditionFailure("a restart is not the store's")
        case .register(let index): try await store.register(registrations[index])
        case .remove(let index): _ = try await store.remove(CapabilityHash(of: registrations[index].capability))
        case .forget(let index):
            _ = try await store.forget(registrations[index].token, in: .production, registeredBefore: noon)
        case .count(let n):
            try await store.add([
                DailyCount(day: today, event: .sent, platform: .ios, kind: .dm): n,
                DailyCount(day: today, event: .registered, platform: .android): n + 1,
            ])
        case .markUsed(let index, let day):
            store.markUsed(CapabilityHash(of: registrations[index].capability), on: day)
            try await store.flush()
        case .dropIdle(let day): _ = try await store.dropIdle(before: day, limit: 10)
        }
    }

    /// What is there now. Every token that is found is the one that was registered.
    func contents(of store: SQLiteDeviceStore) async throws -> Contents {
        var contents = Contents()
        for (index, registration) in registrations.enumerated() {
            guard let stored = try await store.device(for: registration.capability) else { continue }
            #expect(stored.device.token == registration.token)
            contents.found[index] = stored.lastUsed
        }
        contents.devices = try await store.deviceCounts()
        contents.counts = try await store.dailyCounts(from: UTCDay(number: 0))
        return contents
    }
}

/// A script under way in a directory: the database and a store of it, open or not.
final class ScriptRun {
    let script: Script
    let scratch: Scratch
    private var database: SQLiteDatabase?
    private var store: SQLiteDeviceStore?

    init(_ script: Script, in scratch: Scratch) {
        self.script = script
        self.scratch = scratch
    }

    /// Runs one step, or opens the database where it is not.
    func run(_ step: Script.Step) async throws {
        switch step {
        case .restart:
            await close()
            try open()
        default: try await script.run(step, on: try opened())
        }
    }

    func open() throws {
        let database = try scratch.open()
        self.database = database
        store = try database.makeStore(on: QueueExecutor())
    }

    func contents() async throws -> Script.Contents { try await script.contents(of: try opened()) }

    func close() async {
        await store?.close()
        await database?.close()
        store = nil
        database = nil
    }

    private func opened() throws -> SQLiteDeviceStore {
        if store == nil { try open() }
        return try #require(store)
    }
}
