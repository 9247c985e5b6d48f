/// The deadlines of all requests of a pool: constant cost to note and to drop one, and one timer for all of them.
///
/// Time is cut into ticks of about 17 ms; each tick's slots form a list, and 1024 lists lie in a ring, so that a
/// deadline more than a round (17 s) away shares a list with a nearer one and is passed over once. A deadline is never
/// early and at most a tick late.
struct DeadlineWheel {
    private static let tickShift: Int64 = 24
    /// Nanoseconds.
    static let tickLength = Int64(1) << tickShift
    private static let lists: Int64 = 1024

    private var slots = LinkedSlots(lists: Int(Self.lists))
    private var ticks: [Int64] = []
    /// Every tick up to and including this one has been looked at.
    private var doneTick: Int64
    /// How many deadlines are noted.
    private(set) var count = 0

    /// A wheel that begins now.
    init(now: Moment) {
        doneTick = now.nanoseconds >> Self.tickShift
    }

    /// Notes the deadline of a slot that has none.
    mutating func insert(_ slot: Int, deadline: Moment) {
        let rounded = (deadline.nanoseconds >> Self.tickShift) + 1
        let tick = max(rounded, doneTick + 1)
        while ticks.count <= slot { ticks.append(0) }
        ticks[slot] = tick
        slots.append(slot, to: Int(tick & (Self.lists - 1)))
        count += 1
    }

    /// Drops the deadline of a slot that has one.
    mutating func remove(_ slot: Int) {
        slots.remove(slot, from: Int(ticks[slot] & (Self.lists - 1)))
        count -= 1
    }

    /// Takes out one slot whose deadline has passed; nil when there is none left. Call until nil.
    mutating func takeExpired(now: Moment) -> Int? {
        let tick = now.nanoseconds >> Self.tickShift
        if tick - doneTick > Self.lists { doneTick = tick - Self.lists }
        while doneTick < tick {
            let list = Int((doneTick + 1) & (Self.lists - 1))
            var slot = slots.first(of: list)
            while let candidate = slot {
                if ticks[candidate] <= tick {
                    remove(candidate)
                    return candidate
                }
                slot = slots.next(after: candidate)
            }
            doneTick += 1
        }
        return nil
    }

    /// When to call ``takeExpired(now:)`` next, nil when nothing is noted. It may be early by whole rounds.
    var nextTick: Moment? {
        guard count > 0 else { return nil }
        for tick in (doneTick + 1)...(doneTick + Self.lists)
        where slots.first(of: Int(tick & (Self.lists - 1))) != nil {
            return Moment(nanoseconds: tick << Self.tickShift)
        }
        return nil
    }
}

/// Doubly linked lists of small numbers, in two flat arrays: no allocation but for growth. A number is in at most one
/// list; the caller says in which.
struct LinkedSlots {
    private var heads: [Int32]
    private var tails: [Int32]
    private var nexts: [Int32] = []
    private var previous: [Int32] = []

    /// So many empty lists.
    init(lists: Int) {
        heads = Array(repeating: -1, count: lists)
        tails = Array(repeating: -1, count: lists)
    }

    /// The first number of a list.
    func first(of list: Int = 0) -> Int? { heads[list] < 0 ? nil : Int(heads[list]) }

    /// The number that follows one that is in a list.
    func next(after slot: Int) -> Int? { nexts[slot] < 0 ? nil : Int(nexts[slot]) }

    /// Adds a number, which is in no list, at the end of one.
    mutating func append(_ slot: Int, to list: Int = 0) {
        while nexts.count <= slot {
            nexts.append(-1)
            previous.append(-1)
        }
        let tail = tails[list]
        nexts[slot] = -1
        previous[slot] = tail
        if tail < 0 { heads[list] = Int32(slot) } else { nexts[Int(tail)] = Int32(slot) }
        tails[list] = Int32(slot)
    }

    /// Takes a number out of the list it is in.
    mutating func remove(_ slot: Int, from list: Int = 0) {
        let before = previous[slot]
        let after = nexts[slot]
        if before < 0 { heads[list] = after } else { nexts[Int(before)] = after }
        if after < 0 { tails[list] = before } else { previous[Int(after)] = before }
    }
}
