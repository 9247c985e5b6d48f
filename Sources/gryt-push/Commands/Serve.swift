import EventLoops
import Glibc
import HTTPServer
import PushModel
import Telemetry

/// The program's main job: serves until it is told to stop.
struct Serve {
    /// Exit status for settings that cannot be right, after `sysexits.h`.
    static let badConfiguration: Int32 = 78
    /// Exit status for anything else that kept the program from starting.
    static let cannotStart: Int32 = 1

    private let conductor: Conductor
    private let manager: ServiceManager
    private let log: Log

    /// Serves; returns the process's exit status.
    static func run() -> Int32 {
        ProcessLimits.forbidDumps()
        ProcessLimits.ignoreBrokenPipes()
        ProcessLimits.ignoreFileSizeLimits()
        // Before any thread starts, for each inherits it.
        ProcessSignal.block()

        let clocks = Clocks.system
        let manager = ServiceManager.ofProcess()
        let settings: Settings
        do throws(SettingsError) {
            settings = try Settings.ofProcess()
        } catch {
            StandardError.write(error.description)
            return badConfiguration
        }
        let wall = { @Sendable in clocks.wall().milliseconds }
        let log = Log(
            level: settings.logLevel, format: settings.logFormat,
            to: DescriptorSink(descriptor: STDOUT_FILENO, format: settings.logFormat, wall: wall),
            wall: wall, monotonic: { clocks.monotonic().nanoseconds })
        let openFiles = ProcessLimits.raiseOpenFiles()
        log.write(.info, "starting", settings.summaryFields + [LogField("open_files", openFiles)])
        OperatorReport(log: log).warned(settings.warnings)
        do throws(StartFault) {
            let conductor = try Assembly(
                settings: settings, openFiles: openFiles, manager: manager, log: log, clocks: clocks
            ).build()
            Serve(conductor: conductor, manager: manager, log: log).run(settings.marks)
        } catch {
            log.write(.error, "not_started", LogField("detail", .disclosed(error.description)))
            StandardError.write(error.description)
            return cannotStart
        }
    }

    /// From here on everything happens on the loops; this thread waits for signals, and reads files at a reload.
    private func run(_ marks: SettingMarks) -> Never {
        // Told to stop while it was put together, it does not begin, nor take anybody's place.
        if !ProcessSignal.isStopPending { Task { await start() } }
        var marks = marks
        var reloading: Task<Void, Never>?
        while true {
            switch ProcessSignal.next() {
            case .terminate, .interrupt: Task { await stop(for: .asked) }
            case .hangUp:
                manager.tell(.reloading(.now))
                let before = reloading
                let change = SettingsChange.read(since: marks)
                if case .success(let change) = change { marks = change.marks(after: marks) }
                // One after the other, in the order of the signals.
                reloading = Task {
                    await before?.value
                    await reload(change)
                }
            }
        }
    }

    private func start() async {
        let serves = await conductor.start { process in
            manager.tell(.replaced(by: process))
            Task { await stop(for: .succeeded) }
        }
        // Told to stop before it had begun.
        guard serves else { return }
        log.write(.info, "listening", LogField("host", .disclosed(conductor.host)), LogField("port", conductor.port))
        if let (host, port) = conductor.operatorAddress {
            log.write(.info, "operator_listening", LogField("host", .disclosed(host)), LogField("port", port))
        }
        manager.tell(.ready)
    }

    private func reload(_ change: Result<SettingsChange, SettingsError>) async {
        let report = OperatorReport(log: log)
        switch change {
        case .success(let change):
            await conductor.reload(change)
            report.warned(change.settings.warnings)
            report.reloaded(change)
        case .failure(let error):
            await conductor.refusedReload()
            report.reloadRefused(error)
        }
        manager.tell(.ready)
    }

    private func stop(for cause: Conductor.Cause) async {
        if case .asked = cause { manager.tell(.stopping) }
        log.write(.info, "draining")
        switch await conductor.drain(for: cause) {
        case .hurried:
            log.write(.info, "hurrying")
        case .finished(let cutShort):
            log.writeHeldBack(all: true)
            log.write(.info, "stopped", LogField("cut_short", cutShort))
            // Not exit(): the loops' threads still run, and what it would tear down they may be using.
            _exit(0)
        }
    }
}
