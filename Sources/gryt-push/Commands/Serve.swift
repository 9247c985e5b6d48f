import EventLoops
import Glibc
import HTTPServer
import PushModel
import Telemetry

/// The program's main job: serves until it is told to stop.
enum Serve {
    /// Exit status for settings that cannot be right, after `sysexits.h`.
    static let badConfiguration: Int32 = 78
    /// Exit status for anything else that kept the program from starting.
    static let cannotStart: Int32 = 1

    /// Serves; returns the process's exit status.
    static func run() -> Int32 {
        ProcessLimits.forbidDumps()
        ProcessLimits.ignoreBrokenPipes()
        ProcessLimits.ignoreFileSizeLimits()
        // Before any thread starts, for each inherits it.
        ProcessSignal.block()

        let clocks = Clocks.system
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
        for warning in settings.warnings {
            log.write(
                .warning, "setting", LogField("name", .disclosed(warning.variable)),
                LogField("detail", .disclosed(warning.reason)))
        }
        let conductor: Conductor
        do throws(StartFault) {
            conductor = try Assembly(settings: settings, log: log, clocks: clocks).build()
        } catch {
            log.write(.error, "not_started", LogField("detail", .disclosed(error.description)))
            StandardError.write(error.description)
            return cannotStart
        }
        // From here on everything happens on the loops; this thread waits for signals.
        Task { await start(conductor, settings, log) }
        while true {
            switch ProcessSignal.next() {
            case .terminate, .interrupt: Task { await stop(conductor, log) }
            case .hangUp: log.write(.warning, "signal_ignored", LogField("signal", "SIGHUP"))
            }
        }
    }

    private static func start(_ conductor: Conductor, _ settings: Settings, _ log: Log) async {
        await conductor.start()
        log.write(.info, "listening", LogField("host", .disclosed(settings.host)), LogField("port", conductor.port))
        if let port = conductor.metricsPort {
            log.write(
                .info, "operator_listening", LogField("host", .disclosed(settings.metricsHost)), LogField("port", port))
        }
    }

    private static func stop(_ conductor: Conductor, _ log: Log) async {
        log.write(.info, "draining")
        switch await conductor.drain() {
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
