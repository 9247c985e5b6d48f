import EventLoops
import Glibc
import HTTP2Client
import Testing

@Suite(.timeLimit(.minutes(1)))
struct NghttpdTests {
    private let authority = TestAuthority()

    @Test func `a request over TLS and HTTP2 is answered by a server of somebody else's`() async throws {
        let server = Nghttpd(authority.issue(), directory: authority.directory)
        try await PoolFixture.with(port: server.port, rootFile: authority.rootFile) { fixture in
            let response = try await fixture.send("/root.pem").get()
            #expect(response.status == 200)
            #expect(String(decoding: response.body, as: UTF8.self).hasPrefix("-----BEGIN CERTIFICATE-----"))
            #expect(!response.bodyWasCut)
            #expect(try await fixture.send("/nothing-here").get().status == 404)
        }
    }

    @Test func `a thousand requests at once all have their answer`() async throws {
        let server = Nghttpd(authority.issue(), directory: authority.directory)
        try await PoolFixture.with(port: server.port, host: "127.0.0.1", rootFile: authority.rootFile) { fixture in
            let statuses = await fixture.sendAtOnce(1000)
            #expect(statuses.count == 1000)
            #expect(statuses.allSatisfy { $0 == 404 })
        }
    }
}
