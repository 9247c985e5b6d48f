import CNghttp2

/// The header fields of one request in the form that nghttp2 takes. Used again for the next one, so that after the first
/// few requests nothing is allocated.
@safe struct HeaderBlock {
    private var fields: [nghttp2_nv] = unsafe []
    private var text: [UInt8] = []

    /// Lends the fields of a request for the time of the call, the pseudo-headers first (RFC 9113 section 8.3). Overwrites
    /// the values afterwards: they name phones. nghttp2 has its copies by then, and overwrites those when it frees them
    /// (docs/decisions/wiped-memory.md).
    @unsafe mutating func fill(
        with request: HTTP2Request, authority: String, isFirst: Bool,
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) -> Int32 {
        text.removeAll(keepingCapacity: true)
        append(request.path)
        append(authority)
        for header in request.headers { append(header.value) }
        unsafe fields.removeAll(keepingCapacity: true)
        return unsafe text.withUnsafeMutableBufferPointer { values -> Int32 in
            guard var value = values.baseAddress else { return -1 }
            defer { unsafe values.update(repeating: 0) }
            let method = request.method
            unsafe fields.append(field(":method", method.utf8Start, method.utf8CodeUnitCount, flags: 0))
            let scheme: StaticString = "https"
            unsafe fields.append(field(":scheme", scheme.utf8Start, scheme.utf8CodeUnitCount, flags: 0))
            unsafe fields.append(field(":path", value, request.path.utf8.count, flags: 0))
            unsafe value += request.path.utf8.count
            unsafe fields.append(field(":authority", value, authority.utf8.count, flags: 0))
            unsafe value += authority.utf8.count
            for header in request.headers {
                let count = header.value.utf8.count
                let flags = header.indexing.flags(isFirstRequest: isFirst)
                unsafe fields.append(field(header.name, value, count, flags: flags))
                unsafe value += count
            }
            return unsafe fields.withUnsafeBufferPointer { unsafe body($0) }
        }
    }

    private mutating func append(_ string: String) {
        let isDone: Void? = unsafe string.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe text.append(contentsOf: bytes)
        }
        if isDone == nil { text.append(contentsOf: string.utf8) }
    }
}

/// Names are static and in lower case, so nghttp2 need not copy them; values live until the call ends, so it must.
private func field(
    _ name: StaticString, _ value: UnsafePointer<UInt8>, _ count: Int, flags: UInt32
) -> nghttp2_nv {
    let all = UInt8(flags | NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
    return unsafe nghttp2_nv(
        name: UnsafeMutablePointer(mutating: name.utf8Start), value: UnsafeMutablePointer(mutating: value),
        namelen: name.utf8CodeUnitCount, valuelen: count, flags: all)
}

extension HTTP2HeaderIndexing {
    /// nghttp2 knows two forms: indexed as it thinks right (which for `:path`, `content-length` and `authorization`
    /// is "not"), and never indexed.
    fileprivate func flags(isFirstRequest: Bool) -> UInt32 {
        switch self {
        case .incremental: NGHTTP2_NV_FLAG_NONE.rawValue
        case .incrementalFirstThenNever:
            isFirstRequest ? NGHTTP2_NV_FLAG_NONE.rawValue : NGHTTP2_NV_FLAG_NO_INDEX.rawValue
        case .neverIndexed: NGHTTP2_NV_FLAG_NO_INDEX.rawValue
        }
    }
}
