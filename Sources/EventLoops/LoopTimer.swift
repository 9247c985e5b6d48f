import CLibevent

/// A timer of one loop: armed for a duration, it calls its action once, on the loop's thread, unless it is disarmed or
/// armed anew before.
///
/// Make, arm, disarm and release it on the loop's thread. The action must not keep the timer's owner alive, or neither
/// goes away; ``EventLoop/timer(for:_:)`` sees to that for actors.
@safe package final class LoopTimer {
    private let loop: EventLoop
    private let action: () -> Void
    private var event: OpaquePointer?

    /// Makes a timer that is not armed. Loop thread.
    package init(on loop: EventLoop, _ action: @escaping () -> Void) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.action = action
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe event = event_new(loop.base, -1, 0, timerFired, context)
        precondition(unsafe event != nil, "out of memory for a timer")
    }

    deinit {
        unsafe event_free(event)
    }

    /// Fires once after `duration` (less than nothing counts as nothing), in place of any earlier arming. Loop thread.
    ///
    /// libevent reads the coarse clock, which spares a system call a turn; the timer may fire some four milliseconds early.
    package func arm(after duration: Duration) {
        loop.preconditionOnLoop()
        let microseconds = max(duration, .zero).attoseconds / 1_000_000_000_000
        let (seconds, rest) = Int(clamping: microseconds).quotientAndRemainder(dividingBy: 1_000_000)
        var interval = timeval(tv_sec: seconds, tv_usec: rest)
        unsafe event_add(event, &interval)
    }

    /// Forgets an arming; without one it does nothing. Loop thread.
    package func disarm() {
        loop.preconditionOnLoop()
        unsafe event_del(event)
    }

    fileprivate func fire() { action() }
}

extension EventLoop {
    /// A timer whose action runs isolated to an actor of this loop, and which does nothing once the actor is gone.
    package func timer<Owner: Actor>(
        for owner: Owner, _ action: @escaping @Sendable (isolated Owner) -> Void
    ) -> LoopTimer {
        LoopTimer(on: self) { [weak owner] in
            owner?.assumeIsolated { action($0) }
        }
    }
}

private func timerFired(_: Int32, _: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { preconditionFailure("a timer event without its timer") }
    // Kept alive over the action, which may drop the last reference to the timer.
    let timer = unsafe Unmanaged<LoopTimer>.fromOpaque(context).takeUnretainedValue()
    withExtendedLifetime(timer) { timer.fire() }
}
