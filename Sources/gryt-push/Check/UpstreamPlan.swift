/// Who is asked and who is not, and why not.
struct UpstreamPlan {
    /// With those platforms only that are asked about.
    let settings: Settings
    /// What is not asked, and why.
    let skipped: [Finding]
    /// Whether a setting that concerns every way out cannot be right.
    let isWayOutFaulty: Bool

    private static let apples: [Finding.Subject] = [.apnsConnection, .apnsSandboxConnection, .apns, .apnsSandbox]
    private static let googles: [Finding.Subject] = [.oauthConnection, .fcmConnection, .oauth, .fcm]

    /// The same of everything that there is to ask.
    static func all(_ judgement: Judgement) -> [Finding] {
        (apples + googles + [.clock]).map { Finding($0, judgement) }
    }

    /// Decides what is asked: nothing offline, and of a platform nothing whose settings have a fault.
    init(_ reading: SettingsReading, isOffline: Bool) {
        let examination = SettingsExamination(reading: reading)
        var settings = reading.settings
        isWayOutFaulty = examination.isWayOutFaulty
        guard !isOffline, !isWayOutFaulty else {
            settings.apns = nil
            settings.fcm = nil
            self.settings = settings
            skipped = Self.all(.skipped(isOffline ? "--offline" : "the way out is not known: see settings, above"))
            return
        }
        // An origin that cannot be right has its default, which is not who was meant.
        let areApplesFaulty = examination.isFaulty("APNS_")
        let areGooglesFaulty = examination.isFaulty("FCM_")
        if areApplesFaulty { settings.apns = nil }
        if areGooglesFaulty { settings.fcm = nil }
        self.settings = settings
        var skipped: [Finding] = []
        for (subjects, isSet, isFaulty) in [
            (Self.apples, settings.apns != nil, areApplesFaulty), (Self.googles, settings.fcm != nil, areGooglesFaulty),
        ] where !isSet {
            let why = isFaulty ? "see settings, above" : "no credentials are set"
            skipped += subjects.map { Finding($0, .skipped(why)) }
        }
        if settings.apns == nil, settings.fcm == nil { skipped.append(Finding(.clock, .skipped("nobody is asked"))) }
        self.skipped = skipped
    }

    /// Whether anybody is asked.
    var isAsked: Bool { settings.apns != nil || settings.fcm != nil }
}
