/// The server's bounds. Checked when the server is made: a bound that cannot work traps there.
package struct HTTPServerConfiguration: Sendable {
    /// The largest body that reaches the handler, in bytes.
    package var maximumBody = 8192
    /// The largest head (request line, fields and the empty line), in bytes.
    package var maximumHead = 8192
    /// The largest number of header fields.
    package var maximumFields = 100
    /// How long a connection may be silent between two requests or before the first, and how long a sender may take to
    /// read an answer. Kept to a second.
    package var idleTimeout: Duration = .seconds(60)
    /// From the first byte of a request until its head and body must be complete. Kept to a quarter of its length or a
    /// second, whichever is shorter.
    package var requestTimeout: Duration = .seconds(10)
    /// At most so many connections; further ones are refused (``HTTPRefusal/tooManyConnections``).
    package var maximumConnections = 10_000
    /// So many of the further ones are accepted at a time, to be told so; the rest wait in the backlog until there is room.
    package var refusalRoom = 256
    /// Bounds the connections of one address, over all servers that have the same census; further ones are refused. nil
    /// is without a bound, for behind a proxy all have one address.
    package var addressCensus: AddressCensus?
    /// Lower-case names of the header fields that a request keeps. All others are checked and never copied.
    package var retainedHeaders: [String] = []
    /// Lower-case names of the header fields of which a request keeps that one of them came, and nothing of what it says.
    package var notedHeaders: [String] = []

    /// The defaults.
    package init() {}

    /// Traps where a bound cannot work.
    func check() {
        precondition(maximumBody >= 0, "a body cannot be smaller than nothing")
        precondition(maximumHead > 0 && maximumFields > 0, "a request needs a head")
        precondition(maximumHead < ServerLoop.maximumInput, "a head must fit in what a connection may keep")
        precondition(idleTimeout >= .seconds(1) && requestTimeout > .zero, "time-outs must leave time")
        precondition(refusalRoom > 0, "a refusal needs a connection")
        precondition(maximumConnections > 0 && maximumConnections <= 1 << 30, "a server needs connections")
        precondition(retainedHeaders.allSatisfy { $0 == $0.lowercased() }, "retained headers are named in lower case")
        precondition(notedHeaders.allSatisfy { $0 == $0.lowercased() }, "noted headers are named in lower case")
    }
}
