import Synchronization

/// What the services share and tests look into: declared phones, faults, access tokens and the books.
///
/// Everything is guarded by one mutex, which nobody holds over a signature, a callback or I/O; any thread may call.
final class Ledger: Sendable {
    /// How the simulator was set up; it does not change.
    let configuration: SimulatorConfiguration
    private let state: Mutex<State>

    private struct State {
        var phones: PhoneTable
        var serviceFaults: [SimulatedService: FaultQueue] = [:]
        var latency: [SimulatedService: Duration] = [:]
        var behaviours: [SimulatedService: ConnectionBehaviour] = [:]
        var proxy = ProxyRules()
        var apple: AppleAccount
        var tokenChanges = ProviderTokenChanges()
        var rates: [SimulatedService: PushRates] = [:]
        var projectRates = PushRates()
        var quotaRetryAfter: String?
        var accessTokenLife: AccessTokenLife?
        var serviceAccountState = ServiceAccountState.usual
        var screens: [PhoneAddress: DeviceScreen] = [:]
        var nextBehaviours: [SimulatedService: [ConnectionBehaviour]] = [:]
        var accessTokens: [String: Int64] = [:]
        var clockOffset: Int64 = 0
        var books = SimulatorBooks()
        var notifications: Recent<DeliveredNotification>
        var requests: Recent<RequestRecord>
        var seenPushes: RecentKeys
        var seenReplacements: RecentKeys
        var seenProviderTokens: RecentKeys
        var delivered: [PhoneAddress: Int] = [:]
        var attempted: [PhoneAddress: Int] = [:]
        var watches: [Int: Watch] = [:]
        var lastConnection = 0
        var lastRequest = 0
        var lastNotification = 0
        var lastWatch = 0
        var observer: (@Sendable (DeliveredNotification) -> Void)?
    }

    /// Somebody who waits for a number of deliveries or attempts.
    private struct Watch {
        var address: PhoneAddress
        var count: Int
        var countsAttempts: Bool
        var continuation: CheckedContinuation<Void, any Error>
    }

    /// Makes empty books.
    init(configuration: SimulatorConfiguration) {
        self.configuration = configuration
        let depth = configuration.recordsKept
        state = Mutex(
            State(
                phones: PhoneTable(isStrict: configuration.isStrict),
                apple: AppleAccount(topic: configuration.topic),
                notifications: Recent(depth: depth), requests: Recent(depth: depth),
                seenPushes: RecentKeys(depth: max(depth, 100_000)),
                seenReplacements: RecentKeys(depth: max(depth, 100_000)),
                seenProviderTokens: RecentKeys(depth: 10_000)))
    }

    // MARK: Time

    /// Milliseconds since 1970, by the configured clock and what ``advanceClock(by:)`` added.
    var now: Int64 {
        configuration.clock() + state.withLock { $0.clockOffset }
    }

    /// Moves the simulator's clock, and only it.
    func advanceClock(by milliseconds: Int64) {
        state.withLock { $0.clockOffset += milliseconds }
    }

    // MARK: Declarations

    /// Changes what is declared about phones.
    func updatePhones(_ change: @Sendable (inout PhoneTable) -> Void) {
        state.withLock { change(&$0.phones) }
    }

    /// Changes the faults of a whole service.
    func updateFaults(of service: SimulatedService, _ change: @Sendable (inout FaultQueue) -> Void) {
        state.withLock { change(&$0.serviceFaults[service, default: FaultQueue()]) }
    }

    /// Sets how long each answer of a service waits.
    func setLatency(_ latency: Duration, of service: SimulatedService) {
        state.withLock { $0.latency[service] = latency }
    }

    /// Sets how later connections of a service behave.
    func setBehaviour(_ behaviour: ConnectionBehaviour, of service: SimulatedService) {
        state.withLock { $0.behaviours[service] = behaviour }
    }

    /// Sets how the next connections of a service behave, before ``setBehaviour(_:of:)`` counts again.
    func setNextBehaviours(_ behaviours: [ConnectionBehaviour], of service: SimulatedService) {
        state.withLock { $0.nextBehaviours[service] = behaviours }
    }

