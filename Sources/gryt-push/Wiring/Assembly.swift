import Cryptography
import DeviceStore
import EventLoops
import Glibc
import HTTP2Client
import HTTPServer
import Limits
import PushModel
import PushServices
import Relay
import RelayAPI
import SQLiteDeviceStore
import Telemetry

/// Builds the program out of its settings: what the process has one of, then a worker for each loop.
struct Assembly {
    let settings: Settings
    /// Files that may be open.
    let openFiles: Int
    let manager: ServiceManager
    let log: Log
    let clocks: Clocks

    private var report: OperatorReport { OperatorReport(log: log) }

    /// Puts everything together; nothing runs yet but the loops and the store's writer.
    ///
    /// - Throws: ``StartFault``, which is one line for the operator.
    func build() throws(StartFault) -> Conductor {
        let trust = try Self.trust(settings)
        let fewest = DescriptorPlan.fewest(loops: settings.workers)
        guard openFiles >= fewest else { throw .tooFewFiles(openFiles, needed: fewest, loops: settings.workers) }
        let (place, predecessor) = try takePlace()
        // Whoever runs has one open: it was removed, and with that process its last trace would go.
        if predecessor != nil, FileStanding.mode(of: "\(settings.dataDirectory)/push.db") == nil {
            throw .predecessorsDatabaseRemoved
        }
        let database = try openDatabase()
        let loops = try startLoops()
        let metrics = RelayMetrics(loops: loops.count, clocks: clocks)
        let maker = UpstreamMaker(tokenLoop: loops[0], metrics: metrics, clocks: clocks, report: report)
        let upstreams = maker.make(settings, trust: trust)
        let credentials = CredentialBook(metrics: metrics, upstreams: upstreams)
        let shared = makeShared()
        let ports = Ports(settings: settings, manager: manager, inherited: place)
        let sockets = try ports.openPublic(loops.count)
        // Each socket has a server, and each loop has one at least.
        let serverCount = max(loops.count, sockets.count)
        let plan = DescriptorPlan(
            openFiles: openFiles, loops: loops.count, servers: serverCount, hasOperatorPort: ports.hasOperatorPort)
        let configuration = serverConfiguration(servers: serverCount, plan)
        var stores: [SQLiteDeviceStore] = []
        var workers: [Worker] = []
        let forwardingNotice = OnceInAProcess()
        for (index, loop) in loops.enumerated() {
            let store = try makeStore(database, on: loop)
            stores.append(store)
            let observer = LoopObserver(
                metrics: metrics.loops[index], report: report, forwardingNotice: forwardingNotice)
            let ios = upstreams.open(.ios, on: loop, clocks: clocks, observer: observer)
            let android = upstreams.open(.android, on: loop, clocks: clocks, observer: observer)
            let services = PushServiceSet(ios: ios?.service, android: android?.service)
            let relay = Relay(shared: shared, store: store, services: services, observer: observer)
            let api = PublicAPI(
                relay: relay, proxies: settings.trustedProxies, version: settings.version, observer: observer)
            var servers: [HTTPServer] = []
            for number in stride(from: index, to: serverCount, by: loops.count) {
                let listener = try publicSocket(sockets[number % sockets.count])
                servers.append(
                    HTTPServer(
                        on: loop, listener: listener, configuration: configuration,
                        handler: api))
            }
            workers.append(
                Worker(
                    on: loop, servers: servers, store: store, services: services,
                    pools: (ios?.pools ?? []) + (android?.pools ?? []),
                    // It lives on the first loop, whoever uses it.
                    tokenPool: index == 0 ? upstreams.fcm?.tokenPool : nil, ownsTokenPool: index == 0,
                    observer: observer, clocks: clocks))
        }
        let housekeeping = Housekeeping(
            on: loops[0], store: stores[0], database: database, tally: shared.tally, clocks: clocks,
            idleDays: settings.idleDays, credentials: credentials, guardian: shared.guardian, report: report)
        let operatorSocket = try ports.openOperator()
        let operatorPort = try operatorSocket.map { (socket) throws(StartFault) in
            try makeOperatorPort(
                socket, plan, shared: shared, credentials: credentials, workers: workers, database: database)
        }
        var estate = Estate(lock: place.lock, door: place.lock == nil ? nil : place.door ?? makeDoor())
        estate.listeners = sockets
        estate.operatorListeners = operatorSocket.map { [$0] } ?? []
        let listening = try publicSocket(sockets[0])
        return Conductor(
            parts: Conductor.Parts(
                loops: loops, workers: workers, housekeeping: housekeeping, operatorPort: operatorPort,
                database: database, credentials: credentials, shared: shared, upstreamMaker: maker),
            estate: estate, predecessor: predecessor, isPortKept: ports.isKeptByManager,
            shutdownTimeout: settings.shutdownTimeout, report: report, host: listening.host, port: Int(listening.port))
    }

