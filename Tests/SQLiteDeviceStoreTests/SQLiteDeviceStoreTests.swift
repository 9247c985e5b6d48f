import Cryptography
import DeviceStore
import PushModel
import SQLiteDeviceStore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SQLiteDeviceStoreTests {
    private let scratch = Scratch()

    @Test func `what was registered is found as it was, by its capability alone`() async throws {
        try await scratch.withStore { store, _ in
            var wanted: [Registration] = []
            for (platform, environment, opens) in [
                (Platform.ios, APNsEnvironment.production, false), (.ios, .sandbox, false),
                (.android, .production, true), (.android, .production, false),
            ] {
                var registration = registration(platform)
                registration.environment = environment
                registration.opensPreviews = opens
                registration.registeredAt = WallInstant(milliseconds: noon.milliseconds + Int64(wanted.count))
                try await store.register(registration)
                wanted.append(registration)
            }
            for registration in wanted {
                let found = try #require(try await store.device(for: registration.capability))
                #expect(found.hash == CapabilityHash(of: registration.capability))
                #expect(found.device.token == registration.token)
                #expect(found.device.environment == registration.environment)
                #expect(found.device.opensPreviews == registration.opensPreviews)
                #expect(found.device.registeredAt == registration.registeredAt)
                #expect(found.lastUsed == today)
            }
            #expect(try await store.device(for: newCapability()) == nil)
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 2, android: 2))
        }
    }

    @Test func `it is all there after the next start`() async throws {
        let registration = registration(.android)
        let day = DailyCount(day: today, event: .registered, platform: .android)
        try await scratch.withStore { store, _ in
            try await store.register(registration)
            try await store.add([day: 7])
            store.markUsed(CapabilityHash(of: registration.capability), on: UTCDay(number: 20_001))
        }
        #expect(!scratch.exists("push.db-wal"))
        try await scratch.withStore { store, database in
            #expect(database.report.takeover == nil && !database.report.madeSecret)
            let found = try await store.device(for: registration.capability)
            #expect(found?.device.token == registration.token)
            #expect(found?.lastUsed == UTCDay(number: 20_001))
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 0, android: 1))
            #expect(try await store.dailyCounts(from: today) == [DailyTotal(count: day, n: 7)])
        }
    }

    @Test func `files copied right after a registration was answered hold it`() async throws {
        try await scratch.withStore { store, _ in
            for _ in 0..<5 {
                let registration = registration()
                try await store.register(registration)
                let copy = scratch.copy()
                scratch.copySecret(to: copy)
                try await copy.withStore { other, _ in
                    let found = try await other.device(for: registration.capability)
                    #expect(found?.device.token == registration.token)
                }
            }
        }
    }

    @Test func `a capability is removed once`() async throws {
        try await scratch.withStore { store, _ in
            let first = registration()
            let second = registration()
            try await store.register(first)
            try await store.register(second)
            #expect(try await store.remove(CapabilityHash(of: first.capability)))
            #expect(try await !store.remove(CapabilityHash(of: first.capability)))
            #expect(try await store.device(for: first.capability) == nil)
            #expect(try await store.device(for: second.capability) != nil)
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 1, android: 0))
            // Removed and registered again works as if for the first time.
            try await store.register(first)
            #expect(try await store.device(for: first.capability)?.device.token == first.token)
        }
    }

    @Test func `a token is forgotten with every capability that leads to it, and no other`() async throws {
        try await scratch.withStore { store, _ in
            let token = newToken(.ios)
            // The same text on another platform is another token.
            let namesake = registration(.android, token: DeviceToken(unchecked: token.disclosed, for: .android))
            let own = (0..<3).map { _ in registration(token: token) }
            let other = registration()
            for registration in own + [namesake, other] { try await store.register(registration) }
            #expect(try await store.forget(newToken(.ios), in: .production, registeredBefore: nil) == 0)
            #expect(try await store.forget(token, in: .production, registeredBefore: nil) == 3)
            #expect(try await store.forget(token, in: .production, registeredBefore: nil) == 0)
            for registration in own { #expect(try await store.device(for: registration.capability) == nil) }
            for registration in [namesake, other] {
                #expect(try await store.device(for: registration.capability)?.device.token == registration.token)
            }
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 1, android: 1))
        }
    }

    @Test func `what is no token in one of Apple's environments may live in the other`() async throws {
        try await scratch.withStore { store, _ in
            let token = newToken(.ios)
            let wrong = registration(token: token)
            var right = registration(token: token)
            right.environment = .sandbox
            // The word means nothing for a phone that Apple does not know.
            let android = newToken(.android)
            var odd = registration(.android, token: android)
            odd.environment = .sandbox
            for registration in [wrong, right, odd] { try await store.register(registration) }
            #expect(try await store.forget(token, in: .production, registeredBefore: nil) == 1)
            #expect(try await store.device(for: wrong.capability) == nil)
            #expect(try await store.device(for: right.capability)?.device.token == token)
            #expect(try await store.forget(token, in: .sandbox, registeredBefore: nil) == 1)
            #expect(try await store.forget(android, in: .production, registeredBefore: nil) == 1)
        }
    }

    @Test func `a registration newer than the token's death stays`() async throws {
        try await scratch.withStore { store, _ in
            let token = newToken(.ios)
            let death = noon
            let before = registration(token: token, at: WallInstant(milliseconds: death.milliseconds - 1))
            let same = registration(token: token, at: death)
            let after = registration(token: token, at: WallInstant(milliseconds: death.milliseconds + 1))
            for registration in [before, same, after] { try await store.register(registration) }
            #expect(try await store.forget(token, in: .production, registeredBefore: death) == 2)
            #expect(try await store.device(for: before.capability) == nil)
            #expect(try await store.device(for: same.capability) == nil)
            #expect(try await store.device(for: after.capability) != nil)
        }
    }

    @Test func `the same capability again takes the earlier registration's place`() async throws {
        try await scratch.withStore { store, _ in
            let capability = newCapability()
            let first = registration(.ios, capability: capability)
            let second = registration(.android, capability: capability)
            try await store.register(first)
            try await store.register(second)
            #expect(try await store.device(for: capability)?.device.token == second.token)
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 0, android: 1))
            #expect(try await store.forget(first.token, in: .production, registeredBefore: nil) == 0)
        }
    }

    @Test func `a mark moves the day of last use forward, never back, and concerns only its own`() async throws {
        try await scratch.withStore { store, _ in
            let used = registration()
            let other = registration()
            try await store.register(used)
            try await store.register(other)
            let hash = CapabilityHash(of: used.capability)
            for (day, wanted) in [(20_003, 20_003), (20_001, 20_003), (20_004, 20_004)] as [(Int32, Int32)] {
                store.markUsed(hash, on: UTCDay(number: day))
                store.markUsed(hash, on: UTCDay(number: day - 1))
                store.markUsed(CapabilityHash(of: newCapability()), on: UTCDay(number: day))
                try await store.flush()
                #expect(try await store.device(for: used.capability)?.lastUsed == UTCDay(number: wanted))
            }
            #expect(try await store.device(for: other.capability)?.lastUsed == today)
        }
    }

    @Test func `the idle are dropped in batches, the longest unused first`() async throws {
        try await scratch.withStore { store, _ in
            var registrations: [Registration] = []
            for number in 0..<25 {
                let day = noon.milliseconds - Int64(25 - number) * 86_400_000
                let registration = registration(at: WallInstant(milliseconds: day))
                registrations.append(registration)
                try await store.register(registration)
            }
            // Registered first, yet used today.
            store.markUsed(CapabilityHash(of: registrations[0].capability), on: today)
            try await store.flush()
            let limit = UTCDay(number: today.number - 3)
            var dropped: [Int] = []
            repeat { dropped.append(try await store.dropIdle(before: limit, limit: 10)) } while dropped.last == 10
            #expect(dropped == [10, 10, 1])
            #expect(try await store.dropIdle(before: limit, limit: 10) == 0)
            var left: [Int] = []
            for (number, registration) in registrations.enumerated()
            where try await store.device(for: registration.capability) != nil { left.append(number) }
            #expect(left == [0, 22, 23, 24])
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 4, android: 0))
        }
    }

    @Test func `what was registered by a clock that had lost its time is not taken for idle`() async throws {
        try await scratch.withStore { store, _ in
            let lost = registration(at: WallInstant(milliseconds: 0))
            let idle = registration(at: WallInstant(milliseconds: 1_704_067_200_000))
            for registration in [lost, idle] { try await store.register(registration) }
            #expect(try await store.dropIdle(before: today, limit: 10) == 1)
            #expect(try await store.device(for: lost.capability) != nil)
            #expect(try await store.device(for: idle.capability) == nil)
            // From its next push on it is as any other.
            store.markUsed(CapabilityHash(of: lost.capability), on: UTCDay(number: today.number - 1))
            try await store.flush()
            #expect(try await store.dropIdle(before: today, limit: 10) == 1)
        }
    }

    @Test func `counts add up by day, come in order, and outlive their devices`() async throws {
        try await scratch.withStore { store, _ in
            let tomorrow = UTCDay(number: 20_001)
            let message = DailyCount(day: today, event: .sent, platform: .ios, kind: .message)
            let later = DailyCount(day: tomorrow, event: .sent, platform: .ios, kind: .message)
            let gone = DailyCount(day: today, event: .gone, platform: .android)
            try await store.add([message: 2, gone: 1])
            try await store.add([message: 3, later: 1])
            try await store.add([:])
            let registration = registration()
            try await store.register(registration)
            _ = try await store.forget(registration.token, in: .production, registeredBefore: nil)
            let all = [
                DailyTotal(count: gone, n: 1), DailyTotal(count: message, n: 5), DailyTotal(count: later, n: 1),
            ]
            #expect(try await store.dailyCounts(from: today) == all)
            #expect(try await store.dailyCounts(from: tomorrow) == [all[2]])
            #expect(
                try await store.allTimeCounts() == [
                    AllTimeTotal(event: .gone, platform: .android, kind: nil, n: 1),
                    AllTimeTotal(event: .sent, platform: .ios, kind: .message, n: 6),
                ])
        }
    }

    @Test func `a row that other hands have changed is not opened`() async throws {
        let first = registration()
        let second = registration()
        try await scratch.withStore { store, _ in
            try await store.register(first)
            try await store.register(second)
        }
        scratch.sqlite("UPDATE device SET environment = 2")
        try await scratch.withStore { store, _ in
            await #expect(throws: StoreError.sealBroken) { try await store.device(for: first.capability) }
        }
        scratch.sqlite(
            """
            UPDATE device SET environment = 1;
            CREATE TEMP TABLE before AS SELECT id, sealed FROM device;
            UPDATE device SET sealed = (SELECT sealed FROM before WHERE before.id <> device.id);
            """)
        try await scratch.withStore { store, _ in
            await #expect(throws: StoreError.sealBroken) { try await store.device(for: second.capability) }
            // It can still be forgotten.
            let forgotten = try await store.forget(second.token, in: .production, registeredBefore: nil)
            #expect(forgotten == 1)
        }
    }

    @Test func `a closed store says so, and a closed database too`() async throws {
        let database = try scratch.open()
        let store = try database.makeStore(on: QueueExecutor())
        let other = try database.makeStore(on: QueueExecutor())
        await store.close()
        await store.close()
        await #expect(throws: StoreError.closed) { try await store.register(registration()) }
        await #expect(throws: StoreError.closed) { try await store.device(for: newCapability()) }
        await #expect(throws: StoreError.closed) { try await store.deviceCounts() }
        await #expect(throws: StoreError.closed) { try await store.flush() }
        try await other.register(registration())
        await database.close()
        await database.close()
        await #expect(throws: StoreError.closed) { try await other.register(registration()) }
        other.markUsed(CapabilityHash(of: newCapability()), on: today)
        #expect(try await other.deviceCounts() == DeviceCounts(ios: 1, android: 0))
        await other.close()
    }

    @Test func `look-ups on two stores run beside registrations, and see each once it is answered`() async throws {
        let database = try scratch.open()
        let stores = try (0..<2).map { _ in try database.makeStore(on: QueueExecutor()) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for _ in 0..<25 {
                        let registration = registration()
                        try await stores[worker % 2].register(registration)
                        let found = try await stores[(worker + 1) % 2].device(for: registration.capability)
                        #expect(found?.device.token == registration.token)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await stores[0].deviceCounts() == DeviceCounts(ios: 200, android: 0))
        for store in stores { await store.close() }
        await database.close()
    }

    @Test func `two relays on one database both write, and see what the other wrote`() async throws {
        let first = try scratch.open()
        let second = try scratch.open()
        let stores = [try first.makeStore(on: QueueExecutor()), try second.makeStore(on: QueueExecutor())]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for _ in 0..<20 {
                        let registration = registration()
                        try await stores[worker % 2].register(registration)
                        #expect(try await stores[(worker + 1) % 2].device(for: registration.capability) != nil)
                        if worker == 0 {
                            #expect(try await stores[1].remove(CapabilityHash(of: registration.capability)))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        await stores[0].close()
        await first.close()
        #expect(try await stores[1].deviceCounts() == DeviceCounts(ios: 60, android: 0))
        await stores[1].close()
        await second.close()
    }
}
