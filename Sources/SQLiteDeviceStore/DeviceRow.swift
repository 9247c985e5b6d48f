import Cryptography
import DeviceStore
import PushModel

/// One row of the table `device`.
struct DeviceRow: Sendable {
    /// What the seal is bound to.
    var row: SealedRow
    /// What finds it by its token.
    var fingerprint: TokenFingerprint
    /// The token, sealed by capability or relay secret.
    var sealed: [UInt8]
    /// The day of the last push, or of the registration.
    var lastUsed: UTCDay
}

/// Where a row stands in the table.
///
/// The table's integer key is the first 63 bits of the capability's hash. So a look-up descends one b-tree, whose inner
/// pages hold small integers, where a key of 32 bytes would need a second tree or a much deeper one. Should two hashes
/// begin alike (one chance in ten million with a million devices), the later row takes one of the next three places;
/// whoever looks reads all four and compares the whole hash.
struct RowPlace: Equatable {
    /// The first place.
    let first: Int64
    /// The last place.
    var last: Int64 { first + 3 }

    init(of hash: CapabilityHash) {
        first = min(Int64(hash.digest.firstEightBytes >> 1), Int64.max - 3)
    }
}

// How the words of the model stand in the table's integers.

extension Platform {
    var stored: Int64 {
        switch self {
        case .ios: 1
        case .android: 2
        }
    }

    init?(stored: Int64) {
        switch stored {
        case 1: self = .ios
        case 2: self = .android
        default: return nil
        }
    }
}

extension APNsEnvironment {
    var stored: Int64 {
        switch self {
        case .production: 1
        case .sandbox: 2
        }
    }

    init?(stored: Int64) {
        switch stored {
        case 1: self = .production
        case 2: self = .sandbox
        default: return nil
        }
    }
}

extension UTCDay {
    init(stored: Int64) { self.init(number: Int32(clamping: stored)) }
    var stored: Int64 { Int64(number) }
}
