import Cryptography
import DeviceStore
import PushModel
import SQLiteDeviceStore
import Testing

/// What somebody finds who takes a copy of the files while the relay runs.
@Suite(.timeLimit(.minutes(1)))
struct ThiefTests {
    private let scratch = Scratch()

    /// Which of the pieces stand anywhere in the files.
    private func present(_ pieces: Set<UInt64>, in copy: Scratch) -> Set<UInt64> {
        // Few runs of a file end in the same two bytes as a piece, so the set is asked seldom.
        var ends = [Bool](repeating: false, count: 65_536)
        for piece in pieces { ends[Int(piece & 0xFFFF)] = true }
        var found: Set<UInt64> = []
        for name in ["push.db", "push.db-wal", "push.db-shm"] {
            var run: UInt64 = 0
            for byte in copy.bytes(name) {
                run = run << 8 | UInt64(byte)
                if ends[Int(run & 0xFFFF)], pieces.contains(run) { found.insert(run) }
            }
        }
        return found
    }

    /// Pieces of eight bytes from several places of a secret, in every writing it may have been left in.
    private func pieces(of secret: [UInt8]) -> [UInt64] {
        let lower = Array(secret.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined().utf8)
        let base64URL = Array(Base64URL.encode(secret).utf8)
        let base64 = base64URL.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 }
            .map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "/") : $0 }
        let writings = [
            secret, lower, Array(String(decoding: lower, as: UTF8.self).uppercased().utf8), base64URL, base64,
            Array(secret.reversed()), secret.map { (65...90).contains($0) ? $0 | 32 : $0 },
            secret.map { (97...122).contains($0) ? $0 & ~32 : $0 },
        ]
        return writings.flatMap { writing in
            stride(from: 0, through: writing.count - 8, by: 4).map { start in
                writing[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
            }
        }
    }

    private func secrets(of registration: Registration) -> [[UInt8]] {
        let text = Array(registration.token.disclosed.utf8)
        let capability = registration.capability
        // Without `p_`, which is no secret.
        var all = [Array(capability.disclosed.utf8.dropFirst(2)), (0..<32).map { capability.randomBytes[$0] }]
        switch registration.token.platform {
        case .android: all.append(text)
        case .ios:
            all.append(text)
            all.append(
                stride(from: 0, to: text.count, by: 2).map { index in
                    UInt8(String(decoding: text[index..<index + 2], as: UTF8.self), radix: 16) ?? 0
                })
        }
        return all
    }

    /// How many of the registrations have left a piece of themselves.
    private func found(_ registrations: [Registration], in copy: Scratch) -> Int {
        let owned = registrations.map { Set(secrets(of: $0).flatMap(pieces(of:))) }
        let present = present(owned.reduce(into: []) { $0.formUnion($1) }, in: copy)
        return owned.count { !$0.isDisjoint(with: present) }
    }

    private func hashes(of registrations: some Sequence<Registration>) -> Set<UInt64> {
        Set(registrations.map { CapabilityHash(of: $0.capability).digest.firstEightBytes })
    }

    private func register(_ registrations: [Registration], in store: SQLiteDeviceStore) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for registration in registrations { group.addTask { try await store.register(registration) } }
            try await group.waitForAll()
        }
    }

    @Test func `of two hundred registrations there is no token and no capability, in any writing`() async throws {
        try await scratch.withStore { store, _ in
            let registrations = (0..<200).map { registration($0.isMultiple(of: 2) ? .ios : .android) }
            try await register(registrations, in: store)
            for registration in registrations.prefix(50) {
                _ = try await store.device(for: registration.capability)
                store.markUsed(CapabilityHash(of: registration.capability), on: UTCDay(number: 20_001))
            }
            try await store.flush()
            let copy = scratch.copy()
            #expect(found(registrations, in: copy) == 0)
            // The search does find what is there.
            let hashes = hashes(of: registrations)
            #expect(present(hashes, in: copy) == hashes)
            copy.sqlite(
                "CREATE TABLE clear (text); INSERT INTO clear VALUES ('\(registrations[0].token.disclosed)'),"
                    + "('\(registrations[1].capability.disclosed)')")
            #expect(found(registrations, in: copy) == 2)
        }
    }

    @Test func `what was removed leaves no trace, in the log neither`() async throws {
        try await scratch.withStore { store, database in
            let registrations = (0..<50).map { _ in registration() }
            try await register(registrations, in: store)
            let gone = registrations.prefix(25)
            for registration in gone.prefix(12) {
                _ = try await store.remove(CapabilityHash(of: registration.capability))
            }
            for registration in gone.dropFirst(12) {
                _ = try await store.forget(registration.token, in: .production, registeredBefore: nil)
            }
            // The log is emptied within a second of the last removal, without anybody asking.
            let kept = hashes(of: registrations.dropFirst(25))
            let removed = hashes(of: gone)
            let copy = try await copyWhen { copy in present(removed, in: copy).isEmpty }
            #expect(database.statistics.scrubs > 0)
            #expect(present(kept, in: copy) == kept)
        }
    }

    @Test func `the earlier seal of an older row leaves no trace once its capability has sealed it`() async throws {
        let capability = newCapability()
        let token = newToken(.ios)
        scratch.sqlite(
            """
            CREATE TABLE devices (cap_hash TEXT PRIMARY KEY, platform TEXT, token TEXT, env TEXT, created_at INTEGER,
                last_used_at INTEGER);
            INSERT INTO devices VALUES ('\(CapabilityHash(of: capability).digest.hex)', 'ios', '\(token.disclosed)',
                'production', 1700000000000, 1700000000000);
            """)
        try await scratch.withStore { store, _ in
            let before = scratch.copy()
            let older = before.sqlite("SELECT hex(sealed) FROM device")
            #expect(older.hasPrefix("02"))
            let piece = UInt64(older.dropFirst(20).prefix(16), radix: 16) ?? 0
            #expect(present([piece], in: before) == [piece])
            #expect(try await store.device(for: capability)?.device.token == token)
            try await store.flush()
            _ = try await copyWhen { copy in present([piece], in: copy).isEmpty }
            #expect(scratch.copy().sqlite("SELECT hex(substr(sealed, 1, 1)) FROM device") == "01\n")
            #expect(try await store.device(for: capability)?.device.token == token)
        }
    }

    /// Copies the files until they are as wanted; the suite's time limit ends it.
    private func copyWhen(_ isAsWanted: (Scratch) -> Bool) async throws -> Scratch {
        while true {
            let copy = scratch.copy()
            if isAsWanted(copy) { return copy }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
