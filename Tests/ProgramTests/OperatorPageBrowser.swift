import Glibc
import PushSimulator
import Testing

/// Headless Chromium, as Debian packages it, on a page: what came of it, what it complained of and whom it asked.
struct OperatorPageBrowser {
    /// What a visit brought.
    struct Visit {
        /// The page as the browser understood it, written out again.
        var page: String
        /// What stands on its console.
        var console: [String]
        /// Every address that was asked for in the name of the page, itself included. What the browser does for itself,
        /// looking for updates and the like, is not among them; it gets nowhere.
        var requests: [String]
    }

    private static let path = "/usr/bin/chromium"

    /// Fails clearly where there is no Chromium.
    static func requireChromium() throws {
        try #require(
            unsafe access(path, X_OK) == 0,
            "Chromium is missing: scripts/setup tests installs it (Debian's package chromium)")
    }

    /// Loads a page and waits until it has loaded. Only 127.0.0.1 can be reached.
    ///
    /// - Parameter arguments: further ones for the browser.
    static func visit(_ address: String, _ arguments: [String] = []) async throws -> Visit {
        try requireChromium()
        let directory = ScratchDirectory()
        let process = try await ChildProcess(
            path,
            arguments: [
                "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
                "--user-data-dir=\(directory.path)/profile", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--enable-logging=stderr", "--log-net-log=\(directory.path)/net.json", "--dump-dom",
            ] + arguments + [address],
            environment: [
                "HOME": directory.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TMPDIR": directory.path,
            ],
            directory: directory)
        let record = await process.end()
        #expect(record.status == 0, "\(record.errorText)")
        let log = directory.text("net.json")
        #expect(log.contains(#""initiator":"not an origin""#), "the log of the network is of another form")
        return Visit(
            page: record.outputText,
            console: record.errorText.split(separator: "\n").filter { $0.contains("CONSOLE") }.map { String($0) },
            requests: log.split(separator: "\n").filter { $0.contains(#""network_isolation_key":"http://127.0.0.1 "#) }
                .compactMap { line in
                    let parts = line.split(separator: #""url":""#, maxSplits: 1)
                    return parts.count == 2 ? String(parts[1].prefix { $0 != "\"" }) : nil
                })
    }
}
