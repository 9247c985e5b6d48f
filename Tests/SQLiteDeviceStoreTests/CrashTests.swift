import DeviceStore
import Glibc
import PushModel
import Testing

@testable import SQLiteDeviceStore

/// What is left on the disk when the process or the machine stops at any point of a whole script.
@Suite(.timeLimit(.minutes(4)))
struct CrashTests {
    /// How it stops, after the n-th thing that was done to a file.
    enum Stop: CaseIterable {
        /// The process is killed: the system writes what it was given.
        case killed
        /// The same, in the middle of the last write.
        case killedInTheMiddle
        /// The power goes: only what was synced is there.
        case powerCut
        /// The power goes, and the disk has written the last thing before the others.
        case powerCutOutOfOrder

        /// Whether the last thing was done whole, and in its turn.
        var isAfterTheEvent: Bool { self == .killed || self == .powerCut }
    }

    @Test(arguments: Stop.allCases)
    func `wherever it stops, every acknowledged change is there and no other is there in half`(
        stop: Stop
    ) async throws {
        let script = Script()
        let scratch = Scratch()
        let disk = FaultyDisk(under: scratch.path)
        // What the relay itself makes, beside SQLite, before anything is registered.
        try await scratch.withStore { _, _ in }
        shell("rm '\(scratch.database)' && : > '\(scratch.database)'")
        disk.record()
        let run = ScriptRun(script, in: scratch)
        var acknowledged = [0]
        var snapshots = [Script.Contents()]
        for step in Script.steps {
            try await run.run(step)
            acknowledged.append(disk.eventCount)
            snapshots.append(try await run.contents())
        }
        await run.close()
        let events = disk.events
        #expect(events.count > 150)

        let secret = scratch.bytes("secret.key")
        var image = DiskImage(files: ["push.db": []])
        for (number, event) in events.enumerated() {
            let before = image
            image.apply(event)
            let left = Scratch()
            let leftDisk = FaultyDisk(under: left.path)
            left.put(files(stop, before: before, event, after: image).merging(["secret.key": secret]) { $1 })
            let after = ScriptRun(script, in: left)
            let found = try await after.contents()
            await after.close()
            // The last step that had been acknowledged by then, or the one that was under way.
            let done = stop.isAfterTheEvent ? number + 1 : number
            let last = try #require(acknowledged.lastIndex { $0 <= done })
            let allowed = snapshots[last...min(last + 1, snapshots.count - 1)]
            #expect(allowed.contains(found), "stopped at \(number) of \(events.count), after step \(last)")
            // What can be seen without reading every index, each start has looked at.
            if number.isMultiple(of: 8) { #expect(try integrity(of: left.database) == "ok", "stopped at \(number)") }
            withExtendedLifetime(leftDisk) {}
        }
    }

    private func files(
        _ stop: Stop, before: DiskImage, _ event: FaultyDisk.Event, after: DiskImage
    ) -> [String: [UInt8]] {
        switch stop {
        case .killed: after.live
        case .killedInTheMiddle: before.applying(event.half).live
        case .powerCut: after.durable
        case .powerCutOutOfOrder: before.appliedToDurable(event)
        }
    }

    @Test func `a log that ends anywhere brings back all whole transactions before its end, and nothing of the next`()
        async throws
    {
        let scratch = Scratch()
        let disk = FaultyDisk(under: scratch.path)
        let script = Script()
        // A database as it stands after a restart, with all of what follows in the log.
        var before: [String: [UInt8]] = [:]
        var snapshots: [Script.Contents] = []
        let run = ScriptRun(script, in: scratch)
        for step in Script.steps.prefix(10) { try await run.run(step) }
        snapshots.append(try await run.contents())
        for step in Script.steps[10..<18] {
            try await run.run(step)
            snapshots.append(try await run.contents())
        }
        before = ["push.db": scratch.copy().bytes("push.db")]
        let log = scratch.copy().bytes("push.db-wal")
        await run.close()
        _ = disk
        let frame = 24 + 4096
        #expect((log.count - 32).isMultiple(of: frame) && log.count > 32 + 8 * frame)
        var reached = 0
        var cuts: [Int] = [0, 1, 31, 32]
        for start in stride(from: 32, to: log.count, by: frame) {
            cuts += [start + 1, start + 24, start + 25, start + frame / 2, start + frame - 1, start + frame]
        }
        for cut in cuts {
            let left = Scratch()
            scratch.copySecret(to: left)
            before["push.db-wal"] = Array(log.prefix(cut))
            left.put(before)
            let after = ScriptRun(script, in: left)
            let found = try await after.contents()
            await after.close()
            // Whatever the log holds more, nothing that was there is lost again.
            let index = try #require(snapshots.firstIndex(of: found), "cut at \(cut): there is something in half")
            #expect(index >= reached, "cut at \(cut)")
            reached = index
            #expect(try integrity(of: left.database) == "ok")
        }
        #expect(reached == snapshots.count - 1)
    }
}

/// The files of a directory while a script runs: as the system has them, and as the disk does.
private struct DiskImage {
    var live: [String: [UInt8]]
    var durable: [String: [UInt8]]

    init(files: [String: [UInt8]]) {
        live = files
        durable = files
    }

    mutating func apply(_ event: FaultyDisk.Event) {
        Self.apply(event, to: &live)
        switch event {
        case .sync(let name):
            // With a new log or journal SQLite syncs the directory too, and with it what was deleted before.
            if durable[name] == nil { durable = durable.filter { live[$0.key] != nil } }
            durable[name] = live[name]
        case .delete(let name, isSynced: true): durable[name] = nil
        case .create, .write, .truncate, .delete: break
        }
    }

    func applying(_ event: FaultyDisk.Event) -> DiskImage {
        var image = self
        image.apply(event)
        return image
    }

    /// The disk's files when of all that was not synced only this has reached it.
    func appliedToDurable(_ event: FaultyDisk.Event) -> [String: [UInt8]] {
        var files = durable
        Self.apply(event, to: &files)
        if case .sync = event { files = applying(event).durable }
        return files
    }

    private static func apply(_ event: FaultyDisk.Event, to files: inout [String: [UInt8]]) {
        switch event {
        case .create(let name): files[name] = files[name] ?? []
        case .write(let name, let offset, let bytes):
            var file = files[name] ?? []
            let end = offset + bytes.count
            if file.count < end { file += [UInt8](repeating: 0, count: end - file.count) }
            file.replaceSubrange(offset..<end, with: bytes)
            files[name] = file
        case .truncate(let name, let size):
            let file = files[name] ?? []
            files[name] = Array(file.prefix(size)) + [UInt8](repeating: 0, count: max(0, size - file.count))
        case .sync: break
        case .delete(let name, _): files[name] = nil
        }
    }
}

extension FaultyDisk.Event {
    /// What of it is done when it is cut short.
    fileprivate var half: FaultyDisk.Event {
        guard case .write(let name, let offset, let bytes) = self else { return self }
        return .write(name, offset: offset, Array(bytes.prefix(bytes.count / 2)))
    }
}

extension Scratch {
    /// Writes these files.
    func put(_ files: [String: [UInt8]]) {
        for (name, bytes) in files {
            let file = unsafe Glibc.open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            precondition(file >= 0, "\(name) cannot be made")
            defer { close(file) }
            let count = unsafe Glibc.write(file, bytes, bytes.count)
            precondition(count == bytes.count, "\(name) cannot be written")
        }
    }
}
