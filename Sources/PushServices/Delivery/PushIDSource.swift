import Cryptography
package import PushModel
import Synchronization

/// Makes the ids of pushes: each of it sixteen random bytes, as a UUID of version 4 is (RFC 9562 section 5.4).
///
/// An id goes out in clear: the app is told it, and Apple and Google. From a counter, however well it were mixed, whoever
/// rings a phone of his own twice could tell how many pushes the relay has sent in between; from these he learns nothing.
/// They are drawn many at a time, for a call of the generator costs as much as some hundred of them.
package final class PushIDSource: Sendable {
    /// How many ids are drawn at a time.
    static let drawn = 256
    /// The bytes of an id.
    static let length = 16

    private struct Block {
        var bytes: [UInt8] = []
        var used = 0
    }

    private let random: @Sendable (Int) -> [UInt8]
    private let block = Mutex(Block())

    /// - Parameter random: that many bytes that nobody can foretell.
    package init(random: @escaping @Sendable (Int) -> [UInt8] = SecureRandom.bytes) { self.random = random }

    /// The next id. Meant for one loop, which then waits for nobody; any thread may call.
    package func next() -> PushID {
        block.withLock { block in
            if block.used == block.bytes.count { block = Block(bytes: random(Self.drawn * Self.length)) }
            defer { block.used += Self.length }
            return PushID(high: Self.word(block.bytes, block.used), low: Self.word(block.bytes, block.used + 8))
        }
    }

    private static func word(_ bytes: [UInt8], _ place: Int) -> UInt64 {
        bytes[place..<place + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
