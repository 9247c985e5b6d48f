import Telemetry
import Testing

@testable import gryt_push

@Suite(.timeLimit(.minutes(1)))
struct ForwardProxyTests {
    private func proxy(_ text: String, except exemptions: String = "") throws -> ForwardProxy {
        try #require(try settings(["HTTPS_PROXY": text, "NO_PROXY": exemptions]).forwardProxy)
    }

    @Test(arguments: [
        ("http://proxy.example:3128", "proxy.example:3128", nil, nil),
        ("HTTP://Proxy.Example:3128/", "proxy.example:3128", nil, nil),
        ("proxy:80", "proxy:80", nil, nil), ("http://10.0.0.1:1", "10.0.0.1:1", nil, nil),
        ("http://[::1]:65535", "[::1]:65535", nil, nil), ("http://squid_proxy:3128", "squid_proxy:3128", nil, nil),
        ("http://user:pass@proxy:3128", "proxy:3128", "user", "pass"),
        ("http://user@proxy:3128", "proxy:3128", "user", ""),
        ("http://user:@proxy:3128", "proxy:3128", "user", ""), ("user:pass@proxy:3128", "proxy:3128", "user", "pass"),
        ("http://us%40er:p%3Aa%2fs%25s@proxy:3128", "proxy:3128", "us@er", "p:a/s%s"),
        ("http://user:p@ss:w@proxy:3128", "proxy:3128", "user", "p@ss:w"),
        ("http://user:p%C3%A4@proxy:3128", "proxy:3128", "user", "p\u{E4}"),
    ])
    func `a proxy is a host and a port, perhaps with a user name and a password`(
        text: String, authority: String, user: String?, password: String?
    ) throws {
        for name in ["HTTPS_PROXY", "https_proxy"] {
            let proxy = try #require(try settings([name: text]).forwardProxy)
            #expect(proxy.authority == authority)
            #expect(proxy.login?.disclosed.user == user)
            #expect(proxy.login?.disclosed.password == password)
            #expect(proxy.exemptions.isEmpty)
        }
    }

    @Test(arguments: [
        "http://", "http://proxy", "proxy", "http://proxy:", "http://proxy:0", "http://proxy:65536", "http://proxy:x",
        "http://proxy:3128/path", "http://proxy:3128?x", "http://proxy:3128#x", "http://:3128", "http://::1:3128",
        "http://1.2.3:3128", "http://pro xy:3128", " http://proxy:3128", "http://proxy:3128 ", "http://-x:3128",
        "http://sekret%4:pw@proxy:3128", "http://user:sekret%zz@proxy:3128", "http://user:sekret%0Apw@proxy:3128",
        "http://user:sekret%FF@proxy:3128", "http://:sekret@proxy:3128", "http://@proxy:3128",
        "http://a%3Ab:sekret@proxy:3128", "http://user:sekret@", "://p:1", "http://user:sekret@proxy", "true", "none",
    ])
    func `anything else stops the start, under the name it was set by, and is not shown`(text: String) {
        let rule = "must be http://host:port or http://user:password@host:port, percent signs as in a URL"
        for name in ["HTTPS_PROXY", "https_proxy"] { #expect(faults([name: text]) == ["\(name): \(rule)"]) }
    }

    @Test(arguments: [
        "socks5://user:sekret@proxy:1080", "https://proxy:443", "socks5h://proxy:1080", "ftp://proxy:21",
        "git+ssh://p:1",
    ])
    func `a proxy of another kind stops the start, and says why`(text: String) {
        #expect(
            faults(["HTTPS_PROXY": text]) == [
                "HTTPS_PROXY: must be an http:// proxy that makes tunnels (CONNECT); no other kind is supported"
            ])
    }

    @Test func `neither the user name nor the password prints`() throws {
        let settings = try settings(["HTTPS_PROXY": "http://us3r:sekret@proxy.example:3128", "NO_PROXY": "10.0.0.0/8"])
        var text = ""
        dump(settings, to: &text)
        text += "\(settings.summaryFields)"
        #expect(!text.contains("us3r") && !text.contains("sekret"))
        #expect(settings.summaryFields.contains(LogField("https_proxy", "proxy.example:3128")))
        #expect(settings.summaryFields.contains(LogField("https_proxy_login", "set")))
        #expect(settings.summaryFields.contains(LogField("no_proxy", "set")))
        let none = try gryt_push.Settings(environment: [:], dotEnv: nil, cores: 1)
        #expect(!none.summaryFields.contains { $0.key.contains("proxy") })
    }

