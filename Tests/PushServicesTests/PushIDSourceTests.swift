import PushModel
import PushServices
import Synchronization
import Testing

struct PushIDSourceTests {
    @Test func `an id is sixteen random bytes, and none of them is used twice`() {
        let drawn = Mutex<[UInt8]>([])
        let source = PushIDSource { count in
            drawn.withLock { drawn in
                let fresh = (drawn.count..<drawn.count + count).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ $0 >> 8) }
                drawn += fresh
                return fresh
            }
        }
        let ids = (0..<1000).map { _ in source.next() }
        let bytes = drawn.withLock { $0 }
        for (index, id) in ids.enumerated() {
            let words = stride(from: index * 16, to: index * 16 + 16, by: 8).map { place in
                bytes[place..<place + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            }
            #expect([id.high, id.low] == words)
        }
    }

    @Test func `ids of any two sources differ and keep their form`() {
        let sources = [PushIDSource(), PushIDSource()]
        let ids = (0..<1000).map { sources[$0 % 2].next().description }
        #expect(Set(ids).count == 1000)
        for id in ids {
            let places = Array(id.utf8)
            #expect(places.count == 36 && places[14] == UInt8(ascii: "4") && "89ab".utf8.contains(places[19]))
        }
    }
}
