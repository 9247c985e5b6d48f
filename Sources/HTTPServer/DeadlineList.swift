/// The exchanges that have a fallback, the nearest deadline first.
///
/// Nearly all are added with the same duration, so each goes to the end of the list; adding and removing cost the same
/// however many wait. A timer for each would cost an allocation and a heap operation.
final class DeadlineList {
    private(set) var first: HTTPExchange?
    private var last: HTTPExchange?

    func insert(_ exchange: HTTPExchange) {
        precondition(!exchange.isListed, "an exchange has one deadline")
        exchange.isListed = true
        var before = last
        while let candidate = before, candidate.deadline > exchange.deadline { before = candidate.previous }
        let after = before == nil ? first : before?.next
        exchange.previous = before
        exchange.next = after
        if let before { before.next = exchange } else { first = exchange }
        if let after { after.previous = exchange } else { last = exchange }
    }

    /// Does nothing to an exchange that is in no list.
    func remove(_ exchange: HTTPExchange) {
        guard exchange.isListed else { return }
        exchange.isListed = false
        let before = exchange.previous
        let after = exchange.next
        if let before { before.next = after } else { first = after }
        if let after { after.previous = before } else { last = before }
        exchange.previous = nil
        exchange.next = nil
    }
}
