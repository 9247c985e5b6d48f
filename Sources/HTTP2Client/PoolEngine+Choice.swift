/// Which connection a request takes, what the pool looks like to one that has none, and which connections are left.
extension PoolEngine {
    /// The connection with the fewest requests in flight among those that take this one: the load spreads, and so does
    /// the harm of one that stalls. One that is silent is taken only where there is none that is not.
    func roomiest(for exchange: Exchange) -> HTTP2Connection? {
        let body = exchange.request.body.count
        var best: HTTP2Connection?
        var silent: HTTP2Connection?
        var isAnyAnswering = false
        for connection in connections where connection.id != exchange.avoided && connection.state.isUsable {
            let isSilent = connection.state.isSilent(at: now)
            if !isSilent { isAnyAnswering = true }
            if let chosen = isSilent ? silent : best, chosen.state.inFlight <= connection.state.inFlight { continue }
            guard connection.takes(body: body) else { continue }
            if isSilent { silent = connection } else { best = connection }
        }
        guard !isAnyAnswering, silent != nil else { return best }
        let isConnecting = connections.contains { $0.state.isConnecting }
        return plan.holdsOut(isConnecting: isConnecting, now: now) ? nil : silent
    }

    /// The pool as a request with so large a body sees it.
    func view(body: Int) -> PoolPlan.View {
        var view = PoolPlan.View()
        let elsewhere = waiting.first(of: WaitingLine.elsewhere.rawValue).map { exchanges[$0] }
        view.needsAnother = elsewhere != nil
        for connection in connections {
            if connection.state.isConnecting { view.connecting += 1 }
            guard connection.state.isUsable else { continue }
            view.usable += 1
            if connection.state.wantsReplacement { view.toReplace += 1 }
            let isSilent = connection.state.isSilent(at: now)
            if isSilent { view.silent += 1 }
            if !view.hasRoom, !isSilent, connection.takes(body: body) { view.hasRoom = true }
            if connection.id != elsewhere?.avoided { view.needsAnother = false }
        }
        view.waitingSince =
            waiting.first(of: WaitingLine.anywhere.rawValue).map { exchanges[$0].arrived } ?? elsewhere?.arrived
        guard waitingCount > 0 else { return view }
        let dues = WaitingLine.allCases.compactMap { line in
            waiting.first(of: line.rawValue).flatMap { silenceDue(avoiding: exchanges[$0].avoided) }
        }
        view.hasOnlySilentAt = dues.min()
        view.hasOnlySilent = view.hasOnlySilentAt.map { $0 <= now } ?? false
        return view
    }

    /// When all connections but this one will have been silent for too long; nil if there is none, or one of them need not.
    private func silenceDue(avoiding avoided: HTTP2ConnectionID?) -> Moment? {
        var last: Moment?
        for connection in connections where connection.state.isUsable && connection.id != avoided {
            guard let due = connection.state.silenceDue else { return nil }
            last = max(last ?? due, due)
        }
        return last
    }

    /// A request had no answer in time by this connection; `hasEnough`: as others before it, so that it is the connection's
    /// fault. One that is silent altogether goes already with the first if there is another; if there is none, the pauses
    /// between such openings are kept, for it may be the peer that is silent, by whatever connection.
    func timedOut(_ connection: HTTP2Connection, hasEnough: Bool) {
        guard connection.state.isSilent(at: now) else {
            if hasEnough { connection.retire(.unresponsive) }
            return
        }
        let hasAnother = connections.contains {
            $0 !== connection && $0.state.isUsable && !$0.state.isSilent(at: now)
        }
        if hasAnother || hasEnough && plan.maySpareSilent(now: now) { giveUp(connection) }
    }

    /// Takes a silent connection out of use.
    func giveUp(_ connection: HTTP2Connection) {
        avoidAddress(of: connection)
        connection.retire(.unresponsive)
    }

    // MARK: On a caller's word

    /// Takes a connection out of use on a caller's word.
    func retire(_ id: HTTP2ConnectionID) {
        connections.first { $0.id == id }?.retire(.askedByCaller)
        replan()
    }

    /// Takes connections out of use whose first request went out less than `time` ago, and gives what waits back as not sent.
    func retire(usedForLessThan time: Duration) {
        now = .now
        for connection in connections where connection.state.timeInUse(at: now).map({ $0 < time }) == true {
            connection.retire(.askedByCaller)
        }
        for line in WaitingLine.allCases { failWaiting(line, .notSent(.neverLeft)) }
        replan()
    }

    /// Has a connection make way for another on a caller's word, without ever leaving the pool without one.
    func replace(_ id: HTTP2ConnectionID) {
        guard let connection = connections.first(where: { $0.id == id }) else { return }
        let hasAnother = connections.contains {
            $0 !== connection && $0.state.isUsable && !$0.state.wantsReplacement && !$0.state.isSilent(at: .now)
        }
        if hasAnother { connection.retire(.askedByCaller) } else { connection.askForReplacement() }
        replan()
    }

    // MARK: Addresses

    /// Has other addresses than this connection's tried first for a while.
    func avoidAddress(of connection: HTTP2Connection) {
        if let address = connection.address { addresses.found(address, isUseful: false, now: now) }
    }
}

/// Where a request waits.
enum WaitingLine: Int, CaseIterable {
    /// For any connection.
    case anywhere
    /// For any but one. Whoever waits here may wait for a connection yet to be opened, so nobody else waits behind it.
    case elsewhere

    /// Where this one waits, if it does.
    init(_ exchange: Exchange) { self = exchange.avoided == nil ? .anywhere : .elsewhere }
}
