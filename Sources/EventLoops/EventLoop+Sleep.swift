extension EventLoop {
    /// Suspends the caller for a duration, by a timer of this loop. Loop thread. `Task.sleep` would leave the loop.
    package func sleep(for duration: Duration) async {
        await withCheckedContinuation { continuation in
            let sleeper = Sleeper()
            // The timer keeps the sleeper and the sleeper the timer, until it fires.
            sleeper.timer = LoopTimer(on: self) {
                sleeper.timer = nil
                continuation.resume()
            }
            sleeper.timer?.arm(after: duration)
        }
    }
}

private final class Sleeper {
    var timer: LoopTimer?
}
