/// What stands between the method and the version, taken as it came.
///
/// libmicrohttpd decodes the target in place before it calls the handler, so this is read from the earlier callback
/// that sees it raw.
struct RequestTarget {
    /// The path and the query; empty and nil where ``isPath`` is false.
    let path: String
    let query: String?
    /// Whether it begins with a slash and holds visible ASCII without `#` only.
    let isPath: Bool
    /// The number of arguments into which the library takes the query apart.
    let arguments: Int
    /// Where in memory it stands, for ``RequestHeadCheck``.
    let place: Place

    init(_ bytes: Span<UInt8>, at address: UInt) {
        place = Place(address: address, length: bytes.count)
        var isPath = !bytes.isEmpty && bytes[0] == UInt8(ascii: "/")
        var mark: Int?
        var separators = 0
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "#"): isPath = false
            case UInt8(ascii: "?"): mark = mark ?? index
            case UInt8(ascii: "&"): separators += 1
            case 0x21...0x7e: break
            default: isPath = false
            }
        }
        self.isPath = isPath
        arguments = separators + 1
        guard isPath else {
            path = ""
            query = nil
            return
        }
        path = String(ascii: bytes, 0..<(mark ?? bytes.count))
        query = mark.map { String(ascii: bytes, ($0 + 1)..<bytes.count) }
    }
}

/// A stretch of the receive buffer, as numbers: nothing is read through it.
struct Place {
    let address: UInt
    let length: Int

    /// The address after its last byte.
    var end: UInt { address &+ UInt(length) }
}

extension String {
    /// The bytes of a range, which the caller knows to be UTF-8; anything else is repaired.
    init(ascii bytes: Span<UInt8>, _ range: Range<Int>) {
        self = unsafe bytes.extracting(range).withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
