import RelayAPI

/// What the program was asked to do on its command line.
enum Command: Equatable {
    case serve
    case stats(days: Int, asJSON: Bool)
    case showVersion
    case showHelp
    case misunderstood(String)

    /// Reads the arguments after the program's name.
    init(_ arguments: [String]) {
        switch arguments {
        case [], ["serve"]: self = .serve
        case ["--version"], ["version"]: self = .showVersion
        case ["--help"], ["-h"], ["help"]: self = .showHelp
        default:
            self =
                arguments.first == "stats"
                ? Self.stats(arguments.dropFirst()) : .misunderstood(arguments.first ?? "")
        }
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
                else { return .misunderstood("--days without a number from 1 to 3660") }
                days = number
            default: return .misunderstood(argument)
            }
        }
        return .stats(days: days, asJSON: asJSON)
    }

    static let help = """
        gryt-push: rings phones for Gryt servers, without knowing who anybody is.

          gryt-push [serve]      serve until SIGTERM or SIGINT; a second one hurries; SIGHUP reads the settings anew
          gryt-push stats [--days N] [--json]
                                 what was counted over the last N days (30), from DATA_DIR, relay running or not
          gryt-push --version
          gryt-push --help

        Settings come from the environment and from a .env file in the working directory; .env.example names them all.
        """
}
