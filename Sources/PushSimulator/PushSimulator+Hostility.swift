extension PushSimulator {
    // MARK: Connections

    /// Does something on every open connection of a service; gives how many there were.
    @discardableResult
    package func perform(_ acts: ConnectionAct..., on service: SimulatedService) async -> Int {
        await server.perform(acts, on: service)
    }

    /// Receives new connections of a service so, after earlier orders are used up. Nil is every one until
    /// ``receiveAsUsual(_:)``.
    package func receive(_ service: SimulatedService, with reception: Reception, times: Int? = nil) async {
        await server.updateReception(of: service) { $0.add(reception, times: times) }
    }

    /// Receives so what is more than `count` connections in any window of this length, as Apple treats clients that
    /// connect too often.
    package func limitConnections(
        of service: SimulatedService, to count: Int, per window: Duration, beyond reception: Reception
    ) async {
        await server.updateReception(of: service) { $0.limit((count, window, reception)) }
    }

    /// Takes back what was said about the reception of connections.
    package func receiveAsUsual(_ service: SimulatedService) async {
        await server.updateReception(of: service) { $0.clear() }
    }

    /// Refuses or drops new connections in the kernel, or takes them again. Connections that are open stay so.
    /// Over one address only, this is the black hole or the dead address that a client must get around.
    package func setListening(
        _ state: Listening, of service: SimulatedService, over family: AddressFamily = .both
    ) async {
        await server.setListening(state, of: service, over: family)
    }

    // MARK: The proxy

    /// Makes the proxy answer CONNECTs so, after earlier orders are used up; of one host (as asked for, in lower case,
    /// without the port) or of all. Nil is every one until ``proxyAsUsual()``.
    package func answerConnects(_ answer: ProxyAnswer, host: String? = nil, times: Int? = nil) {
        ledger.updateProxy { $0.add(answer, host: host, times: times) }
    }

    /// Lets the proxy answer as usual again.
    package func proxyAsUsual() { ledger.updateProxy { $0.clear() } }

    /// Lets only this user through the proxy; nil is everybody.
    package func requireProxyCredentials(_ credentials: ProxyCredentials?) {
        ledger.updateProxy { $0.credentials = credentials }
    }
}
