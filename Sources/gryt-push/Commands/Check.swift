import EventLoops
import Glibc
import HTTP2Client
import PushModel
import Synchronization

/// Reads the settings as the relay would, looks at all that it needs, and tells line by line what is right and what is not,
/// for people at a terminal and for scripts. Nothing is changed and nothing is delivered to anybody; a relay may be running
/// meanwhile.
struct Check {
    /// What was asked for on the command line.
    struct Options: Equatable, Sendable {
        /// Asks nobody but this machine.
        var isOffline = false
        /// Prints JSON, a line for each finding.
        var asJSON = false
        /// Fails for warnings too.
        var isStrict = false
    }

    /// All that takes longer is told as not ended.
    static let bound = Duration.seconds(15)
    /// Exit status for a command line that is not understood.
    static let misunderstood: Int32 = 2

    private let options: Options
    private let board = Board()

    /// Checks and ends the process.
    static func run(_ options: Options) -> Never { Check(options: options).run() }

    private init(options: Options) { self.options = options }

    private func run() -> Never {
        ProcessLimits.forbidDumps()
        ProcessLimits.ignoreBrokenPipes()
        let reading: SettingsReading
        do throws(SettingsError) {
            reading = try Settings.readingOfProcess()
        } catch {
            finish(error.faults.map { Finding(.settings, about: $0.variable, .wrong($0.reason, Self.adviceOnDotEnv)) })
        }
        let loop: EventLoop
        do throws(EventLoopError) {
            loop = try EventLoop(name: "check")
            try loop.start()
        } catch {
            finish([Finding(.openFiles, .wrong("\(error)", "raise the limits of whoever starts the check"))])
        }
        Task { [board] in
            await Self.look(reading, board)
            if board.isComplete { finish(board.findings) }
        }
        Task(executorPreference: loop) { [board] in
            board.add(await upstream(reading, on: loop), of: .upstream)
            if board.isComplete { finish(board.findings) }
        }
        Task(executorPreference: loop) { [board] in
            await loop.sleep(for: Self.bound)
            finish(board.findings)
        }
        // Whichever of them is the last ends the process.
        while true { pause() }
    }

    private static let adviceOnDotEnv = "let the user that the relay runs as read it; the relay does not start without"

    /// On a thread of its own: a disk may take its time.
    @concurrent private static func look(_ reading: SettingsReading, _ board: Board) async {
        board.add(LocalExamination(reading: reading).findings(), of: .local)
    }

    private func upstream(_ reading: SettingsReading, on loop: EventLoop) async -> [Finding] {
        let plan = UpstreamPlan(reading, isOffline: options.isOffline)
        let trust: TLSTrust
        do throws(TrustError) {
            trust = try TLSTrust(additionalRootsFile: plan.isWayOutFaulty ? nil : plan.settings.upstreamCAFile)
        } catch {
            let name = SettingName.upstreamCAFile.rawValue
            return [
                Finding(.settings, about: name, .wrong("\(error)", "name a file of PEM certificates, or leave it out"))
            ]
                + UpstreamPlan.all(.skipped("\(name) cannot be used"))
        }
        guard plan.isAsked else { return plan.skipped }
        let examination = UpstreamExamination(settings: plan.settings, trust: trust, loop: loop, clocks: .system)
        return plan.skipped + (await examination.findings())
    }

    /// Prints and ends the process; once.
    private func finish(_ findings: [Finding]) -> Never {
        board.claimEnd()
        let report = CheckReport(findings)
        let isPrinted = StandardOutputText.write(
            options.asJSON ? report.json : Self.introduction(options) + report.text)
        // Not exit(): the loop's thread still runs.
        _exit(isPrinted ? report.status(isStrict: options.isStrict) : StandardOutputText.lost)
    }

    private static func introduction(_ options: Options) -> String {
        options.isOffline
            ? "Nobody but this machine is asked.\n\n"
            : "Nothing is delivered to anybody: Apple and Google are asked about a phone that does not exist.\n\n"
    }
}

/// What has been found so far, by those who look at the same time.
private final class Board: Sendable {
    enum Part: CaseIterable { case local, upstream }

    private let parts = Mutex<[Part: [Finding]]>([:])
    private let hasEnded = Atomic<Bool>(false)

    func add(_ findings: [Finding], of part: Part) { parts.withLock { $0[part] = findings } }

    /// What each part has found, and of one that has not ended, that.
    var findings: [Finding] {
        parts.withLock { parts in Part.allCases.flatMap { parts[$0] ?? Self.missing($0) } }
    }

    var isComplete: Bool { parts.withLock { $0.count == Part.allCases.count } }

    private static func missing(_ part: Part) -> [Finding] {
        let bound = Check.bound.components.seconds
        return switch part {
        case .local:
            [
                Finding(
                    .dataDirectory,
                    .wrong("the disk did not answer within \(bound) s", "look into the system's log (docs/disk.md)"))
            ]
        case .upstream:
            UpstreamPlan.all(
                .wrong("no answer within \(bound) s", "check again; if it stays so, see what lies in between"))
        }
    }

    /// Whoever comes second waits for the first to end the process.
    func claimEnd() {
        guard hasEnded.exchange(true, ordering: .acquiringAndReleasing) else { return }
        while true { pause() }
    }
}
