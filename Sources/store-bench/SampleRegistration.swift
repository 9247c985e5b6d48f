import Cryptography
import DeviceStore
import PushModel

#if canImport(Glibc)
    import Glibc
#endif

/// One of any number of registrations that are made up, each from its number: half of them iPhones, three of each phone.
struct SampleRegistration {
    /// Which one.
    let number: Int

    private var phone: Int { number / 3 }
    private var platform: Platform { phone.isMultiple(of: 2) ? .ios : .android }

    /// What leads to it.
    var capability: Capability { Capability(randomBytes: Self.bytes("capability", number)) }

    private var token: DeviceToken {
        let digits = SHA256Digest(bytes: Self.bytes("token", phone)).hex
        switch platform {
        case .ios: return DeviceToken(unchecked: digits, for: .ios)
        // As long as Google's are.
        case .android: return DeviceToken(unchecked: "\(digits.prefix(22)):APA91b\(digits)\(digits)", for: .android)
        }
    }

    private static func bytes(_ word: String, _ number: Int) -> InlineArray<32, UInt8> {
        SHA256.hash(Array("\(word) \(number)".utf8)).bytes
    }

    /// The row, as values of SQL in the order of the table's columns; sealed as the relay seals it. One in a hundred has
    /// had no push for longer than `IDLE_DAYS`.
    func row(_ secret: RelaySecret, now: WallInstant) -> [UInt8] {
        let registeredAt = WallInstant(milliseconds: now.milliseconds - Int64(number % 110) * 86_400_000 - 1)
        let registration = Registration(
            capability: capability, token: token, environment: .production, opensPreviews: false,
            registeredAt: registeredAt)
        let row = SealedRow(of: registration)
        let lastUsed = number.isMultiple(of: 100) ? now.day.number - 130 : registeredAt.day.number
        var text = Array("(\(row.hash.digest.firstEightBytes >> 1),x'".utf8)
        let hash = row.hash.digest.bytes
        let fingerprint = secret.fingerprint(of: token).digest.bytes
        for index in hash.indices { text.appendHex(hash[index]) }
        text += "',x'".utf8
        for index in fingerprint.indices { text.appendHex(fingerprint[index]) }
        text += "',\(platform == .ios ? 1 : 2),1,0,\(registeredAt.milliseconds),\(lastUsed),x'".utf8
        for byte in TokenSealing.seal(registration.token, into: row, with: registration.capability) {
            text.appendHex(byte)
        }
        text += "')".utf8
        return text
    }
}

extension [UInt8] {
    fileprivate mutating func appendHex(_ byte: UInt8) {
        for digit in [byte >> 4, byte & 15] {
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}

/// Standard output, written in large pieces.
struct Output {
    private var buffer: [UInt8] = []

    /// Adds to what is to be written.
    mutating func write(_ bytes: some Sequence<UInt8>) {
        buffer += bytes
        if buffer.count >= 1 << 20 { flush() }
    }

    /// The same for text.
    mutating func write(_ text: String) { write(text.utf8) }

    /// Writes what is left. Ends the program if nobody reads it.
    mutating func flush() {
        var done = 0
        while done < buffer.count {
            let count = unsafe buffer[done...].withUnsafeBytes { left in
                unsafe Glibc.write(STDOUT_FILENO, left.baseAddress, left.count)
            }
            guard count > 0 else { fail("what reads the rows has gone") }
            done += count
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// Steele, Lea and Flood's generator: the same numbers each time.
struct SplitMix64: RandomNumberGenerator {
    /// What it begins with.
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
