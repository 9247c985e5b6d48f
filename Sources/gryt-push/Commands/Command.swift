import RelayAPI

/// What the program was asked to do on its command line.
enum Command: Equatable {
    case serve
    case check(Check.Options)
    case health(HealthQuestion.Options)
    case stats(days: Int, asJSON: Bool)
    case showVersion
    case showHelp
    /// With the exit status that says so.
    case misunderstood(String, status: Int32)

    /// Exit status for a command line that is not understood, after `sysexits.h`.
    private static let badUsage: Int32 = 64

    /// Reads the arguments after the program's name.
    init(_ arguments: [String]) {
        let rest = arguments.dropFirst()
        switch arguments.first {
        case nil: self = .serve
        case "serve": self = Self.alone(.serve, rest)
        case "check": self = Self.check(rest)
        case "health": self = Self.health(rest)
        case "stats": self = Self.stats(rest)
        case "--version", "version": self = Self.alone(.showVersion, rest)
        case "--help", "-h", "help": self = Self.alone(.showHelp, rest)
        case let other?: self = .misunderstood(other, status: Self.badUsage)
        }
    }

    /// A command that has no options of its own.
    private static func alone(_ command: Command, _ arguments: ArraySlice<String>) -> Command {
        switch arguments.first {
        case nil: command
        case "--help", "-h": .showHelp
        case let other?: .misunderstood(other, status: badUsage)
        }
    }

    private static func check(_ arguments: ArraySlice<String>) -> Command {
        var options = Check.Options()
        for argument in arguments {
            switch argument {
            case "--offline": options.isOffline = true
            case "--json": options.asJSON = true
            case "--strict": options.isStrict = true
            case "--help", "-h": return .showHelp
            default: return .misunderstood(argument, status: Check.misunderstood)
            }
        }
        return .check(options)
    }

    private static func health(_ arguments: ArraySlice<String>) -> Command {
        var options = HealthQuestion.Options()
        var rest = arguments
        while let argument = rest.popFirst() {
            switch argument {
            case "--ready": options.asksReadiness = true
            case "--timeout":
                guard let seconds = rest.popFirst().flatMap({ plainDecimal($0) }), (1...60).contains(seconds) else {
                    return .misunderstood(
                        "--timeout without a number from 1 to 60", status: HealthQuestion.unreadableSettings)
                }
                options.bound = .seconds(seconds)
            case "--help", "-h": return .showHelp
            default: return .misunderstood(argument, status: HealthQuestion.unreadableSettings)
            }
        }
        return .health(options)
    }

    private static func stats(_ arguments: ArraySlice<String>) -> Command {
        var days = DailyStatistics.standardDays
        var asJSON = false
        var rest = arguments
        while let argument = rest.popFirst() {
            switch argument {
            case "--json": asJSON = true
            case "--days":
                guard let text = rest.popFirst(), let number = plainDecimal(text),
                    DailyStatistics.days.contains(number)
                else { return .misunderstood("--days without a number from 1 to 3660", status: badUsage) }
                days = number
            case "--help", "-h": return .showHelp
            default: return .misunderstood(argument, status: badUsage)
            }
        }
        return .stats(days: days, asJSON: asJSON)
    }

    static let help = """
        gryt-push: rings phones for Gryt servers, without knowing who anybody is.

          gryt-push [serve]      serve until SIGTERM or SIGINT; a second one hurries; SIGHUP reads the settings anew
          gryt-push check [--offline] [--json] [--strict]
                                 whether it would work: settings, keys, DATA_DIR, ports, and whether Apple and Google
                                 take the credentials; nothing is delivered to anybody. 0: yes, 1: something is wrong
                                 (--strict: or warned about)
          gryt-push health [--ready] [--timeout SECONDS]
                                 whether the relay on this machine answers (--ready: is ready, by METRICS_PORT), within
                                 2 s. 0: yes, 1: no, 2: the settings do not say where it is
          gryt-push stats [--days N] [--json]
                                 what was counted over the last N days (30), from DATA_DIR, relay running or not. 0: printed,
                                 1: they cannot be read, 78: a setting cannot be right
          gryt-push --version
          gryt-push --help

        A command line that is not understood ends with 2 after check and health, and with 64 otherwise.
        Settings come from the environment and from a .env file in the working directory; .env.example names them all.
        """
}
