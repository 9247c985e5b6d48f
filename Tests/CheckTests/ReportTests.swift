import Testing

@testable import gryt_push

@Suite(.timeLimit(.minutes(1)))
struct ReportTests {
    private static let ok = Finding(.clock, .ok("right"))
    private static let skipped = Finding(.fcm, .skipped("not set"))
    private static let warning = Finding(.settings, about: "PORT", .warning("odd", "look"))
    private static let wrong = Finding(.apns, .wrong("no \"key\"", "make one"))

    @Test(
        arguments: [
            ([ok, skipped], false, 0), ([ok, skipped], true, 0), ([ok, warning], false, 0), ([ok, warning], true, 1),
            ([ok, wrong, warning], false, 1), ([], true, 0),
        ] as [([Finding], Bool, Int32)])
    func `the status fails for what is wrong, and for warnings where that is asked for`(
        findings: [Finding], isStrict: Bool, status: Int32
    ) {
        #expect(CheckReport(findings).status(isStrict: isStrict) == status)
    }

    @Test func `people get a line each in a fixed order, what to do below, and a sum`() {
        let text = CheckReport([Self.ok, Self.skipped, Self.wrong, Self.warning]).text
        #expect(
            text == """
                warning  settings                 PORT: odd
                         -> look
                wrong    apns                     no "key"
                         -> make one
                skipped  fcm                      not set
                ok       clock                    right

                1 wrong, 1 warning, 1 ok, 1 skipped
                """)
    }

    @Test func `programs get an object a line`() {
        let json = CheckReport([Self.wrong, Self.warning, Self.ok]).json
        #expect(
            json == """
                {"check":"settings","verdict":"warning","about":"PORT","seen":"odd","advice":"look"}
                {"check":"apns","verdict":"wrong","seen":"no \\"key\\"","advice":"make one"}
                {"check":"clock","verdict":"ok","seen":"right"}
                """)
    }

    @Test(arguments: [
        (["check"], Command.check(.init())),
        (["check", "--offline", "--json"], .check(.init(isOffline: true, asJSON: true))),
        (["check", "--strict"], .check(.init(isStrict: true))), (["check", "--help"], .showHelp),
        (["check", "--online"], .misunderstood("--online", status: 2)), (["health"], .health(.init())),
        (["health", "--ready", "--timeout", "5"], .health(.init(asksReadiness: true, bound: .seconds(5)))),
        (["health", "--timeout", "61"], .misunderstood("--timeout without a number from 1 to 60", status: 2)),
        (["stats", "--weekly"], .misunderstood("--weekly", status: 64)), (["chek"], .misunderstood("chek", status: 64)),
    ])
    func `a command line is read`(arguments: [String], command: Command) {
        #expect(Command(arguments) == command)
    }
}