    // MARK: Whose place it is

    /// Makes the data directory this relay's, taking over from another one where that is asked for.
    private func takePlace() throws(StartFault) -> (Estate, Predecessor?) {
        do throws(StoreOpenError) {
            try SQLiteDatabase.makeDirectory(settings.dataDirectory)
        } catch {
            throw .store(error)
        }
        // One that is about to end lets go of its door first, and then of the lock.
        let step = Duration.milliseconds(50)
        var waited = Duration.zero
        while true {
            switch DirectoryClaim.take(in: settings.dataDirectory) {
            case .mine(let lock): return (Estate(lock: lock), nil)
            case .unavailable(let errno):
                report.notLocked(errno)
                return (Estate(), nil)
            case .others: break
            }
            guard settings.takesOver else { throw .directoryInUse }
            switch Predecessor.ask(in: settings.dataDirectory, waiting: { report.awaitingPredecessor($0) }) {
            case .success(let predecessor): return (predecessor.estate, predecessor)
            // It has had its time.
            case .failure(.hanging(let process)): throw .notHandedOver(.hanging(process: process))
            case .failure(let refusal):
                guard waited < .seconds(2) else { throw .notHandedOver(refusal) }
            }
            usleep(50_000)
            waited += step
        }
    }

    private func makeDoor() -> OwnedDescriptor? {
        switch Estate.makeDoor(in: settings.dataDirectory) {
        case .success(let door): return door
        case .failure(let fault):
            report.noDoor(fault)
            return nil
        }
    }

    // MARK: What the process has one of

    /// The operator's port has a loop of its own, so that no question of the operator's delays a push.
    private func makeOperatorPort(
        _ socket: OwnedDescriptor, _ plan: DescriptorPlan, shared: RelayShared, credentials: CredentialBook,
        workers: [Worker],
        database: SQLiteDatabase
    ) throws(StartFault) -> OperatorPort {
        let listener: ListeningSocket
        do throws(ListenError) {
            listener = try Ports.socket(of: socket)
        } catch {
            throw .listenForOperator(host: settings.metricsHost, port: settings.metricsPort ?? 0, error)
        }
        let loop = try startLoop("operator")
        let desk = OperatorDesk(
            on: loop, settings: settings, clocks: clocks, shared: shared, credentials: credentials, workers: workers,
            database: database, store: try makeStore(database, on: loop))
        var configuration = HTTPServerConfiguration()
        configuration.maximumConnections = plan.operatorConnections
        configuration.refusalRoom = DescriptorPlan.operatorRefusalRoom
        configuration.maximumBody = 0
        let host = listener.host
        let server = HTTPServer(
            on: loop, listener: consume listener, configuration: configuration, handler: OperatorAPI(source: desk))
        return OperatorPort(desk: desk, server: server, host: host)
    }

    private func openDatabase() throws(StartFault) -> SQLiteDatabase {
        // A write that waits keeps its connection. As many may wait behind those that are on their way to the disk, so half
        // of all connections are left to pushes, which need the disk for reading only.
        let room = DescriptorPlan(
            openFiles: openFiles, loops: settings.workers, servers: settings.workers, hasOperatorPort: true)
        var options = SQLiteOptions()
        options.waitingLimit = max(1, min(settings.maximumConnections, room.connections) / 4)
        let database: SQLiteDatabase
        do throws(StoreOpenError) {
            database = try SQLiteDatabase.open(
                directory: settings.dataDirectory, secret: settings.relaySecret.map { .given($0) } ?? .file,
                clock: clocks, options: options, progress: { report.takingOver($0) })
        } catch {
            throw .store(error)
        }
        report.opened(database.report)
        return database
    }

    private func startLoops() throws(StartFault) -> [EventLoop] {
        var loops: [EventLoop] = []
        for number in 0..<settings.workers { loops.append(try startLoop("relay-loop-\(number)")) }
        return loops
    }

