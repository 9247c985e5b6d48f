import Cryptography
import DeviceStore
import EventLoops
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
    let log: Log
    let clocks: Clocks

    private var report: OperatorReport { OperatorReport(log: log) }

    /// Puts everything together; nothing runs yet but the loops and the store's writer.
    ///
    /// - Throws: ``StartFault``, which is one line for the operator.
    func build() throws(StartFault) -> Conductor {
        let database = try openDatabase()
        let loops = try startLoops()
        let metrics = RelayMetrics(loops: loops.count, clocks: clocks)
        let upstreams = try makeUpstreams(tokenLoop: loops[0], metrics)
        let shared = makeShared()
        let connectionsPerAddress = settings.maximumConnectionsPerAddress
        let census = connectionsPerAddress > 0 ? AddressCensus(limit: connectionsPerAddress) : nil
        var stores: [SQLiteDeviceStore] = []
        var workers: [Worker] = []
        var port = settings.port
        if port != 0 { try checkPortIsFree() }
        for (loop, counters) in zip(loops, metrics.loops) {
            let store = try makeStore(database, on: loop)
            stores.append(store)
            let observer = LoopObserver(metrics: counters, report: report)
            let upstream = upstreams.open(on: loop, clocks: clocks, observer: observer, report: report)
            let relay = Relay(shared: shared, store: store, services: upstream.services, observer: observer)
            let api = PublicAPI(
                relay: relay, proxies: settings.trustedProxies, version: settings.version, observer: observer)
            let server = HTTPServer(
                on: loop, listener: try listen(on: port),
                configuration: serverConfiguration(loops: loops.count, census),
                handler: api)
            port = Int(server.port)
            workers.append(
                Worker(
                    on: loop, server: server, store: store, pools: upstream.pools,
                    // It lives on the first loop, whoever uses it.
                    tokenPool: loop === loops[0] ? upstreams.fcm?.tokenPool : nil, metrics: counters, clocks: clocks))
        }
        let credentials = CredentialBook(
            metrics: metrics, providerTokens: upstreams.apns?.tokens, accessTokens: upstreams.fcm?.tokens)
        let housekeeping = Housekeeping(
            on: loops[0], store: stores[0], database: database, tally: shared.tally, clocks: clocks,
            idleDays: settings.idleDays, credentials: credentials, report: report)
        let operatorPort = try settings.metricsPort.map { (metricsPort) throws(StartFault) in
            try makeOperatorPort(
                metricsPort, shared: shared, credentials: credentials, upstreams: upstreams, workers: workers,
                database: database)
        }
        return Conductor(
            loops: loops, workers: workers, housekeeping: housekeeping, operatorPort: operatorPort, database: database,
            tokenPool: upstreams.fcm?.tokenPool, shutdownTimeout: settings.shutdownTimeout, port: port)
    }

    /// The operator's port has a loop of its own, so that no question of the operator's delays a push.
    private func makeOperatorPort(
        _ port: Int, shared: RelayShared, credentials: CredentialBook, upstreams: Upstreams, workers: [Worker],
        database: SQLiteDatabase
    ) throws(StartFault) -> OperatorPort {
        let listener: ListeningSocket
        do throws(ListenError) {
            listener = try ListeningSocket.open(host: settings.metricsHost, port: UInt16(port))
        } catch {
            throw .listenForOperator(host: settings.metricsHost, port: port, error)
        }
        let loop = try startLoop("operator")
        let desk = OperatorDesk(
            on: loop, settings: settings, clocks: clocks, shared: shared, credentials: credentials,
            upstreams: upstreams.names, breakers: upstreams.breakers, workers: workers, database: database,
            store: try makeStore(database, on: loop))
        var configuration = HTTPServerConfiguration()
        configuration.maximumConnections = 64
        configuration.maximumBody = 0
        let server = HTTPServer(
            on: loop, listener: consume listener, configuration: configuration, handler: OperatorAPI(source: desk))
        return OperatorPort(desk: desk, server: server)
    }

    // MARK: What the process has one of

    private func openDatabase() throws(StartFault) -> SQLiteDatabase {
        let database: SQLiteDatabase
        do throws(StoreOpenError) {
            database = try SQLiteDatabase.open(
                directory: settings.dataDirectory, secret: settings.relaySecret.map { .given($0) } ?? .file,
                clock: clocks, progress: { report.takingOver($0) })
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

    private func makeUpstreams(tokenLoop: EventLoop, _ metrics: RelayMetrics) throws(StartFault) -> Upstreams {
        let trust: TLSTrust
        do throws(TrustError) {
            trust = try TLSTrust(additionalRootsFile: settings.upstreamCAFile)
        } catch {
            throw .trust(error)
        }
        return Upstreams(
            trust: trust, proxy: settings.forwardProxy, apns: settings.apns.map { apns($0) },
            fcm: settings.fcm.map { fcm($0, trust: trust, tokenLoop: tokenLoop, metrics) })
    }

    private func apns(_ apns: APNsSettings) -> Upstreams.APNs {
        Upstreams.APNs(
            topic: apns.topic, production: apns.productionOrigin.origin, sandbox: apns.sandboxOrigin.origin,
            tokens: ProviderTokenSource(key: apns.key, keyID: apns.keyID, teamID: apns.teamID, clocks: clocks),
            productionBreaker: ServiceBreaker(.apns, observer: report),
            sandboxBreaker: ServiceBreaker(.apnsSandbox, observer: report))
    }

    private func fcm(
        _ fcm: FCMSettings, trust: TLSTrust, tokenLoop: EventLoop, _ metrics: RelayMetrics
    ) -> Upstreams.FCM {
        let account = fcm.account
        let origin = account.tokenURI.origin.origin
        let pool = HTTP2Pool(
            on: tokenLoop, origin: origin, proxy: settings.forwardProxy?.proxy(towards: origin), trust: trust,
            configuration: .oauth
        ) { report.connection(.oauth, $0) }
        let tokens = AccessTokenSource(
            account: account.account, path: account.tokenURI.path, endpoint: pool, on: tokenLoop, clocks: clocks,
            observer: TokenObserver(metrics: metrics, report: report))
        return Upstreams.FCM(
            account: account.account, origin: fcm.origin.origin, tokens: tokens,
            breaker: ServiceBreaker(.fcm, observer: report), tokenPool: pool)
    }

    // MARK: For each loop

    private func makeStore(_ database: SQLiteDatabase, on loop: EventLoop) throws(StartFault) -> SQLiteDeviceStore {
        do throws(StoreError) {
            return try database.makeStore(on: loop)
        } catch {
            throw .store(.store(error))
        }
    }

    /// Several listeners share the port, for which all of them ask; so would a relay that runs already, and both would
    /// serve. One bind that does not ask tells.
    private func checkPortIsFree() throws(StartFault) {
        do throws(ListenError) {
            _ = try ListeningSocket.open(host: settings.host, port: UInt16(settings.port))
        } catch {
            throw .listen(host: settings.host, port: settings.port, error)
        }
    }

    private func listen(on port: Int) throws(StartFault) -> ListeningSocket {
        do throws(ListenError) {
            return try ListeningSocket.open(host: settings.host, port: UInt16(port), reusePort: true)
        } catch {
            throw .listen(host: settings.host, port: port, error)
        }
    }

    private func serverConfiguration(loops: Int, _ census: AddressCensus?) -> HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration()
        configuration.retainedHeaders = PublicAPI.retainedHeaders(of: settings.trustedProxies)
        configuration.maximumConnections = max(1, settings.maximumConnections / loops)
        configuration.addressCensus = census
        return configuration
    }
}

/// Why the program could not start although its settings make sense.
enum StartFault: Error, CustomStringConvertible {
    case store(StoreOpenError)
    case loop(EventLoopError)
    case trust(TrustError)
    case listen(host: String, port: Int, ListenError)
    case listenForOperator(host: String, port: Int, ListenError)

    var description: String {
        switch self {
        case .store(let error): "DATA_DIR: \(error)"
        case .loop(let error): "WORKERS: \(error)"
        case .trust(let error): "UPSTREAM_CA_FILE: \(error)"
        case .listen(let host, let port, let error): "HOST, PORT: cannot listen on \(host) port \(port): \(error)"
        case .listenForOperator(let host, let port, let error):
            "METRICS_HOST, METRICS_PORT: cannot listen on \(host) port \(port): \(error)"
        }
    }
}
