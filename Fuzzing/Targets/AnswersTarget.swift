import PushModel
import PushServices
import PushSimulator

@testable import HTTP2Client

/// What Apple, Google and a proxy may answer. Above all: which of it may end a registration, said independently of the tables that
/// decide it (docs/decisions/bare-404-from-fcm.md). The simulator's reader of JSON is the other opinion.
enum AnswersTarget {
    private static let now = WallInstant(milliseconds: 1_700_000_000_000)

    static func take(_ bytes: [UInt8]) {
        var input = Input(bytes)
        let which = input.byte()
        let status = input.word() % 1000
        let field = input.byte() % 2 == 0 ? nil : input.line().text
        let body = input.rest()
        switch which % 4 {
        case 0: checkAPNs(status, field, body)
        case 1: checkFCM(status, field, body)
        case 2: checkOAuth(status, body)
        default: checkProxy(body)
        }
    }

    private static func checkAPNs(_ status: Int, _ field: String?, _ body: [UInt8]) {
        let answer = APNsAnswer(status: status, body: body, retryAfter: field, at: now)
        checkCommon(answer, status)
        let reasons = all("reason", in: [JSON(body)]).compactMap { $0.string?.filter { $0 != " " } }
        let says = { (words: [String]) in
            !Set(reasons).isDisjoint(with: words) || isUnreadable(body, naming: "reason", oneOf: words)
        }
        switch answer.outcome {
        case .unregistered(.stated(let since)):
            expect(
                status == 410 || says(["Unregistered", "ExpiredToken"]),
                "Apple says in so many words that a token is finished")
            if let since { expect(since.milliseconds >= 1_000_000_000_000, "a moment is in milliseconds") }
        case .unregistered(.inferred):
            expect(says(["BadDeviceToken", "DeviceTokenNotForTopic"]), "Apple refuses this token by its name")
        case .accepted, .rejected, .deferred, .failed: break
        }
    }

    private static func checkFCM(_ status: Int, _ field: String?, _ body: [UInt8]) {
        let answer = FCMAnswer(status: status, body: body, retryAfter: field, at: now)
        checkCommon(answer, status)
        guard case .unregistered(let evidence) = answer.outcome else { return }
        let errors = all("error", in: [JSON(body)])
        let details = all("details", in: errors).flatMap(entries)
        switch evidence {
        case .stated:
            expect(status == 400 || status == 404, "a token ends by 400 and 404 alone")
            let codes = all("errorCode", in: details) + all("error_code", in: details)
            expect(
                codes.contains { $0.string == "UNREGISTERED" }
                    || isUnreadable(body, naming: "details", oneOf: ["UNREGISTERED"]),
                "Google says in so many words that a token is finished")
        case .inferred:
            expect(status == 400, "a token is found to be none by 400 alone")
            let fields = all("field", in: all("fieldViolations", in: details).flatMap(entries)).compactMap(\.string)
            let isNamed = fields.contains("message.token") || fields.contains("message.fid")
            let isTold = all("message", in: errors).contains {
                $0.string?.lowercased().contains("registration token") == true
            }
            let words = ["message.token", "message.fid", "registration token"]
            expect(
                isNamed || isTold || isUnreadable(body, naming: "error", oneOf: words),
                "Google speaks of the registration token")
        }
    }

    /// The values of every member of that name: which one counts of two is left open by RFC 8259.
    private static func all(_ name: String, in values: [JSON?]) -> [JSON] {
        values.flatMap { ($0?.members ?? []).filter { $0.name == name }.map(\.value) }
    }

    private static func entries(_ json: JSON) -> [JSON] {
        if case .array(let entries) = json { entries } else { [] }
    }

    /// The relay's reader of answers is laxer than the other one, about strings that it passes over for example. Then at
    /// least the words must be there.
    private static func isUnreadable(_ body: [UInt8], naming member: String, oneOf words: [String]) -> Bool {
        guard JSON(body) == nil else { return false }
        let text = body.text.lowercased().replacing(" ", with: "")
        return text.contains(member)
            && words.contains { text.contains($0.lowercased().replacing(" ", with: "")) }
    }

    private static func checkOAuth(_ status: Int, _ body: [UInt8]) {
        guard case .success(let grant) = OAuthExchange.interpret(status: status, body: body) else { return }
        expect(status == 200, "a token comes by 200 alone")
        expect(
            all("access_token", in: [JSON(body)]).contains { $0.string != nil }
                || isUnreadable(body, naming: "access_token", oneOf: ["\""]), "a token is the body's own")
        expect(grant.lifetime > .zero && grant.lifetime <= .seconds(86_400), "a lifetime is within its bounds")
        expect("\(grant.token)".utf8.count < 40, "a token does not print")
    }

    /// The answer to a `CONNECT`: where it is cut changes nothing, and a tunnel stands by a 2xx alone.
    private static func checkProxy(_ bytes: [UInt8]) {
        var whole = ProxyAnswer()
        let (taken, verdict) = whole.take(bytes)
        var single = ProxyAnswer()
        var count = 0
        var last = ProxyAnswer.Verdict.wantsMore
        while last == .wantsMore, count < bytes.count {
            let step = single.take(CollectionOfOne(bytes[count]))
            expect(step.taken == 1, "a byte is taken")
            (count, last) = (count + 1, step.verdict)
        }
        expect(count == taken && last == verdict, "single bytes change nothing")
        expect(taken <= ProxyAnswer.longestHead + 1, "no more is read than a head may be")
        guard verdict == .opened else { return }
        let lines = bytes.prefix(taken).split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { $0.last == 0x0D ? $0.dropLast() : $0 }
        expect(lines.count >= 3 && lines.suffix(2).allSatisfy(\.isEmpty), "a tunnel begins behind an empty line")
        // The last head's first line: that behind the last empty one but for the end.
        let head = lines.dropLast(2).split(whereSeparator: \.isEmpty).last ?? []
        let status = (head.first.map(Array.init) ?? []).text
        expect(status.hasPrefix("HTTP/1.") && status.dropFirst(8).hasPrefix(" 2"), "a tunnel stands by a 2xx")
    }

    private static func checkCommon(_ answer: some ServiceAnswer, _ status: Int) {
        if case .accepted = answer.outcome { expect(status == 200, "a push is accepted by 200 alone") }
        if case .deferred(_, let wait) = answer.outcome {
            expect(wait >= .zero && wait <= RetryAfter.longest, "a wait is within its bounds")
        }
        expect(answer.label.utf8.allSatisfy { $0 == 0x5F || (0x61...0x7A).contains($0) }, "a label is a word of ours")
        expect(status != 200 || answer.retry == .never, "what was accepted is not sent again")
        _ = (answer.alarm, answer.reason, answer.evidence)
    }
}
