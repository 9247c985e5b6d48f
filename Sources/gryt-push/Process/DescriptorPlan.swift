/// How the files that the system lets this process have open are shared out, so that a crowd of connections leaves none of the
/// others without: a push service is reached, a scrape is answered and whoever is too many is told so, however many come.
struct DescriptorPlan: Equatable {
    /// Connections to the public port, over all its servers.
    let connections: Int
    /// Further ones that are accepted at a time to be refused, of each server.
    let refusalRoom: Int
    /// Connections to the operator's port.
    let operatorConnections: Int
    /// Further ones that are refused there.
    static let operatorRefusalRoom = 2

    /// What the process itself has open: the database, the lock, signals, the log.
    private static let own = 32
    /// What each loop has: its machinery, its sockets and its database, eight in all, and up to four connections to each of
    /// three push services, for a draining one and an old one stand beside their successors for a while.
    private static let ownOfLoop = 24
    /// What a socket has that is one more than there are loops, as a relay with more of them may leave: its descriptor, and
    /// that of its server.
    private static let ownOfFurtherServer = 2
    /// With fewer for connections it is not worth a start.
    private static let fewestConnections = 8

    /// The fewest open files that so many loops can do with.
    static func fewest(loops: Int) -> Int { own + ownOfLoop * loops + fewestConnections }

    /// Shares out what may be open, which is ``fewest(loops:)`` at least. There is a server for each loop, and for each socket.
    init(openFiles: Int, loops: Int, servers: Int, hasOperatorPort: Bool) {
        let left = max(Self.fewestConnections, openFiles - Self.own - Self.ownOfLoop * loops)
        let spare = left - Self.ownOfFurtherServer * max(0, servers - loops)
        operatorConnections = min(64, max(2, spare / 16))
        refusalRoom = min(256, max(1, spare / 8 / servers))
        let forOperator = hasOperatorPort ? operatorConnections + Self.operatorRefusalRoom : 0
        connections = max(servers, spare - forOperator - refusalRoom * servers)
    }
}
