import DeviceStore
import Foundation
import PushModel
import Testing

@testable import SQLiteDeviceStore

/// Writes, syncs, truncations, openings and deletions of a whole script fail once, in turn, and once for good.
@Suite(.timeLimit(.minutes(3)))
struct FailingDiskTests {
    private static let cases: [(fault: FaultyDisk.Fault, lasting: Bool)] = FaultyDisk.Fault.allCases.flatMap { fault in
        [false, true].map { (fault, $0) }
    }

    @Test(arguments: cases)
    func `whatever operation fails, what was acknowledged is kept, and a second try succeeds once the disk is back`(
        fault: FaultyDisk.Fault, lasting: Bool
    ) async throws {
        let script = Script()
        let healthy = try await snapshots(of: script)
        let final = try #require(healthy.last)
        // Every third operation, not the same ones for each kind of fault; with GRYT_EXHAUSTIVE each, which takes minutes.
        let stride = ProcessInfo.processInfo.environment["GRYT_EXHAUSTIVE"] == nil ? 3 : 1
        var number = stride == 1 ? 0 : (fault == .full ? 0 : -1) - (lasting ? 1 : 0)
        var failedSteps = 0
        while true {
            number += stride
            let scratch = Scratch()
            let disk = FaultyDisk(under: scratch.path)
            let run = ScriptRun(script, in: scratch)
            disk.fail(from: number, lasting: lasting, with: fault)
            for (index, step) in Script.steps.enumerated() {
                do {
                    try await run.run(step)
                } catch {
                    failedSteps += 1
                    #expect(disk.failures > 0, "\(step) failed by itself: \(error)")
                    disk.heal()
                    if step.isNoRestart {
                        let before = index == 0 ? Script.Contents() : healthy[index - 1]
                        let found = try await run.contents()
                        #expect(found == before, "operation \(number): \(step) failed, and yet changed something")
                    }
                    try await run.run(step)
                }
            }
            disk.heal()
            let failures = disk.failures
            #expect(try await run.contents() == final, "operation \(number)")
            await run.close()
            #expect(try await Self.reopened(script, in: scratch) == final, "operation \(number), reopened")
            if failures == 0 { break }
        }
        // The script is as long as it is meant to be, and failures did reach it.
        #expect(number > 100 && failedSteps > 50 / stride, "\(number) operations, \(failedSteps) failed steps")
    }

    /// What is there after each step where nothing fails.
    private func snapshots(of script: Script) async throws -> [Script.Contents] {
        let run = ScriptRun(script, in: Scratch())
        var snapshots: [Script.Contents] = []
        for step in Script.steps {
            try await run.run(step)
            snapshots.append(try await run.contents())
        }
        await run.close()
        return snapshots
    }

    private static func reopened(_ script: Script, in scratch: Scratch) async throws -> Script.Contents {
        let run = ScriptRun(script, in: scratch)
        let contents = try await run.contents()
        await run.close()
        #expect(try integrity(of: scratch.database) == "ok")
        return contents
    }

    // MARK: What the operator and the phones see

