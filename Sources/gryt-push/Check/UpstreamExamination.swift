import EventLoops
import HTTP2Client
import PushModel
import PushServices
import Telemetry

/// Asks Apple and Google whether they would take pushes from this relay, all at once, and by nothing that could be
/// delivered: APNs is given a token that no phone has, and FCM is told to look at the message only (`validate_only`).
///
/// Runs on its loop.
struct UpstreamExamination: Sendable {
    /// Whom to ask, and as whom.
    let settings: Settings
    /// Whose certificates are believed.
    let trust: TLSTrust
    /// Where it runs.
    let loop: EventLoop
    /// The time.
    let clocks: Clocks

    /// A token that no phone has, of the form that each platform's have.
    private static let nobody = String(repeating: "0", count: 64)

    /// What one platform's examination gives: its lines, and what the answers said of the time.
    private typealias Part = (findings: [Finding], dates: [ClockJudgement.Reading])

    /// A host that is asked, and the two lines about it.
    private struct Target {
        let place: HTTPSOrigin
        /// What names the place.
        let setting: String
        /// The line about the connection.
        let connection: Finding.Subject
        /// The line about the answer.
        let answer: Finding.Subject
    }

    /// Everything there is to say about the platforms that have credentials.
    func findings() async -> [Finding] {
        async let ios = askApple()
        async let android = askGoogle()
        let parts = await [ios, android]
        let clock = ClockJudgement.judge(parts.flatMap(\.dates))
        return parts.flatMap(\.findings) + [Finding(.clock, clock)]
    }

    // MARK: Apple

    private func askApple() async -> Part {
        guard let apns = settings.apns else { return ([], []) }
        // One for both environments, for Apple counts how often tokens change.
        let token = ProviderTokenSource(key: apns.key, keyID: apns.keyID, teamID: apns.teamID, clocks: clocks)
            .current()
        async let production = apple(apns, .production, token)
        async let sandbox = apple(apns, .sandbox, token)
        let parts = await [production, sandbox]
        return (parts.flatMap(\.findings), parts.flatMap(\.dates))
    }

    private func apple(
        _ apns: APNsSettings, _ environment: APNsJudgement.Environment, _ token: ProviderToken
    ) async -> Part {
        let target =
            switch environment {
            case .production:
                Target(
                    place: apns.productionOrigin, setting: SettingName.apnsProductionOrigin.rawValue,
                    connection: .apnsConnection, answer: .apns)
            case .sandbox:
                Target(
                    place: apns.sandboxOrigin, setting: SettingName.apnsSandboxOrigin.rawValue,
                    connection: .apnsSandboxConnection, answer: .apnsSandbox)
            }
        let trial = trial(target, .apns)
        let judge = APNsJudgement(
            environment: environment, keyID: apns.keyID, teamID: apns.teamID, topic: apns.topic)
        let notification = Self.notification()
        let outcome = await trial.ask(
            APNsRequest.compose(
                payload: APNsPayload.compose(notification), id: notification.id.description, topic: apns.topic,
                to: DeviceToken(unchecked: Self.nobody, for: .ios), as: token))
        let part = tell(outcome, of: trial, target) { response in
            let word = APNsErrorBody.reason(in: response.body)
            return judge.judge(
                APNsAnswer(status: response.status, body: response.body, at: clocks.wall()), word: Self.shown(word))
        }
        await trial.close()
        return part
    }

    // MARK: Google

