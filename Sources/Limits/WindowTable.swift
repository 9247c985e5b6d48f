/// The sliding windows of many keys: a hash table whose entries also hang in a list, ordered by their newest attempt.
///
/// The list is what makes forgetting exact and cheap. Whatever is over stands at its old end, so one look there tells
/// whether anything can be reclaimed, and nothing that still counts is ever in the way of it.
///
/// Owned by one stripe of a ``RateLimiter`` and guarded by that stripe's mutex.
struct WindowTable<Key: Hashable> {
    struct Entry {
        var key: Key
        var window: SlidingWindow
        var hash: UInt32
        /// The next entry of the same bucket, or of the free list; -1 ends it.
        var chain: Int32
        /// The neighbours by newest attempt; -1 at the ends.
        var older: Int32 = -1
        var newer: Int32 = -1

        init(key: Key, window: SlidingWindow, hash: UInt32, chain: Int32) {
            self.key = key
            self.window = window
            self.hash = hash
            self.chain = chain
        }
    }

    var buckets: [Int32] = []
    var entries: [Entry] = []
    var free: Int32 = -1
    var oldest: Int32 = -1
    var newest: Int32 = -1
    /// Keys held.
    var count = 0
    /// Places for stamps in the rings of all keys.
    var ringPlaces = 0
    /// The latest instant seen.
    var clock: WindowInstant
    let scale: WindowScale

    init(_ scale: WindowScale) {
        self.scale = scale
        clock = WindowInstant(nanoseconds: 0, scale)
    }

    /// Sets the clock. Two threads may read the time in one order and get the lock in the other; the later holder of the
    /// lock then counts from the instant of the earlier one.
    mutating func advance(to now: Int64) {
        if now > clock.nanoseconds { clock = WindowInstant(nanoseconds: now, scale) }
    }

    /// The entry of a key, or -1.
    func find(_ key: Key, hash: UInt32) -> Int32 {
        guard !buckets.isEmpty else { return -1 }
        var index = buckets[Int(hash) & (buckets.count - 1)]
        while index >= 0 {
            if entries[Int(index)].hash == hash, entries[Int(index)].key == key { return index }
            index = entries[Int(index)].chain
        }
        return -1
    }

    /// Adds a key that is not there, with its first attempt at the table's clock.
    mutating func insert(_ key: Key, hash: UInt32) {
        if count >= buckets.count { growBuckets() }
        let bucket = Int(hash) & (buckets.count - 1)
        let entry = Entry(key: key, window: SlidingWindow(firstAttemptAt: clock), hash: hash, chain: buckets[bucket])
        let index: Int32
        if free >= 0 {
            index = free
            free = entries[Int(index)].chain
            entries[Int(index)] = entry
        } else {
            index = Int32(entries.count)
            entries.append(entry)
        }
        buckets[bucket] = index
        count += 1
        append(index)
    }

    /// Takes an attempt of a key that is there, at the table's clock; nil when admitted, else nanoseconds to wait.
    mutating func admit(_ index: Int32, limit: Int) -> Int64? {
        let before = entries[Int(index)].window.ring.count
        if entries[Int(index)].window.isOver(at: clock, scale) {
            entries[Int(index)].window = SlidingWindow(firstAttemptAt: clock)
        } else if let wait = entries[Int(index)].window.admit(at: clock, limit: limit, scale) {
            return wait
        }
        ringPlaces += entries[Int(index)].window.ring.count - before
        if newest != index {
            unlink(index)
            append(index)
        }
        return nil
    }

    /// Forgets up to `most` keys whose window is over; returns how many there were.
    mutating func reclaim(atMost most: Int) -> Int {
        var reclaimed = 0
        while reclaimed < most, oldest >= 0, entries[Int(oldest)].window.isOver(at: clock, scale) {
            remove(oldest)
            reclaimed += 1
        }
        return reclaimed
    }

    mutating func remove(_ index: Int32) {
        unlink(index)
        let bucket = Int(entries[Int(index)].hash) & (buckets.count - 1)
        if buckets[bucket] == index {
            buckets[bucket] = entries[Int(index)].chain
        } else {
            var before = buckets[bucket]
            while entries[Int(before)].chain != index { before = entries[Int(before)].chain }
            entries[Int(before)].chain = entries[Int(index)].chain
        }
        count -= 1
        ringPlaces -= entries[Int(index)].window.ring.count
        guard count > 0 else {
            buckets = []
            entries = []
            free = -1
            return
        }
        entries[Int(index)].window.ring = []
        entries[Int(index)].chain = free
        free = index
    }

    mutating func append(_ index: Int32) {
        entries[Int(index)].older = newest
        entries[Int(index)].newer = -1
        if newest >= 0 { entries[Int(newest)].newer = index } else { oldest = index }
        newest = index
    }

    mutating func unlink(_ index: Int32) {
        let older = entries[Int(index)].older
        let newer = entries[Int(index)].newer
        if older >= 0 { entries[Int(older)].newer = newer } else { oldest = newer }
        if newer >= 0 { entries[Int(newer)].older = older } else { newest = older }
    }

    /// Doubles the buckets. They are never fewer than the entries, so when there are too few of them every entry is in
    /// use, and all of the array belongs into the chains.
    mutating func growBuckets() {
        precondition(free < 0, "an unused entry would be chained")
        buckets = [Int32](repeating: -1, count: max(4, buckets.count * 2))
        for index in entries.indices {
            let bucket = Int(entries[index].hash) & (buckets.count - 1)
            entries[index].chain = buckets[bucket]
            buckets[bucket] = Int32(index)
        }
    }
}
