import Testing

@testable import HTTP2Client

@Suite(.timeLimit(.minutes(1)))
struct AddressRaceTests {
    private let start = Moment(nanoseconds: 1_000_000_000)

    private func address(_ number: UInt8, six: Bool) -> SocketAddress {
        SocketAddress(placeholder: number, isIPv6: six)
    }

    @Test func `the families take turns, the resolver's first one first`() {
        let race = AddressRace([
            address(1, six: true), address(2, six: true), address(3, six: true), address(4, six: false),
            address(5, six: false),
        ])
        #expect(race.addresses.map { $0.bytes[0] } == [1, 4, 2, 5, 3])
    }

    @Test func `addresses that were of no use lately come last, and are tried all the same`() {
        let all = [
            address(1, six: true), address(2, six: true), address(3, six: false), address(4, six: false),
        ]
        let race = AddressRace(all, behindOthers: [all[0], all[2]])
        #expect(race.addresses.map { $0.bytes[0] } == [2, 4, 1, 3])
        #expect(AddressRace(all, behindOthers: Set(all)).addresses.map { $0.bytes[0] } == [1, 3, 2, 4])
    }

    @Test func `the next address starts a quarter of a second later, beside the first`() {
        var race = AddressRace([address(1, six: true), address(2, six: false)])
        #expect(race.goOn(now: start) == .attempt(0))
        #expect(race.nextStart == start + .milliseconds(250))
        #expect(race.goOn(now: start + .milliseconds(250)) == .attempt(1))
        #expect(race.nextStart == nil)
        #expect(race.underWay == [0, 1])
    }

    @Test func `a failure starts the next address at once`() {
        var race = AddressRace([address(1, six: true), address(2, six: false)])
        #expect(race.goOn(now: start) == .attempt(0))
        #expect(race.failed(0, errno: 101, now: start) == .attempt(1))
        #expect(race.underWay == [1])
    }

    @Test func `the race is lost with the last address and not before`() {
        var race = AddressRace([address(1, six: true), address(2, six: false)])
        #expect(race.goOn(now: start) == .attempt(0))
        #expect(race.goOn(now: start + .milliseconds(250)) == .attempt(1))
        #expect(race.failed(1, errno: 111, now: start) == .wait)
        #expect(race.failed(0, errno: 101, now: start) == .lost(.connectFailed(errno: 101)))
    }
}
