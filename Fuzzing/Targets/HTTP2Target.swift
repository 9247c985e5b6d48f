import EventLoops
import Glibc
import Synchronization

@testable import HTTP2Client

/// Bytes of a peer to a whole pool of HTTP/2 connections, over a socket and without TLS (`plain-channel.c`), and then the
/// end of the connection.
///
/// - Each request ends once: a second end traps in the room, and a missing one is waited for in vain here.
/// - What is sent is the preface and whole frames of HTTP/2 (RFC 9113 section 4.1), and no more of it than was asked for.
/// - An answer is within its bounds, and is one only where the peer's bytes can have made one.
/// - No descriptor stays open.
enum HTTP2Target {
    private static let listener = LoopbackSocket.listening()
    private static let loop = startLoop()
    private static let trust = makeTrust()
    nonisolated(unsafe) private static var number: UInt16 = 0

    static func take(_ bytes: [UInt8]) {
        var input = Input(bytes)
        let requests = 1 + Int(input.byte() % 4)
        let pieces = Int(input.byte())
        let matter = input.rest()
        number &+= 1
        let url = "https://127.2.\(number >> 8).\(number & 255):\(listener.port)"
        guard let origin = Origin(url: url) else { fail("an address is an origin") }
        let conversation = Conversation(on: loop, origin, trust, requests: requests)
        let socket = listener.socket.accepted()
        var sent = SentFrames()
        while sent.wholeRequests < requests {
            guard let more = socket.receive() else { fail("requests leave at once") }
            sent.take(more)
        }
        _ = socket.send(matter, pieces: pieces == 0 ? matter.count : max(pieces, matter.count / 16))
        socket.endWriting()
        while let more = socket.receive() { sent.take(more) }
        socket.close()
        sent.finish()
        // Much is answered once: settings, pings. A peer gets no more out of it than it puts in.
        expect(sent.count <= 4096 + 4 * matter.count, "a peer is not told more than it asked")
        for answer in conversation.end() { check(answer, matter) }
        expect(LoopbackSocket.lowestFreeDescriptor < 100, "descriptors are given back")
    }

    private static func check(_ answer: Result<HTTP2Response, HTTP2Failure>, _ matter: [UInt8]) {
        guard case .success(let response) = answer else { return }
        expect((200...999).contains(response.status), "an answer has a final status")
        expect(response.body.count <= Conversation.longestBody, "a body is within its bound")
        expect(response.body.count <= matter.count, "a body comes from the peer")
        expect(matter.count >= 10, "an answer takes more than the head of a frame")
    }

    private static func startLoop() -> EventLoop {
        do {
            let loop = try EventLoop(name: "fuzz-http2")
            try loop.start()
            return loop
        } catch { fail("a loop starts: \(error)") }
    }

    private static func makeTrust() -> TLSTrust {
        do { return try TLSTrust(additionalRootsFile: nil) } catch { fail("trust can be set up: \(error)") }
    }
}

/// A pool with its requests under way.
private final class Conversation: Sendable {
    static let longestBody = 1024

    private let loop: EventLoop
    private let pool: HTTP2Pool
    private let requests: Int
    private let answers = Mutex<[Result<HTTP2Response, HTTP2Failure>]>([])

    init(on loop: EventLoop, _ origin: Origin, _ trust: TLSTrust, requests: Int) {
        self.loop = loop
        self.requests = requests
        var configuration = HTTP2PoolConfiguration(initialStreamLimit: 10)
        configuration.maximumResponseBody = Self.longestBody
        configuration.maximumHeaderList = 2048
        configuration.retainedHeaders = ["retry-after", "apns-id"]
        pool = HTTP2Pool(on: loop, origin: origin, trust: trust, configuration: configuration)
        for index in 0..<requests {
            Task(executorPreference: loop) { [self] in
                let body = Array(repeating: UInt8(ascii: "b"), count: index * 100)
                do throws(HTTP2Failure) {
                    let response = try await pool.send(HTTP2Request(path: "/", body: body), timeout: .seconds(60))
                    note(.success(response))
                } catch {
                    note(.failure(error))
                }
            }
        }
    }

    private func note(_ answer: Result<HTTP2Response, HTTP2Failure>) {
        answers.withLock { $0.append(answer) }
    }

    /// Closes the pool and waits until it has let go of everything.
    func end() -> [Result<HTTP2Response, HTTP2Failure>] {
        let isOver = Atomic(false)
        Task(executorPreference: loop) { [pool] in
            // What has ended by itself needs no help; it is given a turn to do so.
            while await pool.snapshot().inFlight > 0 { await Task.yield() }
            await pool.close()
            isOver.store(true, ordering: .releasing)
        }
        for _ in 0..<200_000 {
            let answers = answers.withLock { $0 }
            if isOver.load(ordering: .acquiring), answers.count == requests { return answers }
            usleep(50)
        }
        fail("each request comes to its end")
    }
}

/// What the client sends, cut into frames.
private struct SentFrames {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private var bytes: [UInt8] = []
    private var position = 0
    /// How many requests have been sent to their end.
    private(set) var wholeRequests = 0

    /// How many bytes there were.
    var count: Int { bytes.count }

    mutating func take(_ more: [UInt8]) {
        bytes += more
        if position == 0 {
            guard bytes.count >= Self.preface.count else { return }
            expect(bytes.starts(with: Self.preface), "a client begins with the preface")
            position = Self.preface.count
        }
        while bytes.count - position >= 9 {
            let length = Int(bytes[position]) << 16 | Int(bytes[position + 1]) << 8 | Int(bytes[position + 2])
            expect(length <= 16_384, "a frame is no longer than any peer takes")
            guard bytes.count - position >= 9 + length else { return }
            let type = bytes[position + 3]
            expect(type <= 9 && type != 5, "a client sends the frames of RFC 9113")
            // END_STREAM, of DATA and HEADERS.
            if type <= 1, bytes[position + 4] & 1 != 0 { wholeRequests += 1 }
            position += 9 + length
        }
    }

    /// Nothing more comes.
    func finish() {
        expect(position == bytes.count, "a client sends whole frames")
    }
}
