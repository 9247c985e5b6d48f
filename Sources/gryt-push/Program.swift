import Glibc

/// The entry. Not `main.swift`: closures of top-level code belong to the main actor, and one that reaches C would trap
/// on a loop's thread.
@main
struct Program {
    static func main() {
        switch Command(Array(CommandLine.arguments.dropFirst())) {
        case .serve:
            exit(Serve.run())
        case .check(let options):
            Check.run(options)
        case .health(let options):
            exit(HealthQuestion.run(options))
        case .stats(let days, let asJSON):
            exit(Stats.run(days: days, asJSON: asJSON))
        case .showVersion:
            exit(StandardOutputText.write(Settings.versionOfProcess()) ? 0 : StandardOutputText.lost)
        case .showHelp:
            exit(StandardOutputText.write(Command.help) ? 0 : StandardOutputText.lost)
        case .misunderstood(let argument, let status):
            StandardError.write("gryt-push: what is \(argument)? Try gryt-push --help.")
            exit(status)
        }
    }
}
