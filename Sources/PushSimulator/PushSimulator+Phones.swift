extension PushSimulator {
    // MARK: Declaring phones

    /// Makes a token a live phone's, of one environment or one topic where these are given. A dead one lives again.
    package func declareLive(
        _ token: String, platform: PhonePlatform, environment: PhoneEnvironment? = nil, topic: String? = nil
    ) {
        ledger.updatePhones {
            $0.declareLive(PhoneAddress(token, platform), environment: environment, topic: topic)
        }
    }

    /// Ends a token: APNs answers 410 with this instant (milliseconds since 1970; nil is now), FCM 404 UNREGISTERED.
    /// Until `noticedAfter` (whole seconds of the simulator's clock) has passed, pushes are accepted and reach nobody.
    package func declareDead(
        _ token: String, platform: PhonePlatform, since: Int64? = nil, reason: DeathReason = .unregistered,
        noticedAfter delay: Duration = .zero, timestamp: DeathTimestamp = .milliseconds
    ) {
        let now = ledger.now
        let death = PhoneTable.Death(
            since: since ?? now, reason: reason, noticed: now + delay.components.seconds * 1000, timestamp: timestamp)
        ledger.updatePhones { $0.declareDead(PhoneAddress(token, platform), death) }
    }

    /// Takes back all that was declared about a token, faults too.
    package func forget(_ token: String, platform: PhonePlatform) {
        ledger.updatePhones { $0.forget(PhoneAddress(token, platform)) }
    }

    /// Brings a phone within reach of its push service, or out of it, where APNs keeps one notification for it and FCM a
    /// hundred.
    package func setOnline(_ isOnline: Bool, _ token: String, platform: PhonePlatform) {
        ledger.setOnline(isOnline, PhoneAddress(token, platform))
    }

    /// What the phone shows now, oldest first: fewer than it got, where one took the place of another. Of the first ten
    /// thousand phones that got anything.
    package func shown(on token: String, platform: PhonePlatform) -> [DeliveredNotification] {
        ledger.shown(on: PhoneAddress(token, platform))
    }

    /// Makes more pushes than these to one phone meet TooManyRequests, or QUOTA_EXCEEDED. Refused ones do not count.
    package func limitPushes(to platform: PhonePlatform, _ rates: PushRate...) {
        ledger.setRates(rates, of: platform == .ios ? .apnsProduction : .fcm)
    }

    // MARK: Faults

    /// Makes pushes to this token meet a fault, after earlier faults of the token are used up. Only pushes that are
    /// right in every other way come so far.
    package func force(_ fault: Fault, on token: String, platform: PhonePlatform) {
        ledger.updatePhones { $0.add(fault, to: PhoneAddress(token, platform)) }
    }

    /// Makes requests to a service meet a fault before anything of them is checked, after earlier ones are used up.
    package func force(_ fault: Fault, on service: SimulatedService) {
        ledger.updateFaults(of: service) { $0.add(fault) }
    }

    /// Takes back the faults of a token.
    package func clearFaults(of token: String, platform: PhonePlatform) {
        ledger.updatePhones { $0.clearFaults(of: PhoneAddress(token, platform)) }
    }

    /// Takes back the faults of a service.
    package func clearFaults(of service: SimulatedService) {
        ledger.updateFaults(of: service) { $0.clear() }
    }

    /// Makes every answer of a service wait so long.
    package func setLatency(_ latency: Duration, of service: SimulatedService) {
        ledger.setLatency(latency, of: service)
    }

    /// Sets how connections to a service behave that are opened from now on.
    package func setBehaviour(_ behaviour: ConnectionBehaviour, of service: SimulatedService) {
        ledger.setBehaviour(behaviour, of: service)
    }

    /// Sets how the next connections to a service behave, each as the next one of these; later ones behave as
    /// ``setBehaviour(_:of:)`` says.
    package func setNextBehaviours(_ behaviours: ConnectionBehaviour..., of service: SimulatedService) {
        ledger.setNextBehaviours(behaviours, of: service)
    }

    /// Sends a GOAWAY on every open connection of a service; gives how many there were.
    @discardableResult
    package func goAway(_ goAway: GoAway = GoAway(), on service: SimulatedService) async -> Int {
        await server.goAway(goAway, on: service)
    }

    /// Closes every open connection of a service without a word; gives how many there were.
    @discardableResult
    package func disconnect(_ service: SimulatedService) async -> Int {
        await server.disconnect(service)
    }

    /// Announces another limit of streams on every open connection of a service.
    package func allow(concurrentStreams count: UInt32, on service: SimulatedService) async {
        await server.allow(concurrentStreams: count, on: service)
    }

    // MARK: Time

    /// Milliseconds since 1970 by the simulator's clock.
    package var now: Int64 { ledger.now }

    /// Moves the simulator's clock, by which the ages of tokens are judged.
    package func advanceClock(by duration: Duration) {
        ledger.advanceClock(
            by: duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000)
    }

    // MARK: The books

    /// What was seen so far.
    package func books() -> SimulatorBooks { ledger.books }

    /// What the phone got, oldest first, as far as the books go back.
    package func notifications(for token: String, platform: PhonePlatform) -> [DeliveredNotification] {
        let address = PhoneAddress(token, platform)
        return ledger.books.notifications.filter { PhoneAddress($0.token, $0.platform) == address }
    }

    /// How many notifications the phone got.
    package func deliveredCount(to token: String, platform: PhonePlatform) -> Int {
        ledger.deliveredCount(PhoneAddress(token, platform))
    }

    /// How many right pushes reached for the phone, refused and unanswered ones too.
    package func attemptedCount(on token: String, platform: PhonePlatform) -> Int {
        ledger.attemptedCount(PhoneAddress(token, platform))
    }

    /// Returns once the phone got `count` notifications in all; gives those the books still hold, oldest first.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    @discardableResult
    package func delivered(
        to token: String, platform: PhonePlatform, count: Int = 1
    ) async throws -> [DeliveredNotification] {
        try await ledger.wait(for: PhoneAddress(token, platform), count: count, countsAttempts: false)
        return notifications(for: token, platform: platform)
    }

    /// Returns once `count` right pushes in all reached for the phone, whatever became of them.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    package func attempted(on token: String, platform: PhonePlatform, count: Int = 1) async throws {
        try await ledger.wait(for: PhoneAddress(token, platform), count: count, countsAttempts: true)
    }

    /// Calls this with every notification a phone gets, on the simulator's own thread, which must not be held up.
    package func observe(_ observer: (@Sendable (DeliveredNotification) -> Void)?) {
        ledger.setObserver(observer)
    }
}
