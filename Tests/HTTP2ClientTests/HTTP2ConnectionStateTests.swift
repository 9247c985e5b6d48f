import Testing

@testable import HTTP2Client

@Suite(.timeLimit(.minutes(1)))
struct HTTP2ConnectionStateTests {
    private let start = Moment(nanoseconds: 1_000_000_000)

    private func open(
        _ configuration: HTTP2PoolConfiguration = HTTP2PoolConfiguration(), settings: UInt32? = 100
    ) -> HTTP2ConnectionState {
        var state = HTTP2ConnectionState(configuration, now: start)
        state.resolved(now: start)
        state.connected(now: start)
        state.opened(now: start, lot: 0)
        if let settings { state.settings(streamLimit: settings) }
        return state
    }

    private func configuration(_ change: (inout HTTP2PoolConfiguration) -> Void) -> HTTP2PoolConfiguration {
        var configuration = HTTP2PoolConfiguration()
        change(&configuration)
        return configuration
    }

    @Test func `each step of connecting has its own time`() {
        var state = HTTP2ConnectionState(HTTP2PoolConfiguration(), now: start)
        #expect(state.due(now: start + .milliseconds(4999)) == nil)
        #expect(state.due(now: start + .seconds(5)) == .giveUp(.nameTimeout))
        state.resolved(now: start + .seconds(4))
        #expect(state.due(now: start + .seconds(13)) == nil)
        #expect(state.due(now: start + .seconds(14)) == .giveUp(.connectTimeout))
        state.connected(now: start + .seconds(13))
        #expect(state.nextDeadline == start + .seconds(23))
        #expect(state.due(now: start + .seconds(23)) == .giveUp(.tlsTimeout))
        state.opened(now: start + .seconds(20), lot: 0)
        #expect(state.due(now: start + .seconds(29)) == nil)
        #expect(state.due(now: start + .seconds(30)) == .end(.dead))
        #expect(state.fault(.dead) == .settingsTimeout)
    }

    @Test func `before the first SETTINGS the configured number of streams counts`() {
        var state = open(configuration { $0.initialStreamLimit = 1 }, settings: nil)
        #expect(state.room == 1)
        #expect(state.sent(now: start) == false)
        #expect(state.room == 0)
        state.settings(streamLimit: 1000)
        #expect(state.room == 999)
    }

    @Test(arguments: [(UInt32(1), 1), (1000, 500), (4_294_967_295, 500), (0, 0)])
    func `the peer's limit counts within our own bound`(limit: UInt32, room: Int) {
        let state = open(configuration { $0.maximumStreamsPerConnection = 500 }, settings: limit)
        #expect(state.room == room)
    }

    @Test func `a limit lowered below what is open leaves no room until enough has closed`() {
        var state = open()
        for _ in 0..<3 { _ = state.sent(now: start) }
        state.settings(streamLimit: 2)
        #expect(state.room == 0)
        state.streamClosed(answered: true, now: start)
        #expect(state.room == 0)
        state.streamClosed(answered: true, now: start)
        #expect(state.room == 1)
    }

    @Test func `a request after a silence takes a PING with it, and no other follows before a sign of life`() {
        var state = open()
        #expect(state.sent(now: start + .milliseconds(9999)) == false)
        let later = start + .seconds(10)
        #expect(state.sent(now: later) == true)
        state.pinged(now: later)
        #expect(state.room == 0)
        #expect(state.due(now: later + .milliseconds(1999)) == nil)
        #expect(state.nextDeadline == later + .seconds(2))
        var dead = state
        #expect(dead.due(now: later + .seconds(2)) == .end(.dead))
        state.read(now: later + .seconds(1))
        #expect(state.room == 98)
        #expect(state.due(now: later + .seconds(2)) == nil)
    }

