import Glibc
import GrytPushPreview
import PushSimulator
import Testing

/// nghttp2's own server in Apple's and Google's place: a peer that nobody here wrote.
@Suite(.timeLimit(.minutes(3)))
struct NghttpdTests {
    @Test func `a peer that nobody here wrote gets pushes, and its page for what it has not is no death`()
        async throws
    {
        try await Stage.run { stage in
            let directory = ScratchDirectory()
            makeCertificate(in: directory)
            let phones = [PhonePlatform.ios, .android].map { SimulatedPhone($0) }
            let missing = SimulatedPhone(.ios)
            directory.write("{}", to: "root/3/device/\(phones[0].token)")
            directory.write("{}", to: "root/v1/projects/gryt-simulated/messages:send")
            // nghttpd cannot tell which port the kernel chose.
            let port = try freePort()
            let server = try await ChildProcess(
                "/usr/bin/env",
                arguments: ["nghttpd", "-v", "-a", "127.0.0.1", "-d", "root", "\(port)", "key.pem", "cert.pem"],
                environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], directory: directory)
            await server.wait { $0.outputText.contains("listen") }

            var settings = stage.settings
            settings["APNS_PRODUCTION_ORIGIN"] = "https://localhost:\(port)"
            settings["FCM_ORIGIN"] = "https://localhost:\(port)"
            directory.write(
                stage.files.text("simulator/simulator-ca.pem") + directory.text("cert.pem"), to: "roots.pem")
            settings["UPSTREAM_CA_FILE"] = directory.path + "/roots.pem"
            let relay = try await RelayUnderTest(settings)
            for phone in phones {
                let capability = try await relay.register(phone)
                let preview = phone.seal(.init(title: "t", body: "b"), tag: tag(of: capability))
                for _ in 0..<5 { #expect(try await relay.push(capability, preview: preview).summary == "202") }
            }
            let capability = try await relay.register(missing)
            #expect(try await relay.push(capability).summary == "502 upstream_failed rejected")
            directory.write("{}", to: "root/3/device/\(missing.token)")
            #expect(try await relay.push(capability).summary == "202")
            await relay.end()
            server.signal(SIGTERM)
            let seen = await server.end().outputText
            #expect(seen.contains("apns-push-type: alert"))
            #expect(seen.contains(":path: /v1/projects/gryt-simulated/messages:send"))
        }
    }

    private func makeCertificate(in directory: ScratchDirectory) {
        let status = shell(
            "cd '\(directory.path)' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                + "-subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem 2>/dev/null")
        precondition(status == 0, "openssl makes no certificate")
    }
}
