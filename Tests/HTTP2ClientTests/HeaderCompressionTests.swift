import CNghttp2
import HTTP2Client
import Synchronization
import Testing

/// How header fields travel: Apple keeps a small table and says what should enter it.
@Suite(.timeLimit(.minutes(1)))
struct HeaderCompressionTests {
    private let authority = TestAuthority()

    /// Decodes header blocks as a peer does.
    @safe private final class Inflater {
        private var inflater: OpaquePointer?

        init() { unsafe nghttp2_hd_inflate_new(&inflater) }
        deinit { unsafe nghttp2_hd_inflate_del(inflater) }

        /// Name, value, and whether the field was marked as never to be indexed.
        func fields(of block: [UInt8]) -> [(name: String, value: String, neverIndexed: Bool)] {
            var result: [(String, String, Bool)] = []
            var offset = 0
            while true {
                var field = unsafe nghttp2_nv()
                var flags: Int32 = 0
                let count = unsafe block.withUnsafeBufferPointer { bytes in
                    unsafe nghttp2_hd_inflate_hd2(
                        inflater, &field, &flags, bytes.baseAddress.map { unsafe $0 + offset }, block.count - offset, 1)
                }
                guard count >= 0 else { return result }
                offset += count
                if UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0 {
                    let name = unsafe String(
                        decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self)
                    let value = unsafe String(
                        decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen), as: UTF8.self)
                    let isNever = unsafe UInt32(field.flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0
                    result.append((name, value, isNever))
                }
                if UInt32(flags) & NGHTTP2_HD_INFLATE_FINAL.rawValue != 0 {
                    unsafe nghttp2_hd_inflate_end_headers(inflater)
                    return result
                }
            }
        }

    }

    @Test func `fields travel as their kind wants, on the first request and on later ones`() async throws {
        let seen = Mutex<[[String]]>([])
        let sizes = Mutex<[Int]>([])
        try await withPeer(authority.issue()) { peer in
            try peer.begin()
            let inflater = Inflater()
            while true {
                let frame = try peer.next(.headers)
                let fields = inflater.fields(of: frame.payload)
                seen.withLock { $0.append(fields.map { "\($0.name)=\($0.value)\($0.neverIndexed ? "!" : "")" }) }
                sizes.withLock { $0.append(frame.payload.count) }
                try peer.answer(frame.stream)
            }
        } body: { peer in
            try await PoolFixture.with(port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile) { fixture in
                for number in 1...3 {
                    let request = HTTP2Request(
                        path: "/3/device/\(number)",
                        headers: [
                            HTTP2Header(name: "apns-topic", value: "chat.gryt.app"),
                            HTTP2Header(
                                name: "apns-id", value: "0000-\(number)", indexing: .incrementalFirstThenNever),
                            HTTP2Header(name: "authorization", value: "bearer xyz", indexing: .neverIndexed),
                        ])
                    let response = try await fixture.pool.send(request, timeout: .seconds(20))
                    #expect(response.status == 200)
                }
                let authority = "127.0.0.1:\(peer.port)"
                func expected(_ number: Int, _ mark: String) -> [String] {
                    [
                        ":method=POST", ":scheme=https", ":path=/3/device/\(number)", ":authority=\(authority)",
                        "apns-topic=chat.gryt.app", "apns-id=0000-\(number)\(mark)", "authorization=bearer xyz!",
                    ]
                }
                #expect(seen.withLock { $0 } == [expected(1, ""), expected(2, "!"), expected(3, "!")])
                // The second block is the smaller for everything that entered the table; the third for nothing more.
                let sizes = sizes.withLock { $0 }
                #expect(sizes[1] < sizes[0])
                #expect(sizes[2] == sizes[1])
            }
        }
    }
}