    /// How later connections of a service behave.
    func behaviour(of service: SimulatedService) -> ConnectionBehaviour {
        state.withLock { $0.behaviours[service] ?? .usual(of: service) }
    }

    /// Sets who is told of each notification, on the loop's thread.
    func setObserver(_ observer: (@Sendable (DeliveredNotification) -> Void)?) {
        state.withLock { $0.observer = observer }
    }

    // MARK: Connections and requests, from the services

    /// Notes a new connection; gives its number and how it behaves.
    func opened(_ service: SimulatedService) -> (number: Int, behaviour: ConnectionBehaviour) {
        state.withLock { state in
            state.lastConnection += 1
            state.books.services[service, default: .init()].connectionsOpened += 1
            state.books.services[service, default: .init()].connectionsOpen += 1
            if let next = state.nextBehaviours[service]?.first {
                state.nextBehaviours[service]?.removeFirst()
                return (state.lastConnection, next)
            }
            return (state.lastConnection, state.behaviours[service] ?? .usual(of: service))
        }
    }

    /// Notes the end of a connection.
    func closed(_ service: SimulatedService) {
        state.withLock { $0.books.services[service, default: .init()].connectionsOpen -= 1 }
    }

    /// Notes a stream beyond the limit.
    func wentOverLimit(_ service: SimulatedService) {
        state.withLock { $0.books.services[service, default: .init()].overLimitStreams += 1 }
    }

    /// Notes a connection that TLS never came to, or came to late.
    func receivedUnusually(_ service: SimulatedService) {
        state.withLock { $0.books.services[service, default: .init()].connectionsHeldBack += 1 }
    }

    /// Notes how many streams of one connection were open at once, where that is more than before.
    func sawStreams(_ count: Int, on service: SimulatedService) {
        state.withLock { state in
            let most = state.books[service].mostStreams
            state.books.services[service, default: .init()].mostStreams = max(most, count)
        }
    }

    /// Notes a frame that is no part of a request.
    func saw(frame: String, on service: SimulatedService) {
        state.withLock { $0.books.services[service, default: .init()].frames[frame, default: 0] += 1 }
    }

    /// Notes a whole request on a connection that no longer answers.
    func leftUnanswered(_ service: SimulatedService) {
        state.withLock { $0.books.services[service, default: .init()].unanswered += 1 }
    }

    /// Notes a whole request; gives the fault of the service that it meets, if any, and the latency.
    func began(_ service: SimulatedService) -> (fault: Fault?, latency: Duration) {
        state.withLock { state in
            state.books.services[service, default: .init()].requests += 1
            return (state.serviceFaults[service]?.next(), state.latency[service] ?? .zero)
        }
    }

    /// Notes what became of a request.
    func ended(_ record: RequestRecord) {
        state.withLock { state in
            state.lastRequest += 1
            var record = record
            record.number = state.lastRequest
            state.requests.append(record)
            if let status = record.status {
                state.books.services[record.service, default: .init()].answers[status, default: 0] += 1
            }
            if let reason = record.reason {
                state.books.services[record.service, default: .init()].refusals[reason, default: 0] += 1
            }
        }
    }

    /// Notes a provider token with a right signature.
    func saw(providerToken: String) {
        state.withLock { state in
            if state.seenProviderTokens.insert(providerToken) { state.books.providerTokens += 1 }
        }
    }

    // MARK: The proxy

    /// Changes what the proxy is told to do.
    func updateProxy(_ change: @Sendable (inout ProxyRules) -> Void) {
        state.withLock { change(&$0.proxy) }
    }

    /// Changes the proxy's part of the books.
    func updateProxyCounts(_ change: @Sendable (inout ProxyCounts) -> Void) {
        state.withLock { change(&$0.books.proxy) }
    }

    /// Notes a CONNECT; gives whom the proxy lets through, and what it answers them.
    func proxyConnect(
        _ target: String, host: String, _ hasCredentials: Bool
    ) -> (credentials: ProxyCredentials?, answer: ProxyAnswer) {
        state.withLock { state in
            ProxyCounts.count(target, in: &state.books.proxy.connects)
            if hasCredentials { state.books.proxy.withCredentials += 1 }
            return (state.proxy.credentials, state.proxy.next(for: host))
        }
    }

