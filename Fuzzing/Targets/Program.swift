import CFuzzing
import Glibc

/// The fuzzer's program: one for all targets, of which `GRYT_FUZZ_TARGET` names the one to run. The arguments are
/// libFuzzer's. `scripts/fuzz` builds and runs it.
@main
struct Program {
    static func main() {
        guard let name = getenv("GRYT_FUZZ_TARGET").map({ String(cString: $0) }), let target = Target(rawValue: name)
        else {
            print(Target.allCases.map(\.rawValue).joined(separator: "\n"))
            exit(64)
        }
        chosen = target
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(LLVMFuzzerRunDriver(&count, &arguments, takeInput))
    }
}

/// What is fuzzed. Raw values name the folders of the corpora.
enum Target: String, CaseIterable, Sendable {
    /// Bytes to a whole HTTP server, over a socket.
    case httpServer = "http-server"
    /// Bytes of requests to their reader, in memory.
    case request
    /// Bodies of requests.
    case json
    /// The environment, the `.env` file, keys and accounts.
    case settings
    /// `Retry-After` and dates.
    case dates
    /// What Apple and Google answer.
    case answers
    /// Bytes of a push service to a whole HTTP/2 client, over a socket and without TLS.
    case http2 = "http2"
    /// Stored tokens, capabilities and addresses.
    case words

    func take(_ bytes: [UInt8]) {
        switch self {
        case .httpServer: HTTPServerTarget.take(bytes)
        case .request: RequestTarget.take(bytes)
        case .json: JSONTarget.take(bytes)
        case .settings: SettingsTarget.take(bytes)
        case .dates: DatesTarget.take(bytes)
        case .answers: AnswersTarget.take(bytes)
        case .http2: HTTP2Target.take(bytes)
        case .words: WordsTarget.take(bytes)
        }
    }
}

/// Set once, before the first input.
nonisolated(unsafe) private var chosen = Target.json

private func takeInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    chosen.take(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

/// A property that must hold whatever the input. A process that ends here leaves its input behind.
func expect(_ holds: Bool, _ property: @autoclosure () -> String) {
    if !holds { fail(property()) }
}

/// The same, where it is known not to hold.
func fail(_ property: String) -> Never {
    let line = Array("\ndoes not hold: \(property)\n".utf8)
    _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    abort()
}
