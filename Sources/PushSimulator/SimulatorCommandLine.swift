/// What `push-simulator` is asked to do.
package struct SimulatorCommandLine: Sendable {
    /// The simulator to make.
    package var configuration: SimulatorConfiguration
    /// Whether notifications are printed as JSON, one object a line, in place of words.
    package var printsJSON = false
    /// Whether nothing is printed about notifications.
    package var isQuiet = false
    /// Whether only the help is wanted.
    package var wantsHelp = false
    /// Added to every answer of APNs and FCM.
    package var latency = Duration.zero
    /// Tokens that are dead from the start; hex counts as Apple's.
    package var deadTokens: [String] = []

    /// Whom the proxy lets through; nil is everybody.
    package var proxyCredentials: ProxyCredentials?

    /// A command line that cannot be obeyed, in a sentence.
    package struct Misuse: Error, Equatable, CustomStringConvertible {
        /// Names the flag first.
        package let description: String
    }

    /// Reads the arguments that follow the program's name.
    package init(_ arguments: some Sequence<String>) throws(Misuse) {
        configuration = SimulatorConfiguration(directory: "./simulator")
        configuration.ports = [
            .apnsProduction: 8443, .apnsSandbox: 8444, .fcm: 8445, .oauth: 8446, .control: 8447,
        ]
        var rest = Array(arguments)[...]
        while let name = rest.popFirst() {
            switch name {
            case "--help", "-h": wantsHelp = true
            case "--json": printsJSON = true
            case "--quiet": isQuiet = true
            case "--strict": configuration.isStrict = true
            case "--apns-port": configuration.ports[.apnsProduction] = try Self.port(name, &rest)
            case "--apns-sandbox-port": configuration.ports[.apnsSandbox] = try Self.port(name, &rest)
            case "--fcm-port": configuration.ports[.fcm] = try Self.port(name, &rest)
            case "--oauth-port": configuration.ports[.oauth] = try Self.port(name, &rest)
            case "--control-port": configuration.ports[.control] = try Self.port(name, &rest)
            case "--proxy-port": configuration.ports[.proxy] = try Self.port(name, &rest)
            case "--proxy-user":
                let parts = try Self.value(name, &rest).split(
                    separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, !parts[0].isEmpty else {
                    throw Misuse(description: "--proxy-user wants USER:PASS")
                }
                proxyCredentials = ProxyCredentials(user: String(parts[0]), password: String(parts[1]))
            case "--directory": configuration.directory = try Self.value(name, &rest)
            case "--topic": configuration.topic = try Self.value(name, &rest)
            case "--dead": deadTokens.append(try Self.value(name, &rest))
            case "--latency-ms":
                guard let milliseconds = UInt32(try Self.value(name, &rest)), milliseconds <= 600_000 else {
                    throw Misuse(description: "--latency-ms wants a number from 0 to 600000")
                }
                latency = .milliseconds(Int64(milliseconds))
            default: throw Misuse(description: "\(name) is not known; --help tells what is")
            }
        }
    }

    private static func value(_ name: String, _ rest: inout ArraySlice<String>) throws(Misuse) -> String {
        guard let value = rest.popFirst(), !value.isEmpty else {
            throw Misuse(description: "\(name) wants a value")
        }
        return value
    }

    private static func port(_ name: String, _ rest: inout ArraySlice<String>) throws(Misuse) -> UInt16 {
        guard let port = UInt16(try value(name, &rest)) else {
            throw Misuse(description: "\(name) wants a port from 0 to 65535")
        }
        return port
    }

    /// What `--help` prints.
    package static let help = """
        push-simulator: Apple's APNs, Google's FCM and Google's token endpoint on this machine, over TLS and HTTP/2.

        It makes keys and certificates for this one run, writes them to a directory, prints the settings that point a
        relay at it, and then says what every phone gets. Each restart makes new keys: restart the relay too.

          --directory DIR          where the files go (./simulator); DIR/relay.env has the settings
          --apns-port N            APNs, production (8443)      any port may be 0: the kernel chooses
          --apns-sandbox-port N    APNs, sandbox (8444)
          --fcm-port N             FCM (8445)
          --oauth-port N           Google's token endpoint (8446)
          --control-port N         orders, see below (8447)
          --proxy-port N           an HTTP proxy (CONNECT) in front of them (the kernel's choice)
          --proxy-user USER:PASS   whom the proxy lets through (everybody)
          --topic NAME             the app (chat.gryt.app)
          --strict                 only phones that were declared exist; else every token of the right form is one,
                                   but for one of zeros
          --dead TOKEN             a token that is dead from the start; may be repeated
          --latency-ms N           let every answer of APNs and FCM wait
          --json                   one JSON object a notification
          --quiet                  print no notifications
          --help

        SIGINT and SIGTERM end the program.


        """ + ControlHelp.text
}
