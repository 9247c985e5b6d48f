import HTTP2Client
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OriginTests {
    @Test(arguments: [
        ("https://api.push.apple.com", "api.push.apple.com", 443, "api.push.apple.com"),
        ("https://api.push.apple.com:2197/", "api.push.apple.com", 2197, "api.push.apple.com:2197"),
        ("HTTPS://FCM.googleapis.com", "fcm.googleapis.com", 443, "fcm.googleapis.com"),
        ("https://127.0.0.1:8443", "127.0.0.1", 8443, "127.0.0.1:8443"),
        ("https://[::1]:8443", "::1", 8443, "[::1]:8443"),
        ("https://[::1]", "::1", 443, "[::1]"),
        ("https://apns_test.local:65535", "apns_test.local", 65535, "apns_test.local:65535"),
    ])
    func `an https URL without anything behind the port is an origin`(
        url: String, host: String, port: UInt16, authority: String
    ) throws {
        let origin = try #require(Origin(url: url))
        #expect(origin.host == host)
        #expect(origin.port == port)
        #expect(origin.authority == authority)
    }

    @Test(arguments: [
        "", "https://", "http://a.example", "a.example", "https://a.example/path", "https://a.example//",
        "https://a.example?q", "https://a.example#f", "https://user@a.example", "https://user:pass@a.example",
        "https://a.example:", "https://a.example:0", "https://a.example:65536", "https://a.example:+1",
        "https://a.example:000443", "https://a.example:44 3", "https://[::1", "https://[::1]x", "https://[a.example]",
        "https://::1", "https://1.2.3", "https://1.2.3.4.5", "https://a..example", "https://-a.example",
        "https://a.example.", "https://a b.example", "https://ä.example", "https://[::1%eth0]",
    ])
    func `anything else is none`(url: String) {
        #expect(Origin(url: url) == nil)
    }
}