    @Test(arguments: FaultyDisk.Fault.allCases)
    func `a disk that takes nothing is told, and that it does again is found out without any request`(
        fault: FaultyDisk.Fault
    ) async throws {
        let scratch = Scratch()
        let disk = FaultyDisk(under: scratch.path)
        let one = registration()
        try await scratch.withStore { store, database in
            try await store.register(one)
            #expect(database.statistics.lastFailure == nil)
            disk.fail(from: 1, lasting: true, with: fault)
            await #expect(throws: StoreError.self) { try await store.register(registration()) }
            let failure = try #require(database.statistics.lastFailure)
            #expect(failure.needsOperator)
            #expect(fault != .full || failure == .full)
            // Pushes go on, and what they leave behind waits.
            store.markUsed(CapabilityHash(of: one.capability), on: UTCDay(number: 20_009))
            #expect(try await store.device(for: one.capability)?.lastUsed == today)
            disk.heal()
            // Counts go on, which prove nothing, and do not put the proof off.
            while database.statistics.lastFailure != nil {
                try await store.add([DailyCount(day: today, event: .sent, platform: .ios, kind: .dm): 1])
            }
            try await store.flush()
            #expect(try await store.device(for: one.capability)?.lastUsed == UTCDay(number: 20_009))
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 1, android: 0))
        }
    }

    @Test func `a disk that is full at the start is known before the first phone asks`() async throws {
        let scratch = Scratch()
        let disk = FaultyDisk(under: scratch.path)
        let one = registration()
        try await scratch.withStore { store, _ in try await store.register(one) }
        // Files can be opened, but take nothing.
        disk.fail(from: 1, lasting: true, with: .full, only: .write)
        let database = try scratch.open()
        let store = try database.makeStore(on: QueueExecutor())
        #expect(database.statistics.lastFailure == .full)
        #expect(try await store.device(for: one.capability) != nil)
        disk.heal()
        while database.statistics.lastFailure != nil { try await Task.sleep(for: .milliseconds(5)) }
        await store.close()
        await database.close()
    }

    @Test func `while a sync takes its time look-ups go on, and what waits has a bound`() async throws {
        let scratch = Scratch()
        let disk = FaultyDisk(under: scratch.path)
        var options = SQLiteOptions()
        options.waitingLimit = 10
        try await scratch.withStore(options: options) { store, database in
            let known = registration()
            try await store.register(known)
            disk.hold(.sync, of: "push.db-wal")
            let taken = database.statistics.taken
            let first = Task { try await store.register(registration()) }
            while database.statistics.taken == taken { await Task.yield() }
            disk.waitUntilHeld()
            let others = (0..<10).map { _ in Task { try await store.register(registration()) } }
            while database.statistics.waiting != 10 { await Task.yield() }
            // The first is on its way to the disk, and nobody has been told yet.
            for _ in 0..<100 { #expect(try await store.device(for: known.capability) != nil) }
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 1, android: 0))
            #expect(try await store.dailyCounts(from: today).isEmpty)
            await #expect(throws: StoreError.overloaded) { try await store.register(registration()) }
            disk.release()
            try await first.value
            for other in others { try await other.value }
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 12, android: 0))
        }
    }

    @Test(arguments: [(FaultyDisk.Operation.sync, "push.db"), (.truncate, "push.db-wal")])
    func `while the log is emptied onto a slow disk look-ups go on`(
        operation: FaultyDisk.Operation, name: String
    ) async throws {
        let scratch = Scratch()
        let disk = FaultyDisk(under: scratch.path)
        try await scratch.withStore { store, _ in
            let known = registration()
            let other = registration()
            try await store.register(known)
            try await store.register(other)
            // No commit does this; the emptying that follows a removal does.
            disk.hold(operation, of: name)
            let removal = Task { try await store.remove(CapabilityHash(of: other.capability)) }
            disk.waitUntilHeld()
            for _ in 0..<100 { #expect(try await store.device(for: known.capability) != nil) }
            _ = try await store.deviceCounts()
            disk.release()
            #expect(try await removal.value)
        }
    }

    @Test func `a look-up on a loop fails at once where it would wait for another process`() async throws {
        let scratch = Scratch()
        try await scratch.withStore { store, _ in try await store.register(registration()) }
        // A database in use has no such lock; this one has left the mode in which nobody waits for a writer.
        scratch.sqlite("PRAGMA journal_mode=DELETE")
        var options = SQLiteOptions()
        options.busyTimeout = .seconds(10)
        let store = try SQLiteDeviceStore(
            path: scratch.database, busyTimeout: options.busyTimeout, secret: .generate(),
            writer: SQLiteWriter(path: scratch.database, options: options), on: QueueExecutor())
        let blocker = try SQLiteConnection(path: scratch.database, for: .writing, busyTimeout: .zero)
        try blocker.execute("BEGIN EXCLUSIVE")
        let began = ContinuousClock.now
        await #expect(throws: StoreError.busy) { try await store.deviceCounts() }
        await #expect(throws: StoreError.busy) { try await store.device(for: newCapability()) }
        // One that waited would have done so for as long as a write may, twice.
        #expect(ContinuousClock.now - began < .seconds(10))
        try blocker.execute("COMMIT")
        #expect(try await store.deviceCounts() == DeviceCounts(ios: 1, android: 0))
        #expect(try await store.device(for: newCapability()) == nil)
        await store.close()
    }

    @Test func `a log that cannot be emptied is told, and stands in no registration's way`() async throws {
        let scratch = Scratch()
        let disk = FaultyDisk(under: scratch.path)
        try await scratch.withStore { store, database in
            let one = registration()
            try await store.register(one)
            // No commit cuts the log short; the emptying that follows a removal does.
            disk.fail(from: 1, lasting: true, with: .broken, only: .truncate)
            #expect(try await store.remove(CapabilityHash(of: one.capability)))
            while database.statistics.scrubFailure == nil { try await Task.sleep(for: .milliseconds(5)) }
            #expect(database.statistics.lastFailure == nil)
            try await store.register(registration())
            disk.heal()
            while database.statistics.scrubFailure != nil { try await Task.sleep(for: .milliseconds(5)) }
        }
    }
}

extension Script.Step {
    /// Whether the database stays open.
    fileprivate var isNoRestart: Bool { if case .restart = self { false } else { true } }
}

/// What SQLite finds wrong with a database, or `ok`.
func integrity(of path: String) throws -> String {
    let connection = try SQLiteConnection(path: path, for: .writing, busyTimeout: .zero)
    let check = try connection.prepare("PRAGMA integrity_check")
    defer { check.reset() }
    return try check.step() ? check.text(0) ?? "" : ""
}
