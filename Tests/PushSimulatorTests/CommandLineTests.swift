import PushSimulator
import Testing

struct CommandLineTests {
    @Test func `what is given is taken`() throws {
        let line = try SimulatorCommandLine([
            "--apns-port", "1", "--apns-sandbox-port", "2", "--fcm-port", "3", "--oauth-port", "4", "--control-port",
            "0", "--directory", "/x", "--topic", "a.b", "--dead", "t1", "--dead", "t2", "--latency-ms", "250", "--json",
            "--quiet", "--strict",
        ])
        let ports: [SimulatedService: UInt16] = [
            .apnsProduction: 1, .apnsSandbox: 2, .fcm: 3, .oauth: 4, .control: 0,
        ]
        #expect(line.configuration.ports == ports)
        #expect(line.configuration.directory == "/x" && line.configuration.topic == "a.b")
        #expect(line.configuration.isStrict && line.printsJSON && line.isQuiet && !line.wantsHelp)
        #expect(line.latency == .milliseconds(250))
        #expect(line.deadTokens == ["t1", "t2"])
    }

    @Test(arguments: [
        ["--fcm-port"], ["--fcm-port", "65536"], ["--fcm-port", "x"], ["--latency-ms", "-1"],
        ["--latency-ms", "600001"],
        ["--colour"], ["serve"], ["--directory", ""],
    ])
    func `what cannot be obeyed is refused in a sentence that names it`(arguments: [String]) {
        #expect(throws: SimulatorCommandLine.Misuse.self) { try SimulatorCommandLine(arguments) }
        do throws(SimulatorCommandLine.Misuse) {
            _ = try SimulatorCommandLine(arguments)
        } catch {
            #expect(error.description.hasPrefix(arguments[0]))
        }
    }

    @Test func `a relay elsewhere finds the files of a directory that was named from here`() throws {
        let absolute = temporaryDirectory()
        let name = try #require(absolute.split(separator: "/").last)
        let depth = 32
        let relative = String(repeating: "../", count: depth) + "tmp/" + name
        let simulator = try PushSimulator(configuration: SimulatorConfiguration(directory: relative))
        defer { remove(simulator, absolute) }
        let settings = try readText(absolute + "/relay.env")
        #expect(!settings.contains(".."))
        for file in ["simulator-ca.pem", "apns-key.p8", "service-account.json"] {
            #expect(settings.contains("=\(absolute)/\(file)"))
        }
    }

    @Test func `the proxy's port and user are taken`() throws {
        let line = try SimulatorCommandLine(["--proxy-port", "5", "--proxy-user", "u:p:q"])
        #expect(line.configuration.ports[.proxy] == 5)
        #expect(line.proxyCredentials == ProxyCredentials(user: "u", password: "p:q"))
        #expect(throws: SimulatorCommandLine.Misuse.self) { try SimulatorCommandLine(["--proxy-user", "u"]) }
    }

    @Test func `every flag is in the help`() {
        let flags = [
            "--apns-port", "--apns-sandbox-port", "--fcm-port", "--oauth-port", "--control-port", "--directory",
            "--topic", "--dead", "--latency-ms", "--json", "--quiet", "--strict", "--help", "--proxy-port",
            "--proxy-user",
        ]
        for flag in flags {
            #expect(
                SimulatorCommandLine.help.contains("  \(flag) ") || SimulatorCommandLine.help.contains("  \(flag)\n"))
        }
    }
}
