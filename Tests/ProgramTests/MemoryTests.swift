import Glibc
import GrytPushPreview
import PushSimulator
import Testing

/// What is left in the relay's memory of what it has handled, for whoever comes to read it: the next owner of a swapped
/// page, a debugger of root's, a stopped machine.
@Suite(.timeLimit(.minutes(3)))
struct MemoryTests {
    @Test(.enabled(if: geteuid() == 0, "only root may read the memory of a process that forbids dumps"))
    func `nothing stays in memory of the phones that were rung but of the last`() async throws {
        try await Stage.run(["WORKERS": "1"]) { stage in
            var needles: [String: [UInt8]] = [:]
            var capabilities: [String] = []
            for index in 0..<40 {
                let (phone, capability) = try await stage.newPhone(
                    index.isMultiple(of: 2) ? .ios : .android, opens: index.isMultiple(of: 4))
                capabilities.append(capability)
                // The first ones are long: what comes after them is shorter, and must not leave their ends.
                let body = "Lovelace \(index)" + String(repeating: ".", count: index < 2 ? 1400 : 0)
                let preview = phone.seal(.init(title: "Ada", body: body), tag: tag(of: capability))
                #expect(try await stage.relay.push(capability, preview: preview).status == 202)
                needles["token \(index)"] = Array(phone.token.utf8)
                if phone.platform == .ios { needles["bytes of token \(index)"] = hexBytes(phone.token) }
                needles["capability \(index)"] = Array(capability.utf8)
                needles["preview \(index)"] = Array(preview.utf8)
            }
            // One more that registers and is never rung; pushes to others come after it.
            let (silent, capability) = try await stage.newPhone(.ios)
            needles["token of the silent one"] = Array(silent.token.utf8)
            needles["capability of the silent one"] = Array(capability.utf8)
            for capability in capabilities.suffix(2) { #expect(try await stage.relay.push(capability).status == 202) }
            // Buffers that are used for each push still hold the last one of either service: nothing of any before it.
            let last = ["38", "39"]
            let found = ProcessMemory(of: stage.relay.process.id).find(needles)
            #expect(found.filter { place in !last.contains { place.contains(" \($0) ") } } == [])
        }
    }
}

/// The writable memory of another process.
private struct ProcessMemory {
    private let process: pid_t

    init(of process: pid_t) { self.process = process }

    /// How many bytes in a row of a text count as a find.
    private static let length = 16

    /// Which of the texts are there, and where.
    func find(_ needles: [String: [UInt8]]) -> Set<String> {
        // Pieces by their first eight bytes, and a table of first bytes that tells most places apart at once.
        var pieces: [UInt64: [(name: String, bytes: ArraySlice<UInt8>)]] = [:]
        var begins = [Bool](repeating: false, count: 65_536)
        for (name, needle) in needles {
            for start in stride(from: 0, through: needle.count - Self.length, by: Self.length) {
                let piece = needle[start..<start + Self.length]
                pieces[piece.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, default: []].append((name, piece))
                begins[Int(piece[start]) << 8 | Int(piece[start + 1])] = true
            }
        }
        let file = unsafe open("/proc/\(process)/mem", O_RDONLY)
        precondition(file >= 0, "the memory of the relay cannot be read")
        defer { close(file) }
        var found: Set<String> = []
        for region in regions() {
            var bytes = [UInt8](repeating: 0, count: region.size)
            let count = unsafe pread(file, &bytes, bytes.count, off_t(region.start))
            guard count > Self.length else { continue }
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe begins.withUnsafeBufferPointer { begins in
                    var place = 0
                    while place + Self.length <= count {
                        if unsafe begins[Int(bytes[place]) << 8 | Int(bytes[place + 1])] {
                            let key = unsafe bytes[place..<place + 8].reduce(0) { $0 << 8 | UInt64($1) }
                            for piece in pieces[key] ?? []
                            where unsafe bytes[place..<place + Self.length].elementsEqual(piece.bytes) {
                                found.insert("\(piece.name) in \(region.name)")
                            }
                        }
                        place += 1
                    }
                }
            }
        }
        return found
    }

    private struct Region {
        var start: UInt
        var size: Int
        var name: String
    }

    private func regions() -> [Region] {
        let files = ScratchDirectory()
        shell("cp /proc/\(process)/maps '\(files.path)/maps'")
        return files.text("maps").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard words[1].hasPrefix("rw"), ends.count == 2 else { return nil }
            let name = words.count > 5 ? String(words[5]) : "memory without a name"
            return Region(start: ends[0], size: Int(ends[1] - ends[0]), name: name)
        }
    }
}
