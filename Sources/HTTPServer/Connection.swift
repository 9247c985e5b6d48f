import CMicrohttpd

#if canImport(Glibc)
    import Glibc
#endif

/// One open connection: what the library does not keep for it. Loop thread.
@safe final class Connection {
    /// Exits: `.waiting` leaves for `.receiving` with the end of a request line; `.receiving` for `.answering` with the
    /// end of the body or a refusal; `.answering` for `.waiting` once the answer is sent. `.condemned`, from any of the
    /// first two, is left with the connection.
    enum Phase { case waiting, receiving, answering, condemned }

    let handle: OpaquePointer
    /// The request that is under way.
    var exchange: HTTPExchange?
    let descriptor: Int32
    let peer: PeerAddress
    private(set) var phase = Phase.waiting
    /// When the phase began.
    private(set) var since: ContinuousClock.Instant
    /// Whether it was refused when it came; then it counts towards no bound.
    private(set) var isRefused = false
    /// Where it stands in the daemon's list.
    var index = 0

    init(_ handle: OpaquePointer, now: ContinuousClock.Instant) {
        unsafe self.handle = handle
        descriptor = unsafe gryt_mhd_descriptor(handle)
        peer = unsafe PeerAddress(gryt_mhd_peer(handle))
        since = now
    }

    func enter(_ phase: Phase, now: ContinuousClock.Instant) {
        self.phase = phase
        since = now
    }

    /// Refuses past the library, and takes nothing from this connection any more. What still comes is read and dropped
    /// until the peer closes or the sweep loses patience.
    func condemn(with response: HTTPResponse, now: ContinuousClock.Instant) {
        writeLast(response)
        enter(.condemned, now: now)
    }

    /// Refuses the connection itself, before any request.
    func refuse(with response: HTTPResponse, now: ContinuousClock.Instant) {
        isRefused = true
        condemn(with: response, now: now)
    }

    /// Writes an answer past the library and ends this side of the connection. Only where the library owes nothing:
    /// before its own answer to the request that is being received.
    func writeLast(_ response: HTTPResponse, toHead: Bool = false) {
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        let bytes = response.bytes(date: httpDate(), toHead: toHead)
        unsafe _ = bytes.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, flags) }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Whether the peer has ended its side and everything before that has been read. The library learns of both from one
    /// edge of its epoll set, reads once and does not look again.
    var isPeerGone: Bool {
        var byte: UInt8 = 0
        return unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
    }

    /// Takes what has arrived, and then the end of the stream.
    func endReading() { shutdown(descriptor, Int32(SHUT_RD)) }

    /// Ends both directions; the library notices in its next run.
    func cut() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// The time as `Date` wants it (RFC 9110 section 5.6.7).
func httpDate(_ seconds: time_t = time(nil)) -> String {
    var seconds = seconds
    var parts = unsafe tm()
    unsafe _ = gmtime_r(&seconds, &parts)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let time = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec].map(twoDigits).joined(separator: ":")
    let month = unsafe months[Int(parts.tm_mon)]
    let year = unsafe parts.tm_year + 1900
    let day = unsafe parts.tm_mday
    let weekday = unsafe days[Int(parts.tm_wday)]
    return "\(weekday), \(twoDigits(day)) \(month) \(year) \(time) GMT"
}
