import CLibevent

/// Tells when a file descriptor can be read from or written to, level-triggered, until told otherwise.
///
/// It never closes the descriptor: cancel the watcher first, then close. Loop thread throughout. The actions must not
/// keep the watcher's owner alive.
@safe package final class DescriptorWatcher {
    private let loop: EventLoop
    private let onReadable: () -> Void
    private let onWritable: () -> Void
    private var reading: OpaquePointer?
    private var writing: OpaquePointer?
    private var isWatchingReads = false
    private var isWatchingWrites = false

    /// Makes a watcher of an open, non-blocking descriptor that watches nothing yet. Loop thread.
    package init(
        on loop: EventLoop, descriptor: Int32, readable: @escaping () -> Void, writable: @escaping () -> Void = {}
    ) {
        loop.preconditionOnLoop()
        precondition(descriptor >= 0, "a watcher needs an open descriptor")
        self.loop = loop
        self.onReadable = readable
        self.onWritable = writable
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe reading = event_new(loop.base, descriptor, gryt_ev_read | gryt_ev_persist, descriptorReadable, context)
        unsafe writing = event_new(loop.base, descriptor, gryt_ev_write | gryt_ev_persist, descriptorWritable, context)
        precondition(unsafe reading != nil && writing != nil, "out of memory for a watcher")
    }

    deinit {
        unsafe event_free(reading)
        unsafe event_free(writing)
    }

    /// Whether `readable` is called while there is something to read (or the peer has closed). Loop thread.
    package func watchReads(_ watch: Bool) {
        loop.preconditionOnLoop()
        guard watch != isWatchingReads else { return }
        isWatchingReads = watch
        unsafe _ = watch ? event_add(reading, nil) : event_del(reading)
    }

    /// Whether `writable` is called while the descriptor takes more bytes. Loop thread.
    package func watchWrites(_ watch: Bool) {
        loop.preconditionOnLoop()
        guard watch != isWatchingWrites else { return }
        isWatchingWrites = watch
        unsafe _ = watch ? event_add(writing, nil) : event_del(writing)
    }

    /// Stops both. After it the descriptor may be closed. Loop thread.
    package func cancel() {
        watchReads(false)
        watchWrites(false)
    }

    fileprivate func becameReadable() { onReadable() }
    fileprivate func becameWritable() { onWritable() }
}

private func descriptorReadable(_: Int32, _: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { preconditionFailure("a read event without its watcher") }
    let watcher = unsafe Unmanaged<DescriptorWatcher>.fromOpaque(context).takeUnretainedValue()
    withExtendedLifetime(watcher) { watcher.becameReadable() }
}

private func descriptorWritable(_: Int32, _: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { preconditionFailure("a write event without its watcher") }
    let watcher = unsafe Unmanaged<DescriptorWatcher>.fromOpaque(context).takeUnretainedValue()
    withExtendedLifetime(watcher) { watcher.becameWritable() }
}
