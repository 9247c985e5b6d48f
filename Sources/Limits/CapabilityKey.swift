/// What the limit of a capability counts by: the first sixteen bytes of the capability's SHA-256.
///
/// Half of the hash is enough here: only capabilities that the relay itself drew at random reach this limit, so nobody can
/// look for two that share it. It leads back to a row of the store, so it does not print.
package struct CapabilityKey: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    private let high: UInt64
    private let low: UInt64

    /// The key of a capability whose SHA-256 begins with these two numbers, each of eight bytes, the first of them in the
    /// most significant place.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package var description: String { "(capability)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
