import Testing

@testable import Limits

/// The table of windows beside a plain one that keeps everything in order of its last attempt.
@Suite(.timeLimit(.minutes(1)))
struct WindowTableTests {
    /// So many numbers in a row that look like chance and are the same each time.
    private struct Dice {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15

        mutating func roll(_ sides: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % sides
        }
    }

    @Test func `it forgets whoever was quiet for longest, whatever came before, and uses its places again`() {
        let second: Int64 = 1_000_000_000
        let scale = WindowScale(window: 60_000_000_000)
        var table = WindowTable<Int>(scale)
        // Keys with the instant of their last attempt, the quietest first.
        var model: [(key: Int, last: Int64)] = []
        var dice = Dice()
        var now: Int64 = 0
        for _ in 0..<20_000 {
            now += Int64(dice.roll(3)) * second
            table.advance(to: now)
            let key = dice.roll(60)
            // Every hash is shared by several keys.
            let index = table.find(key, hash: UInt32(key % 7))
            #expect((index >= 0) == model.contains { $0.key == key })
            if index >= 0 {
                #expect(table.admit(index, limit: 1_000_000) == nil)
                model.removeAll { $0.key == key }
            } else {
                table.insert(key, hash: UInt32(key % 7))
            }
            model.append((key, now))
            let most = dice.roll(3)
            var expected = 0
            while expected < most, let first = model.first, now - first.last >= 60 * second {
                model.removeFirst()
                expected += 1
            }
            #expect(table.reclaim(atMost: most) == expected)
            #expect(table.count == model.count)
            #expect(table.entries.count <= 60)
        }
        // From end to end, in both directions.
        var forwards: [Int] = []
        var index = table.oldest
        while index >= 0 {
            forwards.append(table.entries[Int(index)].key)
            index = table.entries[Int(index)].newer
        }
        #expect(forwards == model.map(\.key))
        var backwards: [Int] = []
        index = table.newest
        while index >= 0 {
            backwards.append(table.entries[Int(index)].key)
            index = table.entries[Int(index)].older
        }
        #expect(backwards == forwards.reversed())
    }

    @Test func `an instant that comes late does not turn the clock back`() {
        let scale = WindowScale(window: 60_000_000_000)
        var table = WindowTable<Int>(scale)
        table.advance(to: 5_000_000_000)
        table.advance(to: 3_000_000_000)
        #expect(table.clock.nanoseconds == 5_000_000_000)
    }
}