    /// The clock goes on while the machine is suspended; nothing was read meanwhile, whatever the peer has sent.
    /// Nor was it where nobody pushed for so long.
    @Test(arguments: [Duration.seconds(2 * 3600), .seconds(12 * 3600), .seconds(7 * 86_400)])
    func `a connection that slept for hours is trusted with one request, and given up when that is lost`(nap: Duration)
    {
        let awake = start + nap
        var state = open(configuration { $0.idlePingAfter = .seconds(3600) })
        // Beyond its greatest age another one is asked for as well.
        if nap > .seconds(86_400) { #expect(state.due(now: awake) == .askForReplacement) }
        #expect(state.due(now: awake) == .ping)
        state.pinged(now: awake)
        #expect(state.room == 0 && state.due(now: awake) == nil)
        #expect(state.due(now: awake + .seconds(2)) == .end(.dead))
        state = open(configuration { $0.maximumAge = .seconds(30 * 86_400) })
        #expect(state.due(now: awake) == nil)
        #expect(state.sent(now: awake) == true)
        state.pinged(now: awake)
        #expect(state.room == 0 && state.due(now: awake) == nil)
        #expect(state.due(now: awake + .seconds(2)) == .end(.dead))
        // One that waited for a sign of life when the machine stood still has not had it in all that time.
        state = open()
        state.pinged(now: start)
        #expect(state.due(now: awake) == .end(.dead))
    }

    @Test func `two time-outs without an answer between them end the use of a connection`() {
        var state = open()
        for _ in 0..<4 { _ = state.sent(now: start) }
        #expect(state.timedOut(submitted: start, now: start + .seconds(15)) == false)
        state.streamClosed(answered: true, now: start + .seconds(15))
        let later = start + .seconds(15)
        #expect(state.timedOut(submitted: later, now: later + .seconds(15)) == false)
        #expect(state.timedOut(submitted: later, now: later + .seconds(15)) == true)
    }

    @Test func `a time-out does not count while others are answered, until there have been many`() {
        var state = open(configuration { $0.maximumTimeouts = 4 })
        for _ in 0..<9 { _ = state.sent(now: start) }
        state.streamClosed(answered: true, now: start + .milliseconds(1))
        for _ in 0..<3 { #expect(state.timedOut(submitted: start, now: start + .seconds(15)) == false) }
        #expect(state.timedOut(submitted: start, now: start + .seconds(15)) == true)
    }

    @Test func `what was answered before a request went out says nothing about it`() {
        var state = open()
        for _ in 0..<3 { _ = state.sent(now: start) }
        let later = start + .seconds(1)
        state.streamClosed(answered: true, now: later)
        #expect(state.timedOut(submitted: later, now: later + .seconds(15)) == false)
        #expect(state.timedOut(submitted: later, now: later + .seconds(15)) == true)
    }

    // MARK: Silence

    struct Sign: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var happens: @Sendable (inout HTTP2ConnectionState, Moment) -> Void
        var isSilentAfterwards: Bool

        init(
            _ name: String, _ isSilent: Bool,
            _ happens: @escaping @Sendable (inout HTTP2ConnectionState, Moment) -> Void
        ) {
            testDescription = name
            isSilentAfterwards = isSilent
            self.happens = happens
        }
    }

    static let signs: [Sign] = [
        Sign("nothing", true) { _, _ in },
        Sign("a PING's answer, or any other bytes", true) { $0.read(now: $1) },
        Sign("SETTINGS", true) { state, _ in state.settings(streamLimit: 100) },
        Sign("another request", true) { _ = $0.sent(now: $1) },
        Sign("both are given up", true) { state, now in
            for _ in 0..<2 {
                _ = state.timedOut(submitted: Moment(nanoseconds: 1_000_000_000), now: now)
                state.streamClosed(answered: false, now: now)
            }
        },
        Sign("a part of an answer", false) { state, _ in state.heard() },
        Sign("it takes no more requests, and is none to be passed over", false) { $0.retire(.unresponsive, now: $1) },
    ]

    @Test(arguments: signs)
    func `a connection with requests under way is silent until something of an answer comes`(_ sign: Sign) {
        var state = open()
        #expect(state.silenceDue == nil && !state.isSilent(at: start + .seconds(1000)))
        _ = state.sent(now: start)
        _ = state.sent(now: start + .seconds(1))
        #expect(state.silenceDue == start + .milliseconds(2500))
        #expect(!state.isSilent(at: start + .milliseconds(2499)))
        #expect(state.isSilent(at: start + .milliseconds(2500)))
        sign.happens(&state, start + .seconds(4))
        #expect(state.isSilent(at: start + .seconds(4)) == sign.isSilentAfterwards)
        #expect(state.isSilent(at: start + .seconds(100)) == sign.isSilentAfterwards)
    }

    @Test func `one request that is never answered among others that are makes no silence`() {
        var state = open()
        _ = state.sent(now: start)
        for second in 1...60 {
            let now = start + .seconds(second)
            _ = state.sent(now: now)
            #expect(!state.isSilent(at: now))
            state.heard()
            state.streamClosed(answered: true, now: now)
        }
        #expect(state.inFlight == 1)
        #expect(!state.isSilent(at: start + .seconds(1000)))
    }

    @Test func `a request goes out when its body fits into what the window has left, or when nothing else is away`() {
        var state = open()
        #expect(state.takes(body: 100_000, window: 0))
        _ = state.sent(body: 4000, now: start)
        #expect(state.takes(body: 4000, window: 8000))
        #expect(!state.takes(body: 4001, window: 8000))
        #expect(state.takes(body: 0, window: 0))
        state.bodyLeft(3000)
        #expect(state.takes(body: 4000, window: 5000))
        #expect(!state.takes(body: 4001, window: 5000))
        state.bodyLeft(1000)
        state.streamClosed(answered: true, now: start)
        #expect(state.takes(body: 4001, window: 0))
    }

    @Test func `a connection is no older than its greatest age, and by lot up to a tenth younger`() {
        let day = Int64(24 * 60 * 60 * 1_000_000_000)
        for (lot, age) in [(0.0, day), (0.5, day / 100 * 95), (1.0, day / 10 * 9)] {
            var state = HTTP2ConnectionState(HTTP2PoolConfiguration(), now: start)
            state.resolved(now: start)
            state.connected(now: start)
            state.opened(now: start, lot: lot)
            state.settings(streamLimit: 100)
            #expect(state.due(now: start + (age - 1_000_000)) == nil)
            #expect(state.due(now: start + (age + 1_000_000)) == .askForReplacement)
        }
    }

    @Test func `a proxy has a time of its own, and what is late before it is the way to it`() {
        var state = HTTP2ConnectionState(HTTP2PoolConfiguration(), hasProxy: true, now: start)
        #expect(state.due(now: start + .seconds(5)) == .giveUp(.proxyUnreachable(.nameTimeout)))
        state.resolved(now: start)
        #expect(state.due(now: start + .seconds(10)) == .giveUp(.proxyUnreachable(.connectTimeout)))
        state.tunnelling(now: start + .seconds(1))
        #expect(state.isConnecting && state.fault(.lost) == nil)
        #expect(state.nextDeadline == start + .seconds(11))
        #expect(state.due(now: start + .seconds(11)) == .giveUp(.proxyTimeout))
        state.connected(now: start + .seconds(2))
        #expect(state.due(now: start + .seconds(12)) == .giveUp(.tlsTimeout))
    }

    @Test func `time-outs that came too soon to mean anything are not counted`() {
        var state = open()
        for _ in 0..<9 { #expect(state.timedOut(submitted: start, now: start + .milliseconds(999)) == false) }
    }

    @Test func `after a goodbye nothing more goes out, and the rest has its time`() {
        var state = open()
        _ = state.sent(now: start)
        state.goAway(lastStream: 2_147_483_647, now: start)
        state.goAway(lastStream: 1, now: start + .seconds(5))
        #expect(state.goAwayLastStream == 1)
        #expect(state.phase == .draining(.goAway))
        #expect(state.room == 0)
        #expect(state.nextDeadline == start + .seconds(10))
        #expect(state.due(now: start + .milliseconds(9999)) == nil)
        #expect(state.due(now: start + .seconds(10)) == .end(.drainExpired))
        state.streamClosed(answered: true, now: start)
        #expect(state.due(now: start) == nil)
        #expect(state.due(now: start + .seconds(10)) == .end(.finished))
    }

    @Test func `an idle connection goes, one in use stays`() {
        var state = open(configuration { $0.idleTimeout = .seconds(90) })
        _ = state.sent(now: start)
        #expect(state.due(now: start + .seconds(90)) == nil)
        state.streamClosed(answered: true, now: start + .seconds(100))
        #expect(state.nextDeadline == start + .seconds(190))
        #expect(state.due(now: start + .seconds(190)) == .retire(.idle))
        state.keepThoughIdle(now: start + .seconds(190))
        #expect(state.due(now: start + .seconds(190)) == nil)
    }

    @Test func `an idle connection is pinged at its interval`() {
        var state = open(configuration { $0.idlePingAfter = .seconds(3600) })
        #expect(state.nextDeadline == start + .seconds(3600))
        let first = start + .seconds(3600)
        #expect(state.due(now: first) == .ping)
        state.pinged(now: first)
        state.read(now: first)
        #expect(state.due(now: first) == nil)
        #expect(state.nextDeadline == first + .seconds(3600))
    }

    @Test func `an old connection asks for another one once, and goes on meanwhile`() {
        var state = open()
        let old = start + .seconds(24 * 60 * 60)
        #expect(state.due(now: old + Int64(-1)) == nil)
        #expect(state.due(now: old) == .askForReplacement)
        #expect(state.due(now: old) == nil)
        #expect(state.wantsReplacement)
        #expect(state.room == 100)
        #expect(state.nextDeadline > old)
    }

    @Test func `a connection asks for another one when it has carried enough streams`() {
        var state = open(configuration { $0.maximumStreamsEver = 2 })
        _ = state.sent(now: start)
        #expect(!state.isSpent)
        _ = state.sent(now: start)
        #expect(state.isSpent)
        #expect(state.due(now: start) == .askForReplacement)
        #expect(!state.isSpent)
    }

    @Test(arguments: [
        (HTTP2ConnectionEnd.lost, Unreachable?.some(.noAnswer)), (.dead, .settingsTimeout),
        (.protocolViolation, .notHTTP2), (.drainExpired, .noAnswer), (.closing, nil),
    ])
    func `an end before any SETTINGS says why the peer is of no use`(end: HTTP2ConnectionEnd, fault: Unreachable?) {
        #expect(open(settings: nil).fault(end) == fault)
    }

    @Test func `a peer that broke the protocol before any SETTINGS is found out though the connection takes no more`() {
        var broken = open(settings: nil)
        broken.retire(.broken, now: start)
        #expect(!broken.isUsable && !broken.isLeaving)
        #expect(broken.fault(.protocolViolation) == .notHTTP2)
        var replaced = open(settings: nil)
        replaced.retire(.replaced, now: start)
        #expect(replaced.isLeaving)
        #expect(replaced.fault(.finished) == nil)
    }

    @Test func `an end after an answer or by our own wish is no fault of the peer`() {
        var answered = open()
        _ = answered.sent(now: start)
        answered.streamClosed(answered: true, now: start)
        #expect(answered.fault(.lost) == nil)
        var retired = open()
        retired.retire(.idle, now: start)
        #expect(retired.fault(.finished) == nil)
        var gone = open()
        gone.goAway(lastStream: 0, now: start)
        #expect(gone.fault(.finished) == .noAnswer)
    }
}
