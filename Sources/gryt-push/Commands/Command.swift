/// What the program was asked to do on its command line.
enum Command: Equatable {
    case serve
    case showVersion
    case showHelp
    case misunderstood(String)

    /// Reads the arguments after the program's name.
    init(_ arguments: [String]) {
        switch arguments {
        case [], ["serve"]: self = .serve
        case ["--version"], ["version"]: self = .showVersion
        case ["--help"], ["-h"], ["help"]: self = .showHelp
        default: self = .misunderstood(arguments.first ?? "")
        }
    }

    static let help = """
        gryt-push: rings phones for Gryt servers, without knowing who anybody is.

          gryt-push [serve]      serve until SIGTERM or SIGINT; a second one hurries
          gryt-push --version
          gryt-push --help

        Settings come from the environment and from a .env file in the working directory; .env.example names them all.
        """
}
