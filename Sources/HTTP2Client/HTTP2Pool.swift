package import EventLoops

/// Requests to one origin over as many HTTP/2 connections as it takes, which is mostly one.
///
/// Connections are opened at the first need and kept. The pool has its own waiting line with a bound, sends on a
/// connection only what the peer lets leave at once, and answers every request itself when its time is over or its
/// connection is. It never repeats a request: only its caller knows whether that may be done, and
/// ``HTTP2Failure/isSurelyUnprocessed`` tells it when that is safe.
///
/// An actor of its loop: a caller on the same loop costs no thread hop. Call ``close()`` or ``quiesce()`` before the
/// loop stops; what is open then would otherwise stay open.
package actor HTTP2Pool {
    private let loop: EventLoop
    private let engine: PoolEngine

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Makes a pool that opens nothing yet. With a proxy every connection goes through it. `observer` is told what
    /// happens to connections, on the loop's thread.
    package init(
        on loop: EventLoop, origin: Origin, proxy: HTTPProxy? = nil, trust: TLSTrust,
        configuration: HTTP2PoolConfiguration, observer: (@Sendable (HTTP2ConnectionEvent) -> Void)? = nil
    ) {
        self.init(
            on: loop, origin: origin, proxy: proxy, trust: trust, configuration: configuration,
            resolve: SocketAddress.bySystem, observer: observer)
    }

    /// The same, with names looked up by whoever is given.
    init(
        on loop: EventLoop, origin: Origin, proxy: HTTPProxy?, trust: TLSTrust, configuration: HTTP2PoolConfiguration,
        resolve: @escaping Resolve, observer: (@Sendable (HTTP2ConnectionEvent) -> Void)?
    ) {
        self.loop = loop
        engine = PoolEngine(
            on: loop, origin: origin, proxy: proxy, trust: trust, configuration: configuration, resolve: resolve,
            observer: observer)
    }

    isolated deinit {
        engine.close()
    }

    /// Sends a request and waits for the whole answer, `timeout` at most, and at most the configuration's time-out.
    ///
    /// Any status is an answer. Cancelling the calling task changes nothing: a request that may have left is followed
    /// to its end.
    ///
    /// - Parameters:
    ///   - leavingWithin: how long it may wait for a connection and a stream, where that is less than `timeout`; after
    ///     that it fails as ``HTTP2Failure/NotSent/waitedTooLong``. What has left in time has all of `timeout`.
    ///   - avoided: a connection that it must not go by. It takes another one, and when there is none, one more is
    ///     opened as the pace of openings allows; requests without such a wish never wait behind it.
    /// - Throws: ``HTTP2Failure``, which says whether the request may have been processed.
    package func send(
        _ request: HTTP2Request, timeout: Duration, leavingWithin: Duration? = nil,
        avoiding avoided: HTTP2ConnectionID? = nil
    ) async throws(HTTP2Failure) -> HTTP2Response {
        try await unsafe withUnsafeContinuation {
            unsafe engine.accept(request, timeout: timeout, leavingWithin: leavingWithin, avoiding: avoided, $0)
        }.get()
    }

    /// Takes the connection that gave an answer out of use: what is in flight on it goes on, what follows goes by
    /// another. For answers that show a connection to be bad. One that is gone already is no error.
    package func retire(_ connection: HTTP2ConnectionID) {
        engine.retire(connection)
    }

    /// Takes connections out of use whose first request went out less than `time` ago: for what a connection must not meet
    /// so soon after what it has met before. Requests that wait for one fail as not sent, for they are of before as well.
    package func retire(usedForLessThan time: Duration) {
        engine.retire(usedForLessThan: time)
    }

    /// Has the connection that gave an answer make way for another: at once where there is one, and otherwise as soon as
    /// one has been opened, so that nothing waits for that. For answers that a connection may be the cause of.
    package func replace(_ connection: HTTP2ConnectionID) {
        engine.replace(connection)
    }

    /// Trusts these roots for every connection opened from now on, and opens the next one as if none had failed yet.
    package func use(_ trust: TLSTrust) {
        engine.use(trust)
    }

    /// Takes no more requests, and returns when every one taken before has its answer (their time-outs bound that).
    package func quiesce() async {
        await withCheckedContinuation { engine.quiesce($0) }
    }

    /// Ends everything now: what waits fails as not sent, what is in flight with an unknown outcome.
    package func close() {
        engine.close()
    }

    /// The state of things, for the metrics.
    package func snapshot() -> HTTP2PoolSnapshot { engine.snapshot }
}

/// What a pool looked like at one moment.
package struct HTTP2PoolSnapshot: Sendable, Equatable {
    /// Connections on their way.
    package var connecting = 0
    /// Connections that take requests.
    package var open = 0
    /// Connections that only wait for their last answers.
    package var draining = 0
    /// Requests that have gone out and have no answer.
    package var inFlight = 0
    /// Requests that wait for a connection or a stream.
    package var waiting = 0
    /// Streams that the open connections allow, all together.
    package var streamLimit = 0
    /// Why the last attempt to connect failed; nil when a connection has answered since.
    package var lastFault: Unreachable?
    /// Whether the pool takes no more requests.
    package var isQuiescing = false
    /// What has been counted so far.
    package var totals: HTTP2PoolTotals

    /// That of a pool that is gone, of which only what it has counted is left.
    package init(totals: HTTP2PoolTotals) { self.totals = totals }
}

/// What a pool has counted since it was made.
package struct HTTP2PoolTotals: Sendable, Equatable {
    /// Connections that came to take requests.
    package var opened = 0
    /// Connections of these that are gone.
    package var closed = 0
    /// Attempts to connect that came to nothing.
    package var failedAttempts = 0
}