    private func askGoogle() async -> Part {
        guard let fcm = settings.fcm else { return ([], []) }
        let account = fcm.account
        let judge = GoogleJudgement(projectID: account.projectID)
        let endpoint = Target(
            place: account.tokenURI.origin, setting: "token_uri", connection: .oauthConnection, answer: .oauth)
        let service = Target(
            place: fcm.origin, setting: SettingName.fcmOrigin.rawValue, connection: .fcmConnection, answer: .fcm)
        let tokens = trial(endpoint, .oauth)
        let messages = trial(service, .fcm)
        // So that FCM is reached for, whatever becomes of the account: nothing is at this address.
        async let reached = messages.ask(HTTP2Request(method: "GET", path: "/"))
        let asked = await tokens.ask(
            OAuthExchange.request(for: account.account, path: account.tokenURI.path, at: clocks.wall()))
        var granted: AccessToken?
        var part = tell(asked, of: tokens, endpoint) { response in
            let result = OAuthExchange.interpret(status: response.status, body: response.body)
            granted = try? result.get().token
            return judge.judge(
                result.map { _ in }, status: response.status, reason: OAuthRefusalReason(response.body))
        }
        let sent = await send(granted, after: await reached, by: messages, service, judge)
        part.findings += sent.findings
        part.dates += sent.dates
        await messages.close()
        await tokens.close()
        return part
    }

    private func send(
        _ token: AccessToken?, after reached: UpstreamTrial.Outcome, by trial: UpstreamTrial,
        _ target: Target, _ judge: GoogleJudgement
    ) async -> Part {
        guard case .answered = reached, let token else {
            return tell(reached, of: trial, target) { _ in
                .skipped("without an access token FCM cannot be asked (see oauth)")
            }
        }
        let device = Device(
            token: DeviceToken(unchecked: Self.nobody, for: .android), environment: .production, opensPreviews: false,
            registeredAt: clocks.wall())
        let outcome = await trial.ask(
            FCMRequest.compose(
                FCMMessage.compose(Self.notification(), to: device, validateOnly: true), projectID: judge.projectID,
                as: token))
        return tell(outcome, of: trial, target) { response in
            judge.judge(
                FCMAnswer(status: response.status, body: response.body, at: clocks.wall()), status: response.status,
                info: FCMErrorBody(response.body)?.infoReason)
        }
    }

    // MARK: Both

    private func trial(_ target: Target, _ configuration: HTTP2PoolConfiguration) -> UpstreamTrial {
        let origin = target.place.origin
        return UpstreamTrial(
            on: loop, origin: origin, proxy: settings.forwardProxy?.proxy(towards: origin), trust: trust,
            configuration: configuration, clocks: clocks)
    }

    private func tell(
        _ outcome: UpstreamTrial.Outcome, of trial: UpstreamTrial, _ target: Target,
        _ judge: (HTTP2Response) -> Judgement
    ) -> Part {
        let origin = target.place.origin
        let proxy = settings.forwardProxy.flatMap { $0.proxy(towards: origin) == nil ? nil : $0.authority }
        let way = ConnectionJudgement.Way(proxy: proxy, setting: target.setting)
        let about = "\(target.place.host):\(target.place.port)"
        let standing = Finding(target.connection, about: about, ConnectionJudgement.standing(way))
        switch outcome {
        case .answered(let response, let date):
            return ([standing, Finding(target.answer, judge(response))], date.map { [$0] } ?? [])
        case .failed(let failure):
            if let reason = trial.unreachable(failure) {
                return (
                    [
                        Finding(target.connection, about: about, ConnectionJudgement.judge(reason, way)),
                        Finding(target.answer, .skipped("there is no connection to ask over")),
                    ], []
                )
            }
            let goodbye = Self.shown(trial.goodbye.map { Array($0.utf8) }.flatMap { APNsErrorBody.reason(in: $0) })
            let said = goodbye.map { ", which said \($0)" } ?? ""
            return (
                [
                    standing,
                    Finding(
                        target.answer,
                        .wrong(
                            "no answer: \(failure)\(said)",
                            "check again; if it stays so, see what lies in between, and whether the service is well")),
                ], []
            )
        }
    }

    /// What would be shown if anybody got it.
    private static func notification() -> PushNotification {
        PushNotification(
            kind: .message, tag: CapabilityTag(firstBytesOfHash: 0), preview: nil, id: PushIDSource().next())
    }

    /// A service's own word for a reason; nil for what is no word, since a terminal obeys control characters.
    private static func shown(_ word: String?) -> String? {
        word.flatMap { word in
            (1...64).contains(word.utf8.count) && word.utf8.allSatisfy(\.isLetterOrDigit) ? word : nil
        }
    }
}
