import EventLoops
import Glibc
import Synchronization

@testable import HTTPServer

/// Bytes to a whole HTTP server over a socket, and after them so much junk that no request can go on waiting for more.
///
/// - What is handled, and what is refused at the end, is what `RequestRulesAgain` says.
/// - Each request that was handled has one answer, in order, and the refusal one after them; nothing else comes back but
///   leave to send a body, where somebody asked for it.
/// - Every answer is whole (RFC 9112) and says what becomes of the connection, which comes to its end.
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
        let began = ContinuousClock.now
        let socket = LoopbackSocket.connected(to: server.port, number: number)
        // In at most 16 pieces, or in one.
        let isSent =
            socket.send(matter, pieces: pieces == 0 ? matter.count : max(pieces, matter.count / 16))
            && socket.send(junk, pieces: junk.count)
        var received: [UInt8] = []
        while let more = socket.receive() { received += more }
        socket.close()
        expect(LoopbackSocket.lowestFreeDescriptor < 400, "descriptors are given back")
        // A server waits two seconds for its last answer to be read. That a machine stood still so long is no finding.
        if ContinuousClock.now - began > .seconds(1) { return }
        expect(isSent, "a server reads on until its answers are read")
        let leaves = check(received, RequestRulesAgain.judgeAll(matter + junk), handler.handled.withLock { $0 })
        expect(leaves == 0 || matter.text.lowercased().contains("100-continue"), "leave is given to who asks")
    }

    /// More than a head or a body may be, and no line of it means anything to HTTP.
    private static let junk = Array(String(repeating: String(repeating: "?", count: 62) + "\r\n", count: 512).utf8)

    /// Holds what came back against the rules; how often leave to send a body was among it.
    private static func check(_ received: [UInt8], _ judged: [RequestRulesAgain.Verdict], _ handled: [Handled]) -> Int {
        var answers = Answers(received)
        var number = 0
        conversation: for verdict in judged {
            guard let head = answers.finalHead() else { fail("every request is answered: \(verdict)") }
            switch verdict {
            case .open: fail("junk is no request")
            case .whole(let request, _):
                expect(head.status == 200 && head["x-number"] == "\(number)", "answers come in order")
                guard number < handled.count else { fail("what is answered was handled") }
                expect(handled[number] == Handled(request), "what is handled is what was sent")
                number += 1
                let body = answers.body(head, isToHead: request.method == "HEAD")
                expect(request.method == "HEAD" || body == request.body, "a handler's body is sent")
                let wanted: String? = request.stays ? (request.isHTTP11 ? nil : "keep-alive") : "close"
                expect(head["connection"] == wanted, "an answer says what becomes of the connection")
                if !request.stays { break conversation }
            case .refused(let statuses):
                expect(statuses.contains(head.status) && head["x-refused"] == "yes", "a refusal has its status")
                expect(head["connection"] == "close", "a refusal closes")
                // To a HEAD it has no body.
                if !answers.isAtEnd { _ = answers.body(head, isToHead: false) }
            }
        }
        expect(answers.isAtEnd, "nothing follows an answer that closes")
        expect(number == handled.count, "nothing is handled that is not answered")
        return answers.leaves
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
                await server.start()
                ready.store(true, ordering: .releasing)
            }
            while !ready.load(ordering: .acquiring) { usleep(100) }
            return server
        } catch {
            fail("a server starts: \(error)")
        }
    }
}

/// A request that reached the handler.
private struct Handled: Equatable {
    var method: String
    var path: String
    var query: String?
    var body: [UInt8]
    var retained: [String]

    init(_ request: RequestRulesAgain.Request) {
        (method, path, query) = (request.method, request.path, request.query)
        (body, retained) = (request.body, request.retained)
    }

    init(_ request: HTTPRequest) {
        (method, path, query) = (request.method.text, request.path, request.query)
        (body, retained) = (request.body, request.values(of: "authorization") + request.values(of: "x-forwarded-for"))
    }
}

/// Answers with the request's own body and its number; every second one in a task.
private final class Handler: HTTPRequestHandler {
    let handled = Mutex<[Handled]>([])

    func handle(_ request: HTTPRequest) -> HTTPHandling {
        if request.path.utf8.count % 2 == 0 { return .answered(answer(request)) }
        return .awaited { _ in
            await Task.yield()
            return self.answer(request)
        }
    }

    func refusal(_ refusal: HTTPRefusal, of request: HTTPRequest?) -> HTTPResponse {
        HTTPResponse(status: refusal.status, headers: [("x-refused", "yes")], body: Array("refused".utf8))
    }

    private func answer(_ request: HTTPRequest) -> HTTPResponse {
        let number = handled.withLock { handled in
            handled.append(Handled(request))
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
    /// How many heads were leave to go on.
    private(set) var leaves = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    /// The next head that is an answer and no leave to go on; nil at the end.
    mutating func finalHead() -> Head? {
        while !isAtEnd {
            var lines: [String] = []
            while true {
                let line = line()
                if line.isEmpty { break }
                lines.append(line)
            }
            let head = head(lines)
            if head.status != 100 { return head }
            leaves += 1
        }
        return nil
    }

    private mutating func line() -> String {
        guard let end = bytes[position...].firstIndex(of: 0x0A) else { fail("a head is whole") }
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

    /// The body of the answer.
    mutating func body(_ head: Head, isToHead: Bool) -> [UInt8] {
        expect(head["transfer-encoding"] == nil, "an answer's length is known")
        guard let length = head["content-length"].flatMap({ Int($0) }) else { fail("an answer has a length") }
        expect(head.fields.count { $0.name == "content-length" } == 1, "an answer has one length")
        expect(head["date"] != nil, "an answer has a date")
        if isToHead { return [] }
        expect(bytes.count - position >= length, "a body is whole")
        defer { position += length }
        return Array(bytes[position..<(position + length)])
    }
}
