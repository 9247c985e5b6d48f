#if canImport(Glibc)
    import Glibc
#endif

/// How a simulator is set up. Each value has a default; only the directory must be named.
package struct SimulatorConfiguration: Sendable {
    /// Where the files go; made, with its parents, when it is not there. Files of an earlier run are replaced.
    package var directory: String
    /// The port of each service; a missing one or 0 is the kernel's choice.
    package var ports: [SimulatedService: UInt16] = [:]
    /// The only topic that the simulated key may push to.
    package var topic = "chat.gryt.app"
    /// Ten characters, as Apple's are.
    package var keyID = "SIMKEY0001"
    /// Ten characters, as Apple's are.
    package var teamID = "SIMTEAM001"
    /// Google's project id: what the service account says.
    package var projectID = "gryt-simulated"
    /// Google's project number, which is accepted in a path as well.
    package var projectNumber = "100000000001"
    /// Whether only phones that were declared exist.
    package var isStrict = false
    /// How many notifications and requests the books keep.
    package var recordsKept = 20_000
    /// How long an access token is good.
    package var accessTokenLifetime = Duration.seconds(3599)
    /// Milliseconds since 1970.
    package var clock: @Sendable () -> Int64 = { systemMilliseconds() }

    /// Everything but the directory as it usually is.
    package init(directory: String) { self.directory = directory }
}

private func systemMilliseconds() -> Int64 {
    var time = timespec()
    unsafe _ = clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
}
