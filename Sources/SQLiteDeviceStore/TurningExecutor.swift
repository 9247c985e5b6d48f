/// An executor that goes round in turns: it takes in what has come from outside, which is bytes of sockets and jobs of
/// other threads, runs what that made ready, and tells whoever asked that the turn has ended.
///
/// A store on one keeps a read transaction for all look-ups of a turn. That shows nothing stale, because inside of a turn
/// nothing comes in from outside.
package protocol TurningExecutor: SerialExecutor {
    /// Calls the reader's ``DeviceReader/turnEnds()`` once, on the executor, after jobs of this turn have run and before
    /// anything is taken in from outside. Called on the executor.
    func callAtTurnEnd(_ reader: DeviceReader)
}
