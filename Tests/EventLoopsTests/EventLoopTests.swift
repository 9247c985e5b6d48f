import EventLoops
import Synchronization
import Testing

/// An actor that lives on a loop, as every C-facing actor of the relay does.
private actor Resident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    private var timer: LoopTimer?
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private var turnsEnded = 0
    private(set) var timesFired = 0

    init(on loop: EventLoop) { self.loop = loop }

    func isOnItsLoop() -> Bool { loop.isOnLoop }

    func wait(_ duration: Duration) async {
        let timer = loop.timer(for: self) { $0.fired() }
        self.timer = timer
        timer.arm(after: duration)
        await withCheckedContinuation { waiters.append($0) }
    }

    private func fired() {
        timesFired += 1
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    func threadsSeen(by other: Resident) async -> [Bool] {
        var seen = [loop.isOnLoop]
        seen.append(await other.isOnItsLoop())
        seen.append(loop.isOnLoop)
        return seen
    }
}

/// Acts when a turn ends, and once more as it goes away.
private final class LastWish: TurnEnd {
    private let act: () -> Void
    private let wish: () -> Void

    init(act: @escaping () -> Void = {}, wish: @escaping () -> Void) {
        self.act = act
        self.wish = wish
    }

    deinit { wish() }

    func turnEnds() { act() }
}

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
    @Test func `an actor of a loop runs on the loop's thread`() async throws {
        let loop = try EventLoop(name: "test")
        try loop.start()
        #expect(await Resident(on: loop).isOnItsLoop())
        #expect(!loop.isOnLoop)
        loop.stopAndJoin()
    }

    @Test func `a timer fires once armed and its actor is woken`() async throws {
        let loop = try EventLoop(name: "test")
        try loop.start()
        let resident = Resident(on: loop)
        await resident.wait(.milliseconds(1))
        // As long again and longer: it would have fired once more.
        await Resident(on: loop).wait(.milliseconds(50))
        #expect(await resident.timesFired == 1)
        loop.stopAndJoin()
    }

    @Test func `two actors on two loops call each other, each on its own thread`() async throws {
        let first = try EventLoop(name: "first")
        let second = try EventLoop(name: "second")
        try first.start()
        try second.start()
        #expect(await Resident(on: first).threadsSeen(by: Resident(on: second)) == [true, true, true])
        first.stopAndJoin()
        second.stopAndJoin()
    }

    @Test func `ten thousand jobs from outside all run`() async throws {
        let loop = try EventLoop(name: "test")
        try loop.start()
        let resident = Resident(on: loop)
        let ran = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<10_000 { group.addTask { await resident.isOnItsLoop() } }
            return await group.reduce(into: 0) { count, wasOnLoop in count += wasOnLoop ? 1 : 0 }
        }
        #expect(ran == 10_000)
        loop.stopAndJoin()
    }

    @Test func `a task that prefers the loop runs its unisolated parts there`() async throws {
        let loop = try EventLoop(name: "test")
        try loop.start()
        let onLoop = await Task(executorPreference: loop) { loop.isOnLoop }.value
        #expect(onLoop)
        loop.stopAndJoin()
    }

    @Test func `a turn end comes before jobs that are queued later, and what goes with it may ask for more`()
        async throws
    {
        let loop = try EventLoop(name: "test")
        try loop.start()
        let (steps, said) = AsyncStream<String>.makeStream()
        Task(executorPreference: loop) {
            loop.atTurnEnd(
                LastWish(act: { said.yield("turn end") }) {
                    said.yield("gone")
                    Task(executorPreference: loop) { said.yield("job of the one that is gone") }
                    loop.atTurnEnd(LastWish(act: { said.yield("its turn end") }) {})
                })
            Task(executorPreference: loop) { said.yield("job queued later") }
            said.yield("job that asks")
        }
        var heard: [String] = []
        for await step in steps {
            heard.append(step)
            if heard.count == 6 { break }
        }
        #expect(heard.prefix(3) == ["job that asks", "turn end", "gone"])
        // A task may pass through the queue twice before its first line runs.
        #expect(heard.dropFirst(3).sorted() == ["its turn end", "job of the one that is gone", "job queued later"])
        loop.stopAndJoin()
    }
}
