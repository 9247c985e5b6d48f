/// Reads a proxy's answer to `CONNECT` as its bytes come, and not one byte more: what follows belongs to TLS.
///
/// A value without I/O; ``ProxyTunnel`` hands it what the socket gives. Any 2xx opens the tunnel, whatever words stand
/// behind it and whatever fields follow (RFC 9110, section 9.3.6: a length means nothing there); interim answers are
/// passed over.
struct ProxyAnswer {
    /// Bytes of an answer's head, interim answers among it, that are read before it is given up.
    static let longestHead = 16 * 1024

    /// What the bytes so far come to.
    enum Verdict: Equatable {
        /// The head is not whole yet.
        case wantsMore
        /// The tunnel stands.
        case opened
        /// There will be none.
        case refused(Unreachable)
    }

    private static let beginning = Array("HTTP/1.".utf8)

    private var line: [UInt8] = []
    private var count = 0
    private var status: Int?

    /// Takes bytes until the head ends; says how many were part of it.
    mutating func take(_ bytes: some Sequence<UInt8>) -> (taken: Int, verdict: Verdict) {
        var taken = 0
        for byte in bytes {
            taken += 1
            count += 1
            guard count <= Self.longestHead else { return (taken, .refused(.proxyAnswerInvalid)) }
            guard byte != UInt8(ascii: "\n") else {
                let verdict = endLine()
                if verdict != .wantsMore { return (taken, verdict) }
                continue
            }
            line.append(byte)
            // So that a proxy which wants TLS is found out by its first byte and not by its silence.
            if status == nil, line.count <= Self.beginning.count, byte != Self.beginning[line.count - 1] {
                return (taken, .refused(.proxyAnswerInvalid))
            }
        }
        return (taken, .wantsMore)
    }

    private mutating func endLine() -> Verdict {
        // A line may end without CR (RFC 9112, section 2.2).
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        defer { line.removeAll(keepingCapacity: true) }
        guard let status else {
            guard let read = Self.status(line) else { return .refused(.proxyAnswerInvalid) }
            self.status = read
            return .wantsMore
        }
        guard line.isEmpty else { return .wantsMore }
        switch status {
        case 101: return .refused(.proxyRefused(status: status))
        case 100..<200:
            self.status = nil
            return .wantsMore
        case 200..<300: return .opened
        default: return .refused(.proxyRefused(status: status))
        }
    }

    /// The code of `HTTP/1.x nnn`, with or without words behind it (RFC 9112, section 4).
    private static func status(_ line: [UInt8]) -> Int? {
        func digit(_ index: Int) -> Int? {
            let value = Int(line[index]) - 0x30
            return (0...9).contains(value) ? value : nil
        }
        guard line.count >= 12, line.starts(with: beginning), digit(7) != nil, line[8] == UInt8(ascii: " "),
            line.count == 12 || line[12] == UInt8(ascii: " "),
            let hundreds = digit(9), let tens = digit(10), let ones = digit(11), hundreds > 0
        else { return nil }
        return hundreds * 100 + tens * 10 + ones
    }
}
