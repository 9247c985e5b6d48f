import Testing

@testable import HTTPServer

/// The machine that makes requests of bytes, without a socket.
@Suite(.timeLimit(.minutes(1)))
struct ReaderTests {
    private static let wellFormed = [
        "GET /a?b HTTP/1.1\r\nHost: x\r\nX: y\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhelloGET",
        "POST / HTTP/1.1\r\nHost: x:1\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0a\r\n0123456789\r\n0\r\nT: u\r\n\r\n",
        "POST / HTTP/1.0\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n0123456789ab\r\n\r\n",
    ].map { Array($0.utf8) }

    /// What came of some bytes, in the end.
    private struct Outcome: Equatable {
        var requests: [String] = []
        var refusal: HTTPRefusal?
    }

    private static let rules: RequestRules = {
        var configuration = HTTPServerConfiguration()
        configuration.maximumHead = 200
        configuration.maximumBody = 20
        configuration.maximumFields = 5
        configuration.retainedHeaders = ["x"]
        return RequestRules(configuration)
    }()

    /// Feeds bytes that end at these places, as the server does: what is left of a piece comes again with the next.
    private func outcome(of bytes: [UInt8], cutAt cuts: [Int]) -> Outcome {
        var outcome = Outcome()
        var reader = RequestReader()
        var pending: [UInt8] = []
        var start = 0
        for cut in cuts + [bytes.count] {
            pending += bytes[start..<cut]
            start = cut
            var position = 0
            reading: while position < pending.count {
                switch reader.read(pending.span, at: &position, rules: Self.rules) {
                case .needsMore: break reading
                case .whole:
                    let (request, form) = reader.takeRequest(peer: PeerAddress(high: 0, low: 0))
                    outcome.requests.append(
                        "\(request.method) \(request.path) \(request.query ?? "-") \(request.values(of: "x")) "
                            + "\(request.body) \(form.keepsConnection)")
                    reader = RequestReader()
                case .refused(let refusal):
                    outcome.refusal = refusal
                    return outcome
                }
            }
            pending.removeFirst(position)
        }
        return outcome
    }

    @Test(arguments: wellFormed.indices)
    func `whatever is wrong with a request, it does not matter where it is cut`(_ index: Int) {
        var random = Seeded(state: UInt64(index + 1))
        let odd: [UInt8] = [0, 9, 10, 13, 32, 35, 44, 48, 58, 59, 103, 127, 128, 255]
        var refusals = 0
        for _ in 0..<3000 {
            var bytes = Self.wellFormed[index]
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = odd[Int.random(in: 0..<odd.count, using: &random)]
                case 1: bytes.insert(odd[Int.random(in: 0..<odd.count, using: &random)], at: place)
                case 2: bytes.remove(at: place)
                default:
                    let end = min(bytes.count, place + 12)
                    bytes.insert(contentsOf: bytes[place..<end], at: place)
                }
            }
            let whole = outcome(of: bytes, cutAt: [])
            let cuts = (0..<4).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
            #expect(
                outcome(of: bytes, cutAt: cuts) == whole, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            #expect(outcome(of: bytes, cutAt: Array(0..<bytes.count)) == whole)
            if whole.refusal != nil { refusals += 1 }
        }
        // It is about them, so there must be some; and not only some.
        #expect(refusals > 300 && refusals < 2700)
    }

    /// What stands beside the data of a body in chunks, and how much of it is the most. The lines count with their ends.
    enum Extra: CaseIterable, Sendable {
        case firstExtension, lastExtension, trailer

        /// A body of one byte with an extra of this length.
        func body(_ length: Int) -> String {
            let text = String(repeating: "e", count: length)
            return switch self {
            case .firstExtension: "1;\(text)\r\na\r\n0\r\n\r\n"
            case .lastExtension: "1\r\na\r\n0;\(text)\r\n\r\n"
            case .trailer: "1\r\na\r\n0\r\nX:\(text)\r\n\r\n"
            }
        }

        var longest: Int {
            switch self {
            case .firstExtension, .lastExtension: ChunkReader.maximumExtras - "1;\r\n".utf8.count
            case .trailer: ChunkReader.maximumExtras - "X:\r\n\r\n".utf8.count
            }
        }
    }

    @Test(arguments: Extra.allCases)
    func `extensions and trailers have one bound, wherever they are cut`(_ extra: Extra) {
        let head = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        for length in [extra.longest / 2 + 8, extra.longest - 2, extra.longest - 1, extra.longest, extra.longest + 1] {
            let bytes = Array((head + extra.body(length)).utf8)
            let isTaken = length <= extra.longest
            for cuts in [[], Array(0..<bytes.count), [bytes.count - 1], [bytes.count - 3]] {
                let outcome = outcome(of: bytes, cutAt: cuts)
                #expect(outcome.requests.count == (isTaken ? 1 : 0), "\(length) bytes, cut at \(cuts.prefix(2))")
                #expect(outcome.refusal == (isTaken ? nil : .malformed(.chunks)))
            }
        }
    }
}

/// The same numbers in every run (SplitMix64).
private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
