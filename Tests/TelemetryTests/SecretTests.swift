import Telemetry
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SecretTests {
    private struct Holder {
        var name = "apns"
        var key = Secret("hunter2")
        var bytes: Secret<[UInt8]>? = Secret([104, 117, 110])
    }

    @Test func `a secret shows in no way of printing, alone or inside of something`() {
        let secret = Secret("hunter2")
        let holder = Holder()
        var dumped = ""
        dump(secret, to: &dumped)
        dump(holder, to: &dumped)
        var printed = ""
        print(secret, holder, [secret], ["k": secret], to: &printed)
        debugPrint(secret, holder, [secret], to: &printed)
        for text in [
            "\(secret)", String(describing: secret), String(reflecting: secret), "\(holder)",
            String(reflecting: holder),
            "\(Optional(secret) as Any)", dumped, printed,
        ] {
            #expect(text.contains("(secret)"))
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("104"))
        }
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    @Test func `a secret is disclosed to whoever asks by that word`() {
        #expect(Secret("hunter2").disclosed == "hunter2")
        #expect(Secret(1) == Secret(1))
        #expect(Secret(1) != Secret(2))
    }
}