    private func startLoop(_ name: String) throws(StartFault) -> EventLoop {
        do throws(EventLoopError) {
            let loop = try EventLoop(name: name)
            try loop.start()
            return loop
        } catch {
            throw .loop(error)
        }
    }

    private func makeShared() -> RelayShared {
        // Beyond this many live keys a new one is refused rather than a live limit forgotten: some 100 MB of addresses.
        let maximumKeys = 1_000_000
        return RelayShared(
            pushesByAddress: RateLimiter(
                limit: settings.pushesPerMinutePerAddress, window: .seconds(60), maximumKeys: maximumKeys),
            pushesByCapability: RateLimiter(
                limit: settings.pushesPerMinutePerDevice, window: .seconds(60), maximumKeys: maximumKeys * 4),
            registrationsByAddress: RateLimiter(
                limit: settings.registrationsPerHour, window: .seconds(3600), maximumKeys: maximumKeys),
            permits: PushPermits(limit: settings.maximumPushesInFlight), tally: DailyTally(),
            guardian: MassDeathGuard(), budget: settings.pushBudget, clocks: clocks)
    }

    /// Whom connections to push services trust, by these settings and by what the system trusts now.
    static func trust(_ settings: Settings) throws(StartFault) -> TLSTrust {
        do throws(TrustError) {
            return try TLSTrust(additionalRootsFile: settings.upstreamCAFile)
        } catch {
            throw .trust(error)
        }
    }

    // MARK: For each loop

    private func makeStore(_ database: SQLiteDatabase, on loop: EventLoop) throws(StartFault) -> SQLiteDeviceStore {
        do throws(StoreError) {
            return try database.makeStore(on: loop)
        } catch {
            throw .store(.store(error))
        }
    }

    private func publicSocket(_ descriptor: OwnedDescriptor) throws(StartFault) -> ListeningSocket {
        do throws(ListenError) {
            return try Ports.socket(of: descriptor)
        } catch {
            throw .listen(host: settings.host, port: settings.port, error)
        }
    }

    private func serverConfiguration(servers: Int, _ plan: DescriptorPlan) -> HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration()
        configuration.retainedHeaders = PublicAPI.retainedHeaders(of: settings.trustedProxies)
        configuration.notedHeaders = PublicAPI.notedHeaders(of: settings.trustedProxies)
        if settings.maximumConnections > plan.connections {
            report.fewerConnections(plan.connections, of: settings.maximumConnections, openFiles: openFiles)
        }
        configuration.maximumConnections = max(1, min(settings.maximumConnections, plan.connections) / servers)
        configuration.refusalRoom = plan.refusalRoom
        let perAddress = settings.maximumConnectionsPerAddress
        configuration.addressCensus = perAddress > 0 ? AddressCensus(limit: perAddress) : nil
        return configuration
    }
}

/// Why the program could not start although its settings make sense.
enum StartFault: Error, CustomStringConvertible {
    case store(StoreOpenError)
    case directoryInUse
    case tooFewFiles(Int, needed: Int, loops: Int)
    case notHandedOver(Predecessor.Refusal)
    case predecessorsDatabaseRemoved
    case loop(EventLoopError)
    case trust(TrustError)
    case listen(host: String, port: Int, ListenError)
    case listenForOperator(host: String, port: Int, ListenError)

    var description: String {
        switch self {
        case .store(let error): "DATA_DIR: \(error)"
        case .directoryInUse:
            "DATA_DIR: another relay runs on it; stop that one first, or set TAKE_OVER_PORT=true to take its place"
        case .tooFewFiles(let files, let needed, let loops):
            "WORKERS: \(loops) loops need \(needed) open files, and no more than \(files) may be open; raise that (ulimit -n, "
                + "LimitNOFILE=), or set WORKERS lower"
        case .notHandedOver(let refusal): "TAKE_OVER_PORT: another relay runs on DATA_DIR, but \(refusal)"
        case .predecessorsDatabaseRemoved:
            "TAKE_OVER_PORT: another relay runs on DATA_DIR, but push.db is not there any more: put it back, or stop that relay "
                + "first, with which everything in it is lost"
        case .loop(let error): "WORKERS: \(error)"
        case .trust(let error): "UPSTREAM_CA_FILE: \(error)"
        case .listen(let host, let port, let error): "HOST, PORT: cannot listen on \(host) port \(port): \(error)"
        case .listenForOperator(let host, let port, let error):
            "METRICS_HOST, METRICS_PORT: cannot listen on \(host) port \(port): \(error)"
        }
    }
}
