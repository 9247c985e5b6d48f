import Cryptography
package import PushModel

/// Seals device tokens so that only the capability opens them.
///
/// The sealed form is `version | nonce (12) | ciphertext | tag (16)`. In version 1 the key is HKDF-SHA256 of the
/// capability's 32 random bytes, in version 2 of the relay's secret; both take the capability's hash as HKDF info, so
/// that every row has a key of its own even where two capabilities decode to the same bytes. The nonce is random, so
/// that sealing one row twice (two relays that meet the same old row) is safe too. The additional data is the version
/// and the whole row: nothing of it can be changed or moved to another row without the seal breaking.
///
/// Version 2 exists only for rows of an older relay, which kept tokens in clear and whose capabilities this relay has
/// not seen. The first push that presents one turns it into version 1, of the same length.
///
/// The plaintext is `encoding | token | 0x80 | zeros`, as long as the first of 48, 96, 192, 384, … that it fits into.
/// Today's Apple tokens (32 bytes, kept as bytes) take the first, Google's of every length seen the third; so the length
/// tells the platform, which the row says anyway, and no more.
package enum TokenSealing {
    /// How a stored token is sealed. Raw values are the first byte of what is stored.
    package enum Version: UInt8, Sendable, CaseIterable {
        /// By the capability alone.
        case byCapability = 1
        /// By the relay's secret, until the capability is presented for the first time.
        case byRelaySecret = 2
    }

    /// Which seal a stored form carries; nil for a form that this relay does not know.
    package static func version(of sealed: Span<UInt8>) -> Version? {
        sealed.isEmpty ? nil : Version(rawValue: sealed[0])
    }

    /// Seals a token for one row under its capability.
    package static func seal(_ token: DeviceToken, into row: SealedRow, with capability: Capability) -> [UInt8] {
        seal(token, into: row, as: .byCapability, key: key(of: capability, for: row.hash))
    }

    /// Seals a token for one row under the relay's secret.
    package static func seal(_ token: DeviceToken, into row: SealedRow, with secret: RelaySecret) -> [UInt8] {
        seal(token, into: row, as: .byRelaySecret, key: secret.tokenKey(for: row.hash))
    }

    static let salt = Array("gryt-push".utf8)
    static let overhead = 1 + AES256GCM.nonceLength + AES256GCM.tagLength

    private static func key(of capability: Capability, for hash: CapabilityHash) -> InlineArray<32, UInt8> {
        let salt = salt
        let info = KeyInfo.capability.with(hash)
        return HKDFSHA256.deriveKey(from: capability.randomBytes.span, salt: salt.span, info: info.span)
    }

    /// What a key is derived for: 16 bytes that say which seal, then the hash of the row.
    struct KeyInfo {
        static let capability = KeyInfo("capability seal1")
        static let relaySecret = KeyInfo("relay key seal 1")

        private let purpose: InlineArray<16, UInt8>

        private init(_ purpose: String) {
            let bytes = Array(purpose.utf8)
            precondition(bytes.count == 16, "a purpose has 16 bytes")
            self.purpose = InlineArray { bytes[$0] }
        }

        func with(_ hash: CapabilityHash) -> InlineArray<48, UInt8> {
            let purpose = purpose
            let digest = hash.digest.bytes
            return InlineArray { $0 < 16 ? purpose[$0] : digest[$0 - 16] }
        }
    }

    private static func seal(
        _ token: DeviceToken, into row: SealedRow, as version: Version, key: InlineArray<32, UInt8>
    ) -> [UInt8] {
        precondition(token.platform == row.platform, "a token is sealed into a row of its own platform")
        let nonce = SecureRandom.bytes(AES256GCM.nonceLength)
        let sealed = AES256GCM.seal(
            TokenPlaintext.encode(token).span, key: key.span, nonce: nonce.span,
            additionalData: row.additionalData(version).span)
        return [version.rawValue] + nonce + sealed
    }
}

/// What stands beside a sealed token in its row, and what the seal is bound to.
package struct SealedRow: Sendable, Equatable {
    /// Which row.
    package var hash: CapabilityHash
    /// Whose token it is.
    package var platform: Platform
    /// Which of Apple's environments issued it.
    package var environment: APNsEnvironment
    /// Whether the app opens previews itself.
    package var opensPreviews: Bool
    /// When it was registered.
    package var registeredAt: WallInstant

    package init(
        hash: CapabilityHash, platform: Platform, environment: APNsEnvironment, opensPreviews: Bool,
        registeredAt: WallInstant
    ) {
        self.hash = hash
        self.platform = platform
        self.environment = environment
        self.opensPreviews = opensPreviews
        self.registeredAt = registeredAt
    }

    /// The row of a registration.
    package init(of registration: Registration) {
        self.init(
            hash: CapabilityHash(of: registration.capability), platform: registration.token.platform,
            environment: registration.environment, opensPreviews: registration.opensPreviews,
            registeredAt: registration.registeredAt)
    }

    /// The device that the row describes, given its token.
    package func device(with token: DeviceToken) -> Device {
        Device(
            token: token, environment: environment, opensPreviews: opensPreviews, registeredAt: registeredAt)
    }

    /// Every field at a fixed place, so that no two rows look alike.
    func additionalData(_ version: TokenSealing.Version) -> InlineArray<44, UInt8> {
        var data = InlineArray<44, UInt8>(repeating: 0)
        data[0] = version.rawValue
        data[1] =
            switch platform {
            case .ios: 1
            case .android: 2
            }
        data[2] =
            switch environment {
            case .production: 1
            case .sandbox: 2
            }
        data[3] = opensPreviews ? 1 : 0
        let instant = UInt64(bitPattern: registeredAt.milliseconds)
        for index in 0..<8 { data[4 + index] = UInt8(truncatingIfNeeded: instant >> (56 - 8 * UInt64(index))) }
        for index in 0..<32 { data[12 + index] = hash.digest.bytes[index] }
        return data
    }
}
