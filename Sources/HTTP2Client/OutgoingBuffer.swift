/// Bytes that wait to be written: frames go in at the end, what the socket took goes out in front. Loop thread.
@safe final class OutgoingBuffer {
    /// Frames are gathered as long as no more than this waits: one write takes it, and a peer that takes nothing
    /// cannot make us hold more.
    private static let enough = 64 * 1024
    /// nghttp2 hands out pieces of at most 16 KiB and a frame's head, and one of them may come behind another's DATA frame, so
    /// the last ones always fit.
    private static let capacity = enough + 40 * 1024

    private let storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    init() {
        unsafe storage = .allocate(byteCount: Self.capacity, alignment: 16)
    }

    deinit {
        unsafe storage.deallocate()
    }

    /// Moves what waits to the front; call before appending.
    func compact() {
        guard start > 0, let base = unsafe storage.baseAddress else { return }
        unsafe base.copyMemory(from: base.advanced(by: start), byteCount: end - start)
        unsafe storage[end - start..<end].initializeMemory(as: UInt8.self, repeating: 0)
        end -= start
        start = 0
    }

    /// Whether another frame may be appended.
    var hasRoom: Bool { end < Self.enough }

    /// Whether nothing waits.
    var isEmpty: Bool { start == end }

    /// What waits. Valid until the buffer is changed.
    var waiting: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: storage[start..<end])
    }

    /// Adds a frame.
    func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(end + bytes.count <= Self.capacity, "a frame larger than any that HTTP/2 sends here")
        guard let source = bytes.baseAddress else { return }
        unsafe storage.baseAddress?.advanced(by: end).copyMemory(from: source, byteCount: bytes.count)
        end += bytes.count
    }

    /// Drops what has been written, and overwrites it: it names phones, and the buffer is used for as long as the connection
    /// lasts.
    func consume(_ count: Int) {
        precondition(count <= end - start, "more was written than waited")
        unsafe storage[start..<start + count].initializeMemory(as: UInt8.self, repeating: 0)
        start += count
        if start == end {
            start = 0
            end = 0
        }
    }
}
