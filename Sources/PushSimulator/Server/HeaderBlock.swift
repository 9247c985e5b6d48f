import CNghttp2

/// Header fields gathered in one piece of memory, in the form in which nghttp2 takes them. nghttp2 copies them.
struct HeaderBlock {
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    /// Adds a field after those there are.
    mutating func append(_ name: String, _ value: String) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: value.utf8)
        lengths.append((name.utf8.count, value.utf8.count))
    }

    /// Lends the fields for the length of the call.
    mutating func withFields(_ body: (UnsafeBufferPointer<nghttp2_nv>) -> Void) {
        let lengths = lengths
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            guard var next = bytes.baseAddress else {
                unsafe body(UnsafeBufferPointer(start: nil, count: 0))
                return
            }
            var fields: [nghttp2_nv] = unsafe []
            unsafe fields.reserveCapacity(lengths.count)
            for length in lengths {
                let value = unsafe next + length.name
                unsafe fields.append(
                    nghttp2_nv(
                        name: next, value: value, namelen: length.name, valuelen: length.value,
                        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
                unsafe next = value + length.value
            }
            unsafe fields.withUnsafeBufferPointer { fields in unsafe body(fields) }
        }
    }
}
