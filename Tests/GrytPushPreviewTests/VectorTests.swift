import Cryptography
import GrytPushPreview
import PushModel
import PushSimulator
import Testing

/// What is sealed here opens elsewhere, and the other way round.
@Suite(.timeLimit(.minutes(1)))
struct VectorTests {
    @Test(arguments: Vectors.entries("tag"))
    func `a capability has the tag that others find`(_ vector: Vector) throws {
        #expect(try PreviewTag(capability: vector.text("capability"))?.disclosed == vector.text("tag"))
    }

    @Test(arguments: Vectors.entries("seal"))
    func `under a given nonce the same characters come out as elsewhere, and open again`(_ vector: Vector) throws {
        let tag = try #require(PreviewTag(capability: vector.text("capability")))
        #expect(try tag == vector.tag)
        let sealed = try vector.preview.seal(with: vector.key, for: tag, nonce: vector.nonce)
        #expect(try sealed == vector.text("sealed"))
        #expect(try Preview.open(sealed, with: vector.key, for: tag) == vector.preview)
        #expect(SealedPreview(sealed) != nil, "the relay would refuse it")
    }

    @Test(arguments: Vectors.entries("open"))
    func `whatever another encoder writes opens`(_ vector: Vector) throws {
        #expect(try Preview.open(vector.text("sealed"), with: vector.key, for: vector.tag) == vector.preview)
    }

    @Test(arguments: Vectors.entries("refuse"))
    func `what is not right does not open, and why is said`(_ vector: Vector) throws {
        let error = #expect(throws: OpeningError.self) {
            try Preview.open(vector.text("sealed"), with: vector.key, for: vector.tag)
        }
        #expect(try error?.word == vector.text("error"))
    }

    @Test func `what the page for servers seals step by step is the first vector`() throws {
        let page = try Vectors.text(of: "docs/for-servers.md")
        let vector = try #require(Vectors.entries("seal").first)
        for member in ["capability", "key", "tag", "plaintext", "nonce", "sealed"] {
            #expect(try page.contains("| `\(vector.text(member))` |"), "\(member)")
        }
        // Ciphertext and tag stand there by themselves, as hex.
        let bytes = try #require(Base64URL.decode(vector.text("sealed"))).dropFirst(13)
        for part in [bytes.dropLast(16), bytes.suffix(16)] {
            let hex = part.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            #expect(page.contains("| `\(hex)` |"))
        }
    }

    @Test func `there is a vector for each reason why a preview does not open`() throws {
        let words = try Set(Vectors.entries("refuse").map { try $0.text("error") })
        let all: [OpeningError] = [.wrongLength, .notBase64URL, .unknownVersion(2), .notGenuine, .notAPreview]
        #expect(words == Set(all.map(\.word)))
    }

    @Test(arguments: Vectors.entries("shape"))
    func `the relay takes what has the shape of a preview, and nothing else`(_ vector: Vector) throws {
        let isTaken = vector.json["taken"] == true
        #expect((SealedPreview(try vector.assembled) != nil) == isTaken)
    }
}
