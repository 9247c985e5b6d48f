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
        unsafe fields.removeAll(keepingCapacity: true)
        unsafe fields.append(field(":method", fixed: request.method))
        unsafe fields.append(field(":scheme", fixed: "https"))
        unsafe fields.append(field(":path", length: append(request.path), flags: 0))
        unsafe fields.append(field(":authority", length: append(authority), flags: 0))
        for header in request.headers {
            let flags = header.indexing.flags(isFirstRequest: isFirst)
            unsafe fields.append(field(header.name, length: append(header.value), flags: flags))
        }
        return unsafe text.withUnsafeMutableBufferPointer { values -> Int32 in
            defer { unsafe values.update(repeating: 0) }
            return unsafe fields.withUnsafeMutableBufferPointer { fields in
                unsafe place(&fields, in: values)
                return unsafe body(UnsafeBufferPointer(fields))
            }
        }
    }

    /// Adds a value to the text; its length in bytes.
    private mutating func append(_ string: String) -> Int {
        let before = text.count
        let isDone: Void? = unsafe string.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe text.append(contentsOf: bytes)
        }
        if isDone == nil { text.append(contentsOf: string.utf8) }
        return text.count - before
    }
}

/// Says of the fields that have none yet where their values are: one after the other in the text, which moves no more.
private func place(
    _ fields: inout UnsafeMutableBufferPointer<nghttp2_nv>, in values: UnsafeMutableBufferPointer<UInt8>
) {
    var next = values.baseAddress
    for index in fields.indices where unsafe fields[index].value == nil {
        unsafe fields[index].value = next
        unsafe next = next?.advanced(by: fields[index].valuelen)
    }
}

/// A field whose value is static too.
private func field(_ name: StaticString, fixed value: StaticString) -> nghttp2_nv {
    var field = unsafe field(name, length: value.utf8CodeUnitCount, flags: 0)
    unsafe field.value = UnsafeMutablePointer(mutating: value.utf8Start)
    return unsafe field
}

/// A field whose value is yet to be placed. Names are static and in lower case, so nghttp2 need not copy them; values live
/// until the call ends, so it must.
private func field(_ name: StaticString, length: Int, flags: UInt32) -> nghttp2_nv {
    let all = UInt8(flags | NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
    return unsafe nghttp2_nv(
        name: UnsafeMutablePointer(mutating: name.utf8Start), value: nil, namelen: name.utf8CodeUnitCount,
        valuelen: length, flags: all)
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
