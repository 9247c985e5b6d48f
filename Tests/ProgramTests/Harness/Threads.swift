import Glibc

/// Runs something that blocks, on a thread of its own.
func startThread(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let code = unsafe pthread_create(&thread, nil, runWork, Unmanaged.passRetained(Work(body)).toOpaque())
    precondition(code == 0, "the system gives no thread")
    pthread_detach(thread)
}

/// The same, and gives back what came of it: a blocked thread of the pool would hold up every other test.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        startThread { continuation.resume(with: Result(catching: body)) }
    }
}

private final class Work {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
    return nil
}
