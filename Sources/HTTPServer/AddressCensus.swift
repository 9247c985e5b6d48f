import Synchronization

/// Counts the connections of each address, for all servers that are given the same census: several of them share a
/// port, and the bound is meant for the port.
///
/// An address is an IPv4 one, or the /64 of an IPv6 one. Guarded by a lock that is held for one look into a table.
package final class AddressCensus: Sendable {
    private let limit: Int
    private let counts = Mutex<[PeerAddress: Int]>([:])

    /// Makes a census that allows each address so many connections, which must be one at least.
    package init(limit: Int) {
        precondition(limit > 0, "an address without a connection cannot be served")
        self.limit = limit
    }

    /// Counts one more connection of the address, unless it has as many as it may.
    ///
    /// - Returns: whether it was counted; then ``leave(_:)`` is owed.
    func admit(_ peer: PeerAddress) -> Bool {
        counts.withLock { counts in
            let count = counts[peer.site, default: 0]
            guard count < limit else { return false }
            counts[peer.site] = count + 1
            return true
        }
    }

    /// Takes back one admission.
    func leave(_ peer: PeerAddress) {
        counts.withLock { counts in
            guard let count = counts[peer.site] else { preconditionFailure("somebody leaves who was not admitted") }
            counts[peer.site] = count > 1 ? count - 1 : nil
        }
    }
}
