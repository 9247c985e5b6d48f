import Testing

@testable import HTTP2Client

@Suite(.timeLimit(.minutes(1)))
struct ProxyAnswerTests {
    /// The verdict over a text that comes in pieces of so many bytes, and how many bytes of it were taken.
    private func read(_ text: String, by size: Int) -> (taken: Int, verdict: ProxyAnswer.Verdict) {
        var answer = ProxyAnswer()
        var rest = Array(text.utf8)[...]
        var taken = 0
        while !rest.isEmpty {
            let step = answer.take(rest.prefix(size))
            taken += step.taken
            rest = rest.dropFirst(step.taken)
            if step.verdict != .wantsMore { return (taken, step.verdict) }
        }
        return (taken, .wantsMore)
    }

    @Test(arguments: [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\nVia: 1.0 squid\r\n\r\n",
        "HTTP/1.1 200 \r\n\r\n", "HTTP/1.1 200\r\n\r\n", "HTTP/1.1 299 whatever this may be\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\n\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ])
    func `any 2xx opens the tunnel, and what follows the head is left alone`(head: String) {
        for size in [1, 2, 3, 7, 10_000] {
            let (taken, verdict) = read(head + "\u{16}\u{3}\u{3}HTTP/1.1 500 No\r\n\r\n", by: size)
            #expect(verdict == .opened)
            #expect(taken == head.utf8.count)
        }
    }

    @Test(arguments: [101, 300, 400, 403, 407, 502, 503, 504, 599, 999])
    func `any other status is a refusal with its number`(status: Int) {
        let head = "HTTP/1.1 \(status) No\r\nContent-Length: 4\r\n\r\n"
        for size in [1, 5, 10_000] {
            #expect(read(head + "body", by: size).verdict == .refused(.proxyRefused(status: status)))
        }
    }

    @Test(arguments: [
        "\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.x 200 OK\r\n\r\n",
        "HTTP/1.1200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1\r\n\r\n", "\r\n\r\n", "\n", "SSH-2.0-x\r\n", "<html>", "http/1.1 200 OK\r\n\r\n",
    ])
    func `what is no answer in HTTP1 is told as such`(text: String) {
        for size in [1, 4, 10_000] { #expect(read(text, by: size).verdict == .refused(.proxyAnswerInvalid)) }
    }

    @Test func `a proxy that wants TLS is found out by its first byte`() {
        #expect(read("\u{15}", by: 1).verdict == .refused(.proxyAnswerInvalid))
    }

    @Test(arguments: ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nVia: x\r\n", "HTTP/", ""])
    func `a head that has not ended wants more`(text: String) {
        #expect(read(text, by: 1).verdict == .wantsMore)
    }

    @Test func `a head without an end is given up`() {
        let endless = [
            "HTTP/1.1 200 " + String(repeating: "a", count: 20_000),
            "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 3400),
            String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1000),
        ]
        for text in endless {
            let (taken, verdict) = read(text, by: 1000)
            #expect(verdict == .refused(.proxyAnswerInvalid))
            #expect(taken == ProxyAnswer.longestHead + 1)
        }
    }
}
