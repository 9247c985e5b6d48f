import PushModel
import Testing

/// A capability whose 43 characters are these.
private func text(_ random: String) -> [UInt8] { Array("p_\(random)".utf8) }

@Suite(.timeLimit(.minutes(1)))
struct CapabilityTests {
    @Test(
        arguments: [
            (0, String(repeating: "A", count: 43)), (255, String(repeating: "_", count: 42) + "8"),
            (0b0100_0001, "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE"),
        ] as [(UInt8, String)])
    func `random bytes become base64url`(byte: UInt8, random: String) {
        let capability = Capability(randomBytes: InlineArray(repeating: byte))
        #expect(capability.disclosed == "p_\(random)")
        #expect(Capability(text(random)) == capability)
    }

    @Test func `every byte in every place comes back`() throws {
        for place in 0..<32 {
            for byte in UInt8.min...UInt8.max {
                var bytes = InlineArray<32, UInt8>(repeating: 0xA5)
                bytes[place] = byte
                let capability = Capability(randomBytes: bytes)
                let read = try #require(Capability(Array(capability.disclosed.utf8)))
                let back = read.randomBytes
                guard read == capability, (0..<32).allSatisfy({ back[$0] == bytes[$0] }) else {
                    Issue.record("byte \(byte) in place \(place)")
                    return
                }
            }
        }
    }

    @Test func `every character of base64url is taken, in every place`() {
        for character in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
            #expect(Capability(text(String(repeating: character, count: 43)))?.disclosed.last == character)
        }
    }

    @Test func `no other byte is taken, in any place`() {
        let characters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for place in 2..<45 {
            for byte in UInt8.min...UInt8.max {
                var candidate = text(String(repeating: "A", count: 43))
                candidate[place] = byte
                guard (Capability(candidate) != nil) == characters.contains(byte) else {
                    Issue.record("byte \(byte) in place \(place)")
                    return
                }
            }
        }
    }

    @Test func `two texts are two capabilities, even where they decode to the same bytes`() throws {
        // The last character carries four bits of the random bytes and two that are dropped.
        let zeros = String(repeating: "A", count: 42)
        let one = try #require(Capability(text(zeros + "A")))
        let other = try #require(Capability(text(zeros + "D")))
        #expect(one != other)
        let bytes = (one.randomBytes, other.randomBytes)
        #expect((0..<32).allSatisfy { bytes.0[$0] == bytes.1[$0] })
        #expect(other.disclosed == "p_\(zeros)D")
    }

    @Test(arguments: [
        "", "p_", String(repeating: "A", count: 43), "p_" + String(repeating: "A", count: 42),
        "p_" + String(repeating: "A", count: 44), "P_" + String(repeating: "A", count: 43),
        "q_" + String(repeating: "A", count: 43), "p-" + String(repeating: "A", count: 43),
        " p_" + String(repeating: "A", count: 42), "p_" + String(repeating: "A", count: 42) + "=",
        "p_" + String(repeating: "A", count: 42) + "+", "p_" + String(repeating: "A", count: 42) + "/",
        "p_" + String(repeating: "A", count: 42) + ".", "p_" + String(repeating: "A", count: 42) + "\n",
        "p_" + String(repeating: "A", count: 42) + "\0", "p_ " + String(repeating: "A", count: 42),
        "p_" + String(repeating: "A", count: 41) + "é",
        "p_" + String(repeating: "A", count: 20) + "@" + String(repeating: "A", count: 22),
    ])
    func `anything else is no capability`(text: String) {
        #expect(Capability(Array(text.utf8)) == nil)
    }

    @Test func `bytes outside of ASCII are no capability`() {
        for byte in UInt8(0x80)...0xFF {
            #expect(Capability(text(String(repeating: "A", count: 42)) + [byte]) == nil)
        }
    }

    @Test func `a slice of a buffer is read like an array`() {
        let line = Array("Bearer p_\(String(repeating: "b", count: 43))\r\n".utf8)
        #expect(Capability(line.span.extracting(7..<52))?.disclosed == "p_" + String(repeating: "b", count: 43))
    }

    @Test(arguments: [
        (UInt64(0), "0000000000000000"), (.max, "ffffffffffffffff"), (0x0123_4567_89AB_CDEF, "0123456789abcdef"),
        (0xA, "000000000000000a"),
    ])
    func `a tag is sixteen lower-case hex digits`(number: UInt64, text: String) {
        #expect(CapabilityTag(firstBytesOfHash: number).disclosed == text)
    }
}
