import Glibc
import PushSimulator
import Synchronization
import Testing

/// A relay with an operator's port.
struct OperatedRelay: Sendable {
    let relay: RelayUnderTest
    let operatorPort: UInt16

    /// Starts one, with these settings besides the usual ones.
    init(_ settings: [String: String], in directory: ScratchDirectory = ScratchDirectory()) async throws {
        operatorPort = try freePort()
        relay = try await RelayUnderTest(
            settings.merging(["METRICS_PORT": String(operatorPort)]) { $1 }, in: directory)
        // The operator's port opens last.
        await relay.logged("event=operator_listening")
    }

    /// Asks the operator's port.
    func ask(_ path: String, method: String = "GET") async throws -> Answer {
        let port = operatorPort
        return try await onOwnThread {
            let client = try RawClient(port: port)
            try client.send(request(method, path))
            return try client.nextAnswer(toHead: method == "HEAD")
        }
    }

    /// A scrape: what stands behind each name and its labels.
    func scrape() async throws -> Scrape { Scrape(text: try await ask("/metrics").body) }

    /// Scrapes until this holds; gives the scrape that it held in.
    @discardableResult
    func scrape(until isSo: (Scrape) -> Bool) async throws -> Scrape {
        while true {
            let scrape = try await scrape()
            if isSo(scrape) { return scrape }
        }
    }
}

/// What one scrape gave.
struct Scrape: Sendable {
    let text: String
    let values: [String: String]

    init(text: String) {
        self.text = text
        let pairs = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let end = line.lastIndex(of: " ") ?? line.endIndex
            return (String(line[..<end]), String(line[end...].dropFirst()))
        }
        values = Dictionary(pairs) { _, _ in "twice" }
    }

    /// The number behind a name with its labels, as they stand on the page; nil where there is none.
    subscript(_ name: String) -> Int? { values[name].flatMap { Int($0) } }

    /// Names of metrics that have at least one sample.
    var names: Set<String> {
        Set(
            text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map { String($0.split(separator: " ")[2]) })
    }
}

/// A port that nobody has at this moment.
func freePort() throws -> UInt16 {
    while true {
        let (descriptor, port) = try loopbackListener()
        close(descriptor)
        if portsGiven.withLock({ $0.insert(port).inserted }) { return port }
    }
}

/// The kernel may choose a port again as soon as it is closed, and so give one program the same for two purposes.
private let portsGiven = Mutex<Set<UInt16>>([])

/// A listening socket on a port of the kernel's choice, which nobody answers on. The caller closes it.
func loopbackListener() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = unsafe withUnsafeMutableBytes(of: &address) { bytes in
        let pointer = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
        return unsafe bind(descriptor, pointer, size) == 0 && listen(descriptor, 128) == 0
            && getsockname(descriptor, pointer, &size) == 0
    }
    guard isListening else { throw ProcessFault(call: "listen", errno: errno) }
    return (descriptor, UInt16(bigEndian: address.sin_port))
}
