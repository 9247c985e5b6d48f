/// How a pool behaves towards its origin. Every length of time is a `Duration`; every bound is inclusive.
package struct HTTP2PoolConfiguration: Sendable {
    /// Streams that may be open before the peer's first SETTINGS has said how many. A peer's default is "no limit"
    /// (RFC 9113, section 6.5.2), but Apple allows one and ends the connection over a second.
    package var initialStreamLimit = 100
    /// Streams open at once on one connection, whatever the peer allows.
    package var maximumStreamsPerConnection = 1000
    /// Connections that take requests, at most. One that drains is not counted.
    package var maximumConnections = 2
    /// Connections that are kept once the pool has been used. 0: only as long as they are in use or fresh.
    package var minimumConnections = 0
    /// Requests that may wait for a connection or a stream; over it, ``HTTP2Failure/overloaded`` at once.
    package var waitingLimit = 10_000
    /// How long the first in the waiting line waits before another connection is opened beside those in use.
    package var growAfter = Duration.milliseconds(250)

    /// From `send` to the whole answer, where the caller says nothing shorter.
    package var requestTimeout = Duration.seconds(15)
    /// For the name server.
    package var resolveTimeout = Duration.seconds(5)
    /// For the whole race between the addresses of a name.
    package var connectTimeout = Duration.seconds(10)
    /// For a proxy's answer.
    package var tunnelTimeout = Duration.seconds(10)
    /// For the TLS handshake.
    package var tlsTimeout = Duration.seconds(10)
    /// For the peer's first SETTINGS.
    package var settingsTimeout = Duration.seconds(10)
    /// For the answers that are due after a connection takes no more requests.
    package var drainTimeout = Duration.seconds(10)

    /// A request that goes out after so long a silence takes a PING with it, and no other request follows until
    /// something came back.
    package var atRiskPingAfter = Duration.seconds(10)
    /// How long a PING may stay unanswered before the connection counts as dead. Below the time that our own callers
    /// give a request, so that one which fell into a dead connection can still be repeated on another.
    package var pingTimeout = Duration.seconds(2)
    /// A connection on which requests have been under way for so long, with not a byte of any answer, is passed over as
    /// long as there is another. Below the time until a breaker's first probe, which then goes by another.
    package var silentAfter = Duration.milliseconds(2500)
    /// After a connection was opened because those there are were silent, the next for that reason is opened after this
    /// pause at the earliest; it doubles as long as they follow on one another.
    package var silenceBackoffFirst = Duration.seconds(5)
    /// The longest such pause. Whoever was not opened for twice as long begins anew with the first.
    package var silenceBackoffCap = Duration.seconds(30)
    /// A connection that carried nothing for so long is closed; nil: never.
    package var idleTimeout: Duration?
    /// A connection that carried nothing for so long gets a PING; nil: never.
    package var idlePingAfter: Duration?
    /// A time-out that came sooner than this after the request had left says nothing about the connection.
    package var timeoutCountsAfter = Duration.seconds(1)
    /// A connection by which so many requests had no answer is replaced, however many others had one.
    package var maximumTimeouts = 8
    /// After so old an age (less up to a tenth, drawn by lot) a connection is replaced.
    package var maximumAge = Duration.seconds(24 * 60 * 60)
    /// After so many streams a connection is replaced, long before stream ids run out.
    package var maximumStreamsEver = 40_000

    /// Bytes of an answer's body that are kept; the rest is refused and the answer marked as cut.
    package var maximumResponseBody = 64 * 1024
    /// Bytes of an answer's header list, counted as RFC 9113 section 6.5.2 does; over it the stream is ended.
    package var maximumHeaderList = 16 * 1024
    /// Names, in lower case, of the header fields of an answer that are kept.
    package var retainedHeaders: [String] = []

    /// An attempt to connect that has come to nothing for so long, though somebody waits and there is no connection, gets
    /// another beside it: what it hangs at may be well again for the next.
    package var besideAfter = Duration.seconds(3)
    /// Attempts to connect that may be under way at once. With ``besideAfter`` they cover the time that one may take.
    package var attemptsAtOnce = 4
    /// The pause after the first failed attempt to connect; it doubles from there.
    package var backoffFirst = Duration.seconds(1)
    /// The longest pause. Short, so that the end of an outage is noticed within five seconds.
    package var backoffCap = Duration.milliseconds(3500)
    /// The longest pause where somebody's hand is needed first: certificates, a peer without HTTP/2.
    package var operatorBackoffCap = Duration.seconds(60)
    /// One new connection in so long, sustained; rapid opening and closing looks like an attack to Apple.
    package var openingInterval = Duration.seconds(1)
    /// New connections that may be opened at once before ``openingInterval`` holds them back.
    package var openingBurst = 3

    package init(initialStreamLimit: Int = 100) {
        self.initialStreamLimit = initialStreamLimit
    }
}
