import PushSimulator

#if canImport(Glibc)
    import Glibc
#endif

/// Runs a simulator until SIGINT or SIGTERM and says what phones get.
@main
struct Program {
    static func main() {
        if CommandLine.arguments.dropFirst().first == "phone" {
            PhoneProgram.run(CommandLine.arguments.dropFirst(2))
        }
        let commandLine: SimulatorCommandLine
        do throws(SimulatorCommandLine.Misuse) {
            commandLine = try SimulatorCommandLine(CommandLine.arguments.dropFirst())
        } catch {
            fail(error.description, code: 64)
        }
        if commandLine.wantsHelp {
            say(SimulatorCommandLine.help)
            return
        }
        // Blocked before any thread is made, so that all inherit it and the signals wait for `sigwait` below.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe sigaddset(&signals, SIGTERM)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        let simulator: PushSimulator
        do throws(SimulatorError) {
            simulator = try PushSimulator(configuration: commandLine.configuration)
        } catch {
            fail(error.description, code: 1)
        }
        Task.detached { await begin(simulator, commandLine) }
        var signal: Int32 = 0
        unsafe sigwait(&signals, &signal)
        Task.detached {
            await simulator.stop()
            exit(0)
        }
        while true { pause() }
    }

    private static func begin(_ simulator: PushSimulator, _ commandLine: SimulatorCommandLine) async {
        for token in commandLine.deadTokens {
            let isHex = token.allSatisfy { $0.isASCII && $0.isHexDigit }
            simulator.declareDead(token, platform: isHex ? .ios : .android)
        }
        for service in [SimulatedService.apnsProduction, .apnsSandbox, .fcm] {
            simulator.setLatency(commandLine.latency, of: service)
        }
        simulator.requireProxyCredentials(commandLine.proxyCredentials)
        if !commandLine.isQuiet {
            let printsJSON = commandLine.printsJSON
            simulator.observe { say(printsJSON ? $0.json.text + "\n" : line(about: $0)) }
        }
        do throws(SimulatorError) {
            try await simulator.start()
        } catch {
            fail(error.description, code: 1)
        }
        if !commandLine.printsJSON {
            say(simulator.relaySettings)
            say("# proxy: \(simulator.proxyURL())\n")
            say("# control: \(simulator.origin(of: .control)); these lines are in \(simulator.relaySettingsFile)\n")
        }
    }

    /// One notification in words, as somebody who holds the phone without its key would see it.
    private static func line(about notification: DeliveredNotification) -> String {
        let stranger = SimulatedPhone(
            notification.platform, token: notification.token, previewKey: [UInt8](repeating: 0, count: 32))
        var line = "\(notification.service.rawValue) \(notification.token.prefix(8))… "
        if let shown = stranger.show(notification) {
            line += "“\(shown.title): \(shown.body)”"
            if let tag = shown.tag { line += " tag \(tag)" }
        } else {
            line += "shows nothing"
        }
        if notification.carriesPreview { line += ", with a sealed preview" }
        if notification.replacesEarlier { line += ", in place of an earlier one" }
        if notification.isDouble { line += ", DOUBLE" }
        return line + "\n"
    }
}

/// Straight to the descriptor, so that a script that reads the lines has each at once.
private func say(_ text: String, to descriptor: Int32 = 1) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
    }
}

private func fail(_ text: String, code: Int32) -> Never {
    say("push-simulator: \(text)\n", to: 2)
    exit(code)
}
