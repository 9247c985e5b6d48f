import DeviceStore
import PushModel
import Testing

@Suite(.timeLimit(.minutes(1)))
struct CountsTests {
    @Test func `daily counts stand by day, event, platform and kind, as the alphabet has them`() {
        let day = UTCDay(number: 20_000)
        let inOrder = [
            DailyCount(day: UTCDay(number: 19_999), event: .sent, platform: .ios, kind: .message),
            DailyCount(day: day, event: .failed, platform: .android),
            DailyCount(day: day, event: .failed, platform: .ios),
            DailyCount(day: day, event: .gone, platform: .android),
            DailyCount(day: day, event: .registered, platform: .ios),
            DailyCount(day: day, event: .sent, platform: .android),
            DailyCount(day: day, event: .sent, platform: .android, kind: .dm),
            DailyCount(day: day, event: .sent, platform: .android, kind: .mention),
            DailyCount(day: day, event: .sent, platform: .android, kind: .message),
            DailyCount(day: day, event: .sent, platform: .ios, kind: .dm),
        ]
        #expect(inOrder.reversed().sorted() == inOrder)
    }

    private static let errors: [StoreError] = [
        .full, .readOnly, .busy, .overloaded, .replaced, .corrupt, .sealBroken, .closed, .failed(code: 1),
    ]

    @Test func `every error has a label and a line of its own`() {
        #expect(Set(Self.errors.map(\.label)).count == Self.errors.count)
        #expect(Set(Self.errors.map(\.operatorLine)).count == Self.errors.count)
        #expect(Self.errors.filter(\.isTransient) == [.busy, .overloaded, .replaced])
        #expect(
            Self.errors.filter(\.needsOperator) == [
                .full, .readOnly, .replaced, .corrupt, .sealBroken, .failed(code: 1),
            ])
    }
}
