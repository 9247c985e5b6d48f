import Synchronization

/// Makes the ids of pushes: no two alike, in this process or another, and without asking the system for each.
///
/// An id is a name, not a secret. Each is a step of one counter, spread over all bits; where the counter begins is drawn
/// at random.
package final class PushIDSource: Sendable {
    private let start: UInt64
    private let steps: Atomic<UInt64>

    /// Begins at a random place.
    package init() {
        var generator = SystemRandomNumberGenerator()
        start = generator.next()
        steps = Atomic(generator.next())
    }

    /// The next id. Called on any loop.
    package func next() -> PushID {
        let step = steps.wrappingAdd(1, ordering: .relaxed).oldValue
        return PushID(high: Self.spread(start ^ step), low: Self.spread(step))
    }

    /// A bijection of 64 bits in which every bit of the input moves about half of the output's: multiplications by odd
    /// numbers and shifted exclusive-ors, all of which can be undone.
    private static func spread(_ value: UInt64) -> UInt64 {
        var value = value
        value = (value ^ value >> 32) &* 0xD6E8_FEB8_6659_FD93
        value = (value ^ value >> 32) &* 0xD6E8_FEB8_6659_FD93
        return value ^ value >> 32
    }
}
