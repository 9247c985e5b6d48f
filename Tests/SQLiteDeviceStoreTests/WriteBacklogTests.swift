import Cryptography
import DeviceStore
import PushModel
import Testing

@testable import SQLiteDeviceStore

/// Holds the value, so that an expectation may change it.
private final class Subject {
    private var backlog = WriteBacklog<Int>(waitingLimit: 1500, gatherFor: 100, gatheredLimit: 10)

    var waitingCount: Int { backlog.waitingCount }
    var gatheredDue: Int64? { backlog.gatheredDue }
    func offer(_ operation: WriteOperation, _ ticket: Int) -> WriteBacklog<Int>.Admission {
        backlog.offer(operation, ticket)
    }
    func mark(_ hash: CapabilityHash, on day: UTCDay, now: Int64) -> Bool { backlog.mark(hash, on: day, now: now) }
    func reseal(_ hash: CapabilityHash, _ sealed: [UInt8], now: Int64) -> Bool {
        backlog.reseal(hash, sealed, now: now)
    }
    func take(now: Int64) -> WriteBacklog<Int>.Batch { backlog.take(now: now) }
    func putBack(_ lost: WriteBacklog<Int>.Gathered, now: Int64) { backlog.putBack(lost, now: now) }
    func close() { backlog.close() }
}

@Suite(.timeLimit(.minutes(1)))
struct WriteBacklogTests {
    private let backlog = Subject()
    private let hash = CapabilityHash(of: newCapability())

    @Test func `only the first write of an empty backlog rings`() {
        #expect(backlog.offer(.remove(hash), 1) == .taken(mustRing: true))
        #expect(backlog.offer(.remove(hash), 2) == .taken(mustRing: false))
        #expect(backlog.take(now: 0).waiting.map(\.ticket) == [1, 2])
        #expect(backlog.offer(.remove(hash), 3) == .taken(mustRing: true))
        #expect(backlog.take(now: 0).waiting.map(\.ticket) == [3])
        #expect(backlog.take(now: 0).isEmpty)
    }

    @Test func `a crowd is taken in batches, in order, and no larger crowd is let in`() {
        for ticket in 0..<1500 { #expect(backlog.offer(.remove(hash), ticket) != .full) }
        #expect(backlog.offer(.remove(hash), 1500) == .full)
        #expect(backlog.take(now: 0).waiting.map(\.ticket) == Array(0..<1024))
        #expect(backlog.waitingCount == 476)
        #expect(backlog.take(now: 0).waiting.map(\.ticket) == Array(1024..<1500))
    }

    @Test func `what is gathered waits for its time, and the first of it rings`() {
        #expect(backlog.gatheredDue == nil)
        #expect(backlog.mark(hash, on: today, now: 1000))
        #expect(!backlog.mark(hash, on: today, now: 1050))
        #expect(!backlog.reseal(hash, [1], now: 1050))
        #expect(backlog.gatheredDue == 1100)
        #expect(backlog.take(now: 1099).isEmpty)
        let batch = backlog.take(now: 1100)
        #expect(batch.gathered.marks == [hash: today])
        #expect(batch.gathered.seals == [hash: [1]])
        #expect(backlog.gatheredDue == nil)
        #expect(backlog.mark(hash, on: today, now: 1200))
    }

    @Test func `the latest day and the first seal count`() {
        _ = backlog.mark(hash, on: today, now: 0)
        _ = backlog.mark(hash, on: UTCDay(number: 20_002), now: 0)
        _ = backlog.mark(hash, on: UTCDay(number: 20_001), now: 0)
        _ = backlog.reseal(hash, [1], now: 0)
        _ = backlog.reseal(hash, [2], now: 0)
        let gathered = backlog.take(now: 100).gathered
        #expect(gathered.marks[hash] == UTCDay(number: 20_002))
        #expect(gathered.seals[hash] == [1])
    }

    @Test func `a flush takes the gathered along before its time`() {
        _ = backlog.mark(hash, on: today, now: 0)
        _ = backlog.offer(.remove(hash), 1)
        #expect(backlog.take(now: 1).gathered.isEmpty)
        _ = backlog.offer(.flush, 2)
        #expect(!backlog.take(now: 1).gathered.isEmpty)
    }

    @Test func `what could not be written comes again, and yields to what is newer`() {
        _ = backlog.mark(hash, on: UTCDay(number: 20_002), now: 0)
        _ = backlog.reseal(hash, [1], now: 0)
        let lost = backlog.take(now: 100).gathered
        _ = backlog.mark(hash, on: today, now: 100)
        _ = backlog.reseal(hash, [2], now: 100)
        backlog.putBack(lost, now: 150)
        #expect(backlog.gatheredDue == 250)
        let again = backlog.take(now: 250).gathered
        #expect(again.marks[hash] == UTCDay(number: 20_002))
        #expect(again.seals[hash] == [2])
    }

    @Test(arguments: [(8, 1), (1, 8), (8, 8), (10, 10)])
    func `what comes again and what is newer are no more together than may be`(older: Int, newer: Int) {
        func gather(_ number: Int, _ seal: UInt8) {
            _ = backlog.mark(hash, on: UTCDay(number: 20_000 + Int32(seal)), now: 0)
            _ = backlog.reseal(hash, [seal], now: 0)
            for _ in 1..<max(number, 1) {
                _ = backlog.mark(CapabilityHash(of: newCapability()), on: today, now: 0)
                _ = backlog.reseal(CapabilityHash(of: newCapability()), [seal], now: 0)
            }
        }
        gather(older, 1)
        let lost = backlog.take(now: 100).gathered
        gather(newer, 2)
        backlog.putBack(lost, now: 150)
        let again = backlog.take(now: 250).gathered
        // One of them is the same.
        #expect(again.marks.count == min(older + newer - 1, 10))
        #expect(again.seals.count == min(older + newer - 1, 10))
        #expect(again.marks[hash] == UTCDay(number: 20_002))
        #expect(again.seals[hash] == [2])
    }

    @Test func `a closed backlog takes nothing, and gives the gathered with the last of the rest`() {
        for ticket in 0..<1025 { _ = backlog.offer(.remove(hash), ticket) }
        _ = backlog.mark(hash, on: today, now: 0)
        backlog.close()
        #expect(backlog.offer(.remove(hash), 1) == .closed)
        #expect(!backlog.mark(CapabilityHash(of: newCapability()), on: today, now: 0))
        #expect(backlog.take(now: 1).gathered.isEmpty)
        let last = backlog.take(now: 1)
        #expect(last.waiting.count == 1 && last.gathered.marks.count == 1)
        backlog.putBack(last.gathered, now: 1)
        #expect(backlog.take(now: 1).isEmpty)
    }

    @Test func `no more is gathered than may be`() {
        for number in 0..<12 {
            _ = backlog.mark(CapabilityHash(of: newCapability()), on: today, now: 0)
            _ = backlog.reseal(CapabilityHash(of: newCapability()), [UInt8(number)], now: 0)
        }
        let gathered = backlog.take(now: 100).gathered
        #expect(gathered.marks.count == 10 && gathered.seals.count == 10)
    }
}
