@testable import HTTPServer

/// Bytes of requests, one after the other, to the reader of the HTTP server, in memory.
///
/// - What is a request and what is refused, and with which status, is what `RequestRulesAgain` says.
/// - It is the same wherever the bytes are cut.
/// - What is kept until more comes is bounded.
enum RequestTarget {
    private static let rules = makeRules()

    static func take(_ bytes: [UInt8]) {
        var input = Input(bytes)
        let piece = 2 + Int(input.byte())
        let cut = input.word()
        let matter = input.rest()
        let whole = read(matter, pieces: [matter.count])
        let front = cut % (matter.count + 1)
        expect(read(matter, pieces: [front, matter.count - front]) == whole, "a cut changes nothing")
        expect(read(matter, pieces: lengths(of: matter.count, piece)) == whole, "pieces change nothing")
        expect(read(matter, pieces: lengths(of: matter.count, 1)) == whole, "single bytes change nothing")

        let judged = RequestRulesAgain.judgeAll(matter)
        expect(judged.count == whole.count, "there are so many requests: \(whole), \(judged)")
        for (outcome, verdict) in zip(whole, judged) {
            switch (outcome, verdict) {
            case (.open, .open): break
            case (.whole(let mine, let length), .whole(let other, let otherLength)):
                expect(mine == other && length == otherLength, "a request is what it is: \(mine), \(other)")
            case (.refused(let refusal), .refused(let statuses)):
                expect(statuses.contains(refusal.status), "a refusal has its status: \(refusal), \(statuses)")
            default: fail("a request passes if it is sound, and only then: \(outcome), \(verdict)")
            }
        }
    }

    private static func makeRules() -> RequestRules {
        var configuration = HTTPServerConfiguration()
        configuration.retainedHeaders = ["authorization", "x-forwarded-for"]
        return RequestRules(configuration)
    }

    private static func lengths(of count: Int, _ piece: Int) -> [Int] {
        stride(from: 0, to: count, by: piece).map { min(piece, count - $0) }
    }

    private enum Outcome: Equatable {
        case open
        case refused(HTTPRefusal)
        case whole(RequestRulesAgain.Request, length: Int)
    }

    /// Reads as a connection does: what the reader leaves is there again with the next piece.
    private static func read(_ bytes: [UInt8], pieces: [Int]) -> [Outcome] {
        var outcomes: [Outcome] = []
        var reader = RequestReader()
        var begin = 0
        var start = 0
        var end = 0
        for piece in pieces {
            end += piece
            reading: while start < end {
                var position = 0
                let progress = reader.read(bytes.span.extracting(start..<end), at: &position, rules: rules)
                start += position
                switch progress {
                case .needsMore:
                    expect(end - start <= rules.maximumHead, "what is kept is bounded")
                    break reading
                case .whole:
                    outcomes.append(.whole(request(reader), length: start - begin))
                    reader = RequestReader()
                    begin = start
                case .refused(let refusal): return outcomes + [.refused(refusal)]
                }
            }
        }
        return outcomes + [.open]
    }

    private static func request(_ reader: RequestReader) -> RequestRulesAgain.Request {
        var reader = reader
        let (request, form) = reader.takeRequest(peer: PeerAddress(high: 0, low: 1))
        return RequestRulesAgain.Request(
            method: request.method.text, path: request.path, query: request.query, isHTTP11: form.isHTTP11,
            body: request.body, retained: rules.names.flatMap { request.values(of: $0.name) },
            stays: form.keepsConnection)
    }
}

extension HTTPMethod {
    /// As it was sent.
    var text: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .patch: "PATCH"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .other(let method): method
        }
    }
}

extension HTTPRefusal {
    /// What it is answered with.
    var status: Int {
        switch self {
        case .malformed: 400
        case .requestTimeout: 408
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .expectationFailed: 417
        case .headersTooLarge: 431
        case .unsupportedTransferCoding: 501
        case .unsupportedVersion: 505
        case .tooManyConnections, .shuttingDown: 503
        }
    }
}
