/// An executor that goes round in turns: it takes in what has come from outside, which is bytes of sockets and jobs of
/// other threads, runs what that made ready, and tells whoever asked that the turn has ended.
///
/// A store on one keeps a read transaction from one look-up to that end.
package protocol TurningExecutor: SerialExecutor {
    /// Calls the reader's ``DeviceReader/turnEnds()`` once, on the executor: when the jobs that are ready now have run, and
    /// before any job that is queued from now on. Called on the executor.
    func callAtTurnEnd(_ reader: DeviceReader)
}