    @Test func `the name in capitals wins, the environment wins over the file, and what is empty counts as none`()
        throws
    {
        func port(_ environment: [String: String], _ dotEnv: String = "") throws -> Int? {
            try settings(environment, dotEnv: dotEnv).forwardProxy?.port
        }
        #expect(try port(["HTTPS_PROXY": "p:1", "https_proxy": "p:2"]) == 1)
        #expect(try port(["HTTPS_PROXY": "", "https_proxy": "p:2"]) == 2)
        #expect(try port(["https_proxy": "p:2"], "HTTPS_PROXY=p:3") == 2)
        #expect(try port([:], "HTTPS_PROXY=p:3\nhttps_proxy=p:4") == 3)
        #expect(try port(["HTTPS_PROXY": ""], "https_proxy=p:4") == 4)
        #expect(try port(["HTTPS_PROXY": "", "https_proxy": ""]) == nil)
        #expect(faults(["https_proxy": "x"], dotEnv: "HTTPS_PROXY=p:3").first?.hasPrefix("https_proxy: ") == true)
        #expect(faults(["HTTPS_PROXY": "x"], dotEnv: "https_proxy=p:3").first?.hasPrefix("HTTPS_PROXY: ") == true)
    }

    @Test func `a proxy that only other programs use is told of, without its password`() throws {
        for name in ["ALL_PROXY", "all_proxy"] {
            let warnings = try settings([name: "socks5://user:sekret@proxy:1080"]).warnings
            #expect(warnings.contains { $0.variable == name })
            #expect(!warnings.contains { $0.description.contains("sekret") })
            #expect(try !settings([name: "x", "HTTPS_PROXY": "p:1"]).warnings.contains { $0.variable == name })
        }
        #expect(
            try !settings(["HTTP_PROXY": "x", "NO_PROXY": "?"]).warnings.contains { $0.variable.contains("PROXY") })
    }

    @Test(arguments: [
        ("*", "api.push.apple.com", 443, true), ("*", "127.0.0.1", 8443, true),
        ("api.push.apple.com", "api.push.apple.com", 443, true),
        ("API.push.Apple.com", "api.push.apple.com", 443, true),
        ("api.push.apple.com", "api.push.apple.com", 2197, true),
        ("api.push.apple.com", "pi.push.apple.com", 443, false),
        ("apple.com", "api.push.apple.com", 443, true), ("apple.com", "pineapple.com", 443, false),
        ("apple.com", "apple.com.example", 443, false), ("com", "fcm.googleapis.com", 443, true),
        (".apple.com", "api.push.apple.com", 443, true), (".apple.com", "apple.com", 443, false),
        ("*.apple.com", "api.push.apple.com", 443, true), ("*.apple.com", "apple.com", 443, false),
        (".push.apple.com:2197", "api.push.apple.com", 2197, true),
        (".push.apple.com:2197", "api.push.apple.com", 443, false),
        ("api.push.apple.com:443", "api.push.apple.com", 443, true),
        ("api.push.apple.com:443", "api.push.apple.com", 2197, false),
        ("127.0.0.1", "127.0.0.1", 8443, true), ("127.0.0.1", "127.0.0.2", 8443, false),
        ("127.0.0.1:8443", "127.0.0.1", 8443, true), ("127.0.0.1:8443", "127.0.0.1", 8444, false),
        ("127.0.0.0/8", "127.9.9.9", 1, true), ("127.0.0.0/8", "128.0.0.1", 1, false),
        ("127.0.0.0/8", "localhost", 1, false), ("::1", "::1", 1, true), ("[::1]:443", "::1", 443, true),
        ("[::1]:443", "::1", 444, false), ("[::1]", "::1", 7, true), ("2001:db8::/32", "2001:db8:1::2", 443, true),
        ("2001:db8::/32", "2001:db9::2", 443, false), ("localhost", "127.0.0.1", 1, false),
        ("10.0.0.0/8, apple.com\t.x", "a.x", 1, true), ("10.0.0.0/8,apple.com,.x", "a.y", 1, false),
    ])
    func `what is excepted is reached without the proxy`(entry: String, host: String, port: Int, isExcepted: Bool)
        throws
    {
        #expect(try proxy("p:1", except: entry).isUsed(forHost: host, port: port) == !isExcepted)
        let lower = try settings(["https_proxy": "p:1", "no_proxy": entry]).forwardProxy
        #expect(lower?.isUsed(forHost: host, port: port) == !isExcepted)
    }

    @Test(arguments: [
        ("a,b,http://c", 3), ("10.0.0.0/33", 1), ("10.1.2.3/8", 1), ("a,*x", 2), (".", 1), ("*.", 1), ("a:0", 1),
        ("a:x", 1),
        ("192.168.*", 1), ("<local>", 1), ("a,[::1", 2), ("*:443", 1), (".10.0.0.1", 1), ("a..b", 1),
    ])
    func `an entry that is none stops the start where there is a proxy, with its number`(text: String, number: Int) {
        for name in ["NO_PROXY", "no_proxy"] {
            let lines = faults(["HTTPS_PROXY": "p:1", name: text])
            #expect(lines == ["\(name): entry \(number) is not \(ProxyExemption.form)"])
            #expect(faults([name: text]).isEmpty)
        }
    }

    @Test(arguments: [",", " ", ", ,"])
    func `exceptions that name nothing are none`(text: String) throws {
        #expect(try proxy("p:1", except: text).exemptions.isEmpty)
    }
}