    // MARK: Phones, from the services

    /// Notes that a right push reached for a phone; gives what it meets there.
    func attempt(
        _ address: PhoneAddress, environment: PhoneEnvironment? = nil, topic: String? = nil
    ) -> (fault: Fault?, standing: PhoneTable.Standing) {
        let now = now
        let (outcome, woken) = state.withLock { state in
            state.attempted[address, default: 0] += 1
            let fault = state.phones.nextFault(of: address)
            let standing = state.phones.standing(
                of: address, environment: environment, topic: topic, now: now)
            return ((fault, standing), Self.takeDue(&state, for: address))
        }
        for continuation in woken { continuation.resume() }
        return outcome
    }

    /// Puts a notification on a phone. `identity` is what makes two pushes the same one; nil where nothing does.
    /// `isSaid` is whether the client is told that it was accepted.
    func deliver(_ notification: DeliveredNotification, identity: String?, isSaid: Bool) {
        let address = PhoneAddress(notification.token, notification.platform)
        let (noted, observer, woken) = state.withLock { state in
            var noted = notification
            state.lastNotification += 1
            noted.number = state.lastNotification
            let prefix = "\(notification.platform.rawValue) \(address.token) "
            if let identity { noted.isDouble = !state.seenPushes.insert(prefix + identity) }
            if let key = notification.replacementKey {
                noted.replacesEarlier = !state.seenReplacements.insert(prefix + key)
            }
            state.books.services[notification.service, default: .init()].delivered += 1
            if !isSaid { state.books.services[notification.service, default: .init()].deliveredUnsaid += 1 }
            if noted.isDouble { state.books.services[notification.service, default: .init()].doubles += 1 }
            state.notifications.append(noted)
            state.delivered[address, default: 0] += 1
            if state.screens[address] != nil || state.screens.count < Self.mostScreens {
                state.screens[address, default: DeviceScreen()].take(noted, now: noted.instant)
            }
            return (noted, state.observer, Self.takeDue(&state, for: address))
        }
        for continuation in woken { continuation.resume() }
        observer?(noted)
    }

    /// Phones whose screens are kept.
    private static let mostScreens = 10_000

    /// Brings a phone within reach of its push service, or out of it.
    func setOnline(_ isOnline: Bool, _ address: PhoneAddress) {
        let now = now
        state.withLock { $0.screens[address, default: DeviceScreen()].setOnline(isOnline, now: now) }
    }

    /// What the phone shows, oldest first.
    func shown(on address: PhoneAddress) -> [DeliveredNotification] {
        let now = now
        return state.withLock { state in
            state.screens[address]?.advance(to: now)
            return state.screens[address]?.shown ?? []
        }
    }

    /// Sets the rates of a service's phones; those of both APNs environments are one.
    func setRates(_ rates: [PushRate], of service: SimulatedService) {
        state.withLock { $0.rates[service] = PushRates(limits: rates) }
    }

    /// Whether a push is one too many for its key.
    func exceedsRate(_ service: SimulatedService, key: String) -> Bool {
        let now = now
        return state.withLock { $0.rates[service]?.exceeds(key, now: now) ?? false }
    }

    /// Sets the rates of all messages to FCM, and what its quota refusals say in `retry-after`.
    func setProjectRates(_ rates: [PushRate], retryAfter: String?) {
        state.withLock { state in
            state.projectRates = PushRates(limits: rates)
            state.quotaRetryAfter = retryAfter
        }
    }

    /// What FCM's quota refusals say in `retry-after`; nil is nothing.
    var quotaRetryAfter: String? { state.withLock { $0.quotaRetryAfter } }

    /// Whether a message is one too many for the project.
    func exceedsProjectRate() -> Bool {
        let now = now
        return state.withLock { $0.projectRates.exceeds("", now: now) }
    }

    // MARK: Apple's keys

    /// What Apple knows of keys and topics.
    var appleAccount: AppleAccount { state.withLock { $0.apple } }

    /// The key that the simulator was made with.
    var ownAppleKey: AppleKey? { state.withLock { $0.apple.first } }

