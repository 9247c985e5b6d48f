import EventLoops
import Glibc
import Synchronization

@testable import HTTPServer

/// Bytes to a whole HTTP server over a socket, and after them so much junk that no request can go on waiting for more.
///
/// - The connection comes to its end.
/// - What came back is answers of HTTP/1.1 and nothing else, each whole (RFC 9112), but for what the library closes over.
/// - Each request that was handled has one answer, in order; nothing else has one of the handler's answers.
/// - No descriptor stays open.
enum HTTPServerTarget {
    private static let handler = Handler()
    private static let server = start()
    nonisolated(unsafe) private static var number: UInt16 = 0

    static func take(_ bytes: [UInt8]) {
        var input = Input(bytes)
        let pieces = Int(input.byte())
        let matter = input.rest()
        number &+= 1
        handler.handled.withLock { $0 = [] }
        let socket = LoopbackSocket.connected(to: server.port, number: number)
        // In at most 16 pieces, or in one.
        let isWhole = socket.send(matter, pieces: pieces == 0 ? matter.count : max(pieces, matter.count / 16))
        if isWhole { _ = socket.send(junk, pieces: junk.count) }
        var received: [UInt8] = []
        while let more = socket.receive() { received += more }
        socket.close()
        check(received, handler.handled.withLock { $0 })
        expect(LoopbackSocket.lowestFreeDescriptor < 400, "descriptors are given back")
    }

    /// More than a head or a body may be, and no line of it means anything to HTTP.
    private static let junk = Array(String(repeating: String(repeating: "?", count: 62) + "\r\n", count: 512).utf8)

    private static func check(_ received: [UInt8], _ handled: [Handled]) {
        var answers = Answers(received)
        var next = 0
        var isClosed = false
        while let head = answers.head() {
            expect(!isClosed, "nothing follows an answer that closes")
            if head.status == 100 { continue }
            let ours = head["x-number"].flatMap { Int($0) }
            if let ours {
                expect(next < handled.count && ours == next, "answers come in the order of their requests")
                let request = handled[next]
                next += 1
                expect(head.status == 200, "a handler's status is sent")
                guard let body = answers.body(head, isToHead: request.method == .head) else { break }
                if request.method != .head { expect(body.count == request.body, "a handler's body is sent") }
            } else {
                expect(head.status >= 400, "only the handler says that it is well")
                expect(next == handled.count, "what is refused ends the conversation")
                let isToHead = answers.isAtEnd
                guard answers.body(head, isToHead: isToHead) != nil else { break }
                expect(head["connection"]?.lowercased() == "close", "a refusal closes")
            }
            isClosed = head["connection"]?.lowercased() == "close"
        }
        expect(answers.isAtEnd || answers.isCut, "there is nothing between the answers")
        // After a reset the last answers may be lost, so there may be fewer; more there cannot be.
        expect(next <= handled.count, "nothing is answered that was not asked")
    }

    private static func start() -> HTTPServer {
        do {
            let loop = try EventLoop(name: "fuzz-http")
            try loop.start()
            var configuration = HTTPServerConfiguration()
            configuration.retainedHeaders = ["authorization", "x-forwarded-for"]
            let server = HTTPServer(
                on: loop, listener: try .open(host: "0.0.0.0", port: 0), configuration: configuration, handler: handler)
            let ready = Atomic(false)
            Task(executorPreference: loop) {
                try await server.start()
                ready.store(true, ordering: .releasing)
            }
            while !ready.load(ordering: .acquiring) { usleep(100) }
            return server
        } catch {
            fail("a server starts: \(error)")
        }
    }
}

/// A request that reached the handler, as far as its answer depends on it.
private struct Handled {
    var method: HTTPMethod
    var body: Int
}

/// Answers with the request's own body and its number; every second one in a task.
private final class Handler: HTTPRequestHandler {
    let handled = Mutex<[Handled]>([])

    func answerAtOnce(to request: HTTPRequest) -> HTTPResponse? {
        request.path.utf8.count % 2 == 0 ? answer(request) : nil
    }

    func respond(to request: HTTPRequest, exchange: HTTPExchange) async -> HTTPResponse {
        await Task.yield()
        return answer(request)
    }

    func refusal(_ refusal: HTTPRefusal, of request: HTTPRequest?) -> HTTPResponse {
        HTTPResponse(status: 400, headers: [("x-refused", "yes")], body: Array("refused".utf8))
    }

    private func answer(_ request: HTTPRequest) -> HTTPResponse {
        expect(request.body.count <= 8192, "a body is within its bound")
        expect(request.path.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a path is visible ASCII")
        for value in request.values(of: "authorization") {
            expect(!value.utf8.contains { $0 < 0x20 && $0 != 9 }, "a value has no control characters")
        }
        let number = handled.withLock { handled in
            handled.append(Handled(method: request.method, body: request.body.count))
            return handled.count - 1
        }
        return HTTPResponse(status: 200, headers: [("x-number", "\(number)")], body: request.body)
    }
}

/// A reader of answers that takes nothing on trust.
private struct Answers {
    struct Head {
        var status: Int
        var fields: [(name: String, value: String)]

        subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    }

    private let bytes: [UInt8]
    private var position = 0
    /// Whether the last answer was cut off by the end of the connection.
    private(set) var isCut = false

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    /// The next head; nil at the end, and where the rest is a part of one.
    mutating func head() -> Head? {
        guard !isAtEnd else { return nil }
        var lines: [String] = []
        while let line = line() {
            if line.isEmpty { return head(lines) }
            lines.append(line)
        }
        isCut = true
        return nil
    }

    private mutating func line() -> String? {
        guard let end = bytes[position...].firstIndex(of: 0x0A) else { return nil }
        expect(end > position && bytes[end - 1] == 0x0D, "a line ends with CR LF")
        let line = bytes[position..<(end - 1)]
        expect(line.allSatisfy { (0x20...0x7E).contains($0) }, "a head is plain ASCII")
        position = end + 1
        return String(decoding: line, as: UTF8.self)
    }

    private func head(_ lines: [String]) -> Head {
        let words = (lines.first ?? "").split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count == 3, words[0] == "HTTP/1.1", words[1].utf8.count == 3, let status = Int(words[1]) else {
            fail("an answer begins with a status line: \(lines.first ?? "")")
        }
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            expect(parts.count == 2 && !parts[0].contains(" "), "a field has a name")
            return (parts[0].lowercased(), String(parts[1].drop { $0 == " " }))
        }
        return Head(status: status, fields: fields)
    }

    /// The body of the answer; nil where it is cut off.
    mutating func body(_ head: Head, isToHead: Bool) -> [UInt8]? {
        expect(head["transfer-encoding"] == nil, "an answer's length is known")
        guard let length = head["content-length"].flatMap({ Int($0) }) else { fail("an answer has a length") }
        expect(head.fields.count { $0.name == "content-length" } == 1, "an answer has one length")
        expect(head["date"] != nil, "an answer has a date")
        if isToHead { return [] }
        guard bytes.count - position >= length else {
            isCut = true
            position = bytes.count
            return nil
        }
        defer { position += length }
        return Array(bytes[position..<(position + length)])
    }
}
