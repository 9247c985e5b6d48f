/// Asks the relay that runs on this machine how it is, for whoever starts and watches it: Docker's `HEALTHCHECK` and the
/// like. It needs neither a shell nor another program, and of the settings only those that say where the relay listens
/// have to be right.
enum HealthQuestion {
    /// What was asked for on the command line.
    struct Options: Equatable {
        /// Asks whether the relay is ready, on the operator's port, in place of whether it answers.
        var asksReadiness = false
        /// For all of it.
        var bound = Duration.seconds(2)
    }

    /// Exit status where the settings do not say where to ask.
    static let unreadableSettings: Int32 = 2

    /// Prints a line; returns the process's exit status: 0 for a relay that is well, 1 for one that is not.
    static func run(_ options: Options) -> Int32 {
        ProcessLimits.ignoreBrokenPipes()
        let listeners: ListenerSettings
        do throws(SettingsError) {
            listeners = try Settings.listenersOfProcess()
        } catch {
            StandardError.write(error.description)
            return unreadableSettings
        }
        guard let place = Place(listeners, options) else {
            StandardError.write(
                options.asksReadiness
                    ? "METRICS_PORT: not set, and only the operator's port says whether the relay is ready"
                    : "PORT: 0 lets the system choose, and nobody else knows what it chose")
            return unreadableSettings
        }
        let answer = LoopbackRequest.get(place.path, ofListener: place.host, port: place.port, within: options.bound)
        let (line, isWell) = verdict(answer, at: place, asksReadiness: options.asksReadiness)
        // The status is the answer, whether or not anybody can read the line.
        if isWell { _ = StandardOutputText.write(line) } else { StandardError.write(line) }
        return isWell ? 0 : 1
    }

    /// Where is asked for what.
    struct Place: Equatable {
        var host: String
        var port: Int
        var path: String

        /// Nil where the settings do not say.
        init?(_ listeners: ListenerSettings, _ options: Options) {
            if options.asksReadiness {
                guard let port = listeners.metricsPort else { return nil }
                (host, self.port, path) = (listeners.metricsHost, port, "/readyz")
            } else {
                guard listeners.port != 0 else { return nil }
                (host, port, path) = (listeners.host, listeners.port, "/healthz")
            }
        }
    }

    /// The line, and whether the relay is well.
    static func verdict(
        _ answer: Result<LoopbackRequest.Answer, LoopbackRequest.Fault>, at place: Place, asksReadiness: Bool
    ) -> (line: String, isWell: Bool) {
        let port = "port \(place.port)"
        switch answer {
        case .failure(let fault): return ("no relay answers on \(port): \(fault)", false)
        case .success(let answer):
            switch asksReadiness ? RelayAnswer(readiness: answer) : RelayAnswer(health: answer) {
            case .well(let version?): return ("the relay answers on \(port) (version \(version))", true)
            case .well(nil): return ("the relay is ready", true)
            case .unwell(let why): return ("the relay is not \(asksReadiness ? "ready" : "well"): \(why)", false)
            case .stranger(let status):
                return ("what answers on \(port) is no relay (status \(status))", false)
            }
        }
    }
}