    /// Changes what Apple knows of keys and topics.
    func updateAppleAccount(_ change: @Sendable (inout AppleAccount) -> Void) {
        state.withLock { change(&$0.apple) }
    }

    /// Whether a provider token comes too soon after another one of this machine.
    func isTooSoon(providerToken: String, now: Int64) -> Bool {
        state.withLock { $0.tokenChanges.isTooSoon(providerToken, now: now) }
    }

    // MARK: Access tokens

    /// Access tokens that are remembered before those that have ended are dropped.
    private static let mostAccessTokens = 10_000

    /// Remembers a token that is good for so long.
    func issued(accessToken: String, lifetime: Duration) {
        let now = now
        state.withLock { state in
            if state.accessTokens.count >= Self.mostAccessTokens {
                state.accessTokens = state.accessTokens.filter { $0.value > now }
            }
            state.accessTokens[accessToken] = now + lifetime.components.seconds * 1000
            state.books.accessTokens += 1
        }
    }

    /// What the token endpoint says about the life of its tokens.
    var accessTokenLife: AccessTokenLife {
        state.withLock { state in
            let usual = configuration.accessTokenLifetime
            return state.accessTokenLife
                ?? AccessTokenLife(expiresIn: JSON(usual.components.seconds), lifetime: usual)
        }
    }

    /// What Google thinks of the service account.
    var serviceAccountState: ServiceAccountState { state.withLock { $0.serviceAccountState } }

    /// Changes what the token endpoint says about the life of its tokens; nil is the usual.
    func setAccessTokenLife(_ life: AccessTokenLife?) { state.withLock { $0.accessTokenLife = life } }

    /// Changes what Google thinks of the service account.
    func setServiceAccountState(_ account: ServiceAccountState) {
        state.withLock { $0.serviceAccountState = account }
    }

    /// When the token ends; nil for one that was never given out, or was revoked.
    func expiry(ofAccessToken token: String) -> Int64? {
        state.withLock { $0.accessTokens[token] }
    }

    /// Makes every access token given out so far one that was never given out.
    func revokeAccessTokens() {
        state.withLock { $0.accessTokens.removeAll() }
    }

    // MARK: Looking and waiting

    /// A copy of the books.
    var books: SimulatorBooks {
        state.withLock { state in
            var books = state.books
            books.notifications = state.notifications.all
            books.requests = state.requests.all
            return books
        }
    }

    /// Notifications that the phone got.
    func deliveredCount(_ address: PhoneAddress) -> Int {
        state.withLock { $0.delivered[address] ?? 0 }
    }

    /// Pushes that reached for the phone, refused and unanswered ones too.
    func attemptedCount(_ address: PhoneAddress) -> Int {
        state.withLock { $0.attempted[address] ?? 0 }
    }

    /// Returns once the phone got (or was reached for) so many times.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    func wait(for address: PhoneAddress, count: Int, countsAttempts: Bool) async throws {
        let number = state.withLock { state in
            state.lastWatch += 1
            return state.lastWatch
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isDue = state.withLock { state in
                    let watch = Watch(
                        address: address, count: count, countsAttempts: countsAttempts, continuation: continuation)
                    if Self.isDue(watch, state) { return true }
                    state.watches[number] = watch
                    return false
                }
                if isDue { continuation.resume() }
                // A cancellation that came before the watch was there found nothing to cancel.
                if Task.isCancelled { cancelWatch(number) }
            }
        } onCancel: {
            cancelWatch(number)
        }
    }

    private func cancelWatch(_ number: Int) {
        let watch = state.withLock { $0.watches.removeValue(forKey: number) }
        watch?.continuation.resume(throwing: CancellationError())
    }

    private static func isDue(_ watch: Watch, _ state: State) -> Bool {
        let counts = watch.countsAttempts ? state.attempted : state.delivered
        return counts[watch.address] ?? 0 >= watch.count
    }

    private static func takeDue(
        _ state: inout State, for address: PhoneAddress
    ) -> [CheckedContinuation<Void, any Error>] {
        guard !state.watches.isEmpty else { return [] }
        let due = state.watches.filter { $0.value.address == address && isDue($0.value, state) }
        for number in due.keys { state.watches[number] = nil }
        return due.values.map(\.continuation)
    }
}
