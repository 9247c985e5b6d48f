#if canImport(Glibc)
    import Glibc
#endif

/// Wakes one thread that waits for a ring or a moment. A ring is kept until somebody waits, and two are as one.
///
/// `@unchecked Sendable`: `isRung` is guarded by `mutex`.
@safe final class Doorbell: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var isRung = false

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        let codes = [
            unsafe pthread_mutex_init(mutex, nil),
            unsafe pthread_condattr_init(&attributes),
            // The wall's clock may jump; a wait must not. (Of the others a condition knows this one alone.)
            unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC),
            unsafe pthread_cond_init(condition, &attributes),
            unsafe pthread_condattr_destroy(&attributes),
        ]
        precondition(codes.allSatisfy { $0 == 0 }, "a mutex or condition could not be made")
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// Ends the present or the next wait. Any thread.
    func ring() {
        unsafe pthread_mutex_lock(mutex)
        isRung = true
        unsafe pthread_cond_signal(condition)
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Waits for a ring, at most until the moment on the clock of `RunningInstant`, in nanoseconds; without one for ever.
    func wait(until nanoseconds: Int64?) {
        unsafe pthread_mutex_lock(mutex)
        while !isRung {
            guard let nanoseconds else {
                unsafe pthread_cond_wait(condition, mutex)
                continue
            }
            var moment = timespec(
                tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
            if unsafe pthread_cond_timedwait(condition, mutex, &moment) == ETIMEDOUT { break }
        }
        isRung = false
        unsafe pthread_mutex_unlock(mutex)
    }
}
