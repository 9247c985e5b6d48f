import PushServices

/// One line of `gryt-push check`: what was looked at, what was seen, and what to do about it.
struct Finding: Sendable, Equatable {
    /// What was looked at.
    let subject: Subject
    /// Which of several: a setting, or a host and port; nil where there is only one.
    let about: String?
    /// What is to be said of it.
    let judgement: Judgement

    /// `about` says which of several the finding is of.
    init(_ subject: Subject, about: String? = nil, _ judgement: Judgement) {
        self.subject = subject
        self.about = about
        self.judgement = judgement
    }

    /// What is looked at, in the order in which it is told. Raw values stand in the output, for people and for programs.
    enum Subject: String, CaseIterable, Sendable {
        /// All settings: whether they can be right.
        case settings
        /// Apple's key and the names that belong to it.
        case apnsKey = "apns_key"
        /// Google's service account.
        case fcmAccount = "fcm_account"
        /// Who may read the files that hold keys.
        case fileMode = "file_mode"
        /// `DATA_DIR`.
        case dataDirectory = "data_dir"
        /// The room on its disk.
        case diskSpace = "disk_space"
        /// `push.db`.
        case database
        /// The relay's own secret.
        case secret
        /// The limit of open files against `MAX_CONNECTIONS`.
        case openFiles = "open_files"
        /// The public port.
        case port
        /// The operator's port.
        case operatorPort = "operator_port"
        /// The connections to APNs, to its sandbox, to Google's token endpoint and to FCM.
        case apnsConnection = "apns_connection"
        case apnsSandboxConnection = "apns_sandbox_connection"
        case oauthConnection = "oauth_connection"
        case fcmConnection = "fcm_connection"
        /// Whether they take the credentials.
        case apns
        case apnsSandbox = "apns_sandbox"
        case oauth
        case fcm
        /// This machine's clock against theirs.
        case clock
    }
}

/// What is to be said of one thing that was looked at.
struct Judgement: Sendable, Equatable {
    /// How good it is.
    enum Verdict: String, Sendable {
        case ok
        /// Something that may become a fault, or that could not be found out.
        case warning
        /// The relay will not do its work, or not all of it, until somebody acts.
        case wrong
        /// It was not looked at.
        case skipped
    }

    let verdict: Verdict
    /// What was seen. It holds no secret.
    let seen: String
    /// What to do; always there where something is wrong.
    let advice: String?

    /// It is right.
    static func ok(_ seen: String) -> Judgement { Judgement(verdict: .ok, seen: seen, advice: nil) }

    /// It was not looked at, and why.
    static func skipped(_ why: String) -> Judgement { Judgement(verdict: .skipped, seen: why, advice: nil) }

    /// The relay works, and somebody should look at it.
    static func warning(_ seen: String, _ advice: String) -> Judgement {
        Judgement(verdict: .warning, seen: seen, advice: advice)
    }

    /// The relay, or a part of it, would not work.
    static func wrong(_ seen: String, _ advice: String) -> Judgement {
        Judgement(verdict: .wrong, seen: seen, advice: advice)
    }
}

/// All findings, as they are printed.
struct CheckReport: Sendable {
    /// In the order of the subjects.
    let findings: [Finding]

    /// Puts them into the order of the subjects.
    init(_ findings: [Finding]) {
        self.findings = Finding.Subject.allCases.flatMap { subject in findings.filter { $0.subject == subject } }
    }

    /// 0 when nothing is wrong; with `isStrict`, only when there is no warning either.
    func status(isStrict: Bool) -> Int32 {
        let isRight = findings.allSatisfy { finding in
            switch finding.judgement.verdict {
            case .ok, .skipped: true
            case .warning: !isStrict
            case .wrong: false
            }
        }
        return isRight ? 0 : 1
    }

    /// For a terminal: a line for each, and one more with what to do.
    var text: String {
        let width = Finding.Subject.allCases.map(\.rawValue.utf8.count).max() ?? 0
        var lines = findings.flatMap { finding -> [String] in
            let judgement = finding.judgement
            let about = finding.about.map { "\($0): " } ?? ""
            let line =
                "\(padded(judgement.verdict.rawValue, 7))  \(padded(finding.subject.rawValue, width))  "
                + about + judgement.seen
            return [line] + (judgement.advice.map { ["         -> \($0)"] } ?? [])
        }
        let verdicts: [Judgement.Verdict] = [.wrong, .warning, .ok, .skipped]
        let counts = verdicts.map { verdict in
            "\(findings.count { $0.judgement.verdict == verdict }) \(verdict.rawValue)"
        }
        lines += ["", counts.joined(separator: ", ")]
        return lines.joined(separator: "\n")
    }

    /// For programs: an object of JSON a line, with `check`, `verdict`, `seen`, and where there is one `about` and `advice`.
    var json: String {
        findings.map { finding in
            var line = Array(#"{"check":"\#(finding.subject.rawValue)","#.utf8)
            line.appendPlain(#""verdict":"\#(finding.judgement.verdict.rawValue)""#)
            let members = [
                ("about", finding.about), ("seen", finding.judgement.seen), ("advice", finding.judgement.advice),
            ]
            for case (let name, let value?) in members {
                line.appendPlain(#","\#(name)":"#)
                line.appendJSONString(value)
            }
            line.appendPlain("}")
            return String(decoding: line, as: UTF8.self)
        }.joined(separator: "\n")
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }
}
