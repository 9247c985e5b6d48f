import HTTPServer
import Limits

/// The sockets that the relay listens on, and where they come from: handed over by a service manager, left by the relay
/// that ran before, or opened here.
struct Ports {
    let settings: Settings
    let manager: ServiceManager
    /// What another relay leaves; nothing where there was none.
    let inherited: Estate

    /// The name (`FileDescriptorName=`) by which a service manager tells the operator's socket from the public one's.
    static let operatorName = "operator"

    /// Whether the public port's socket is somebody else's, who keeps it while this process ends and the next one starts.
    var isKeptByManager: Bool { manager.sockets.contains { $0.name != Self.operatorName } }

    /// The sockets of the public port. Each is to be accepted from, or connections that the system gives it would wait for
    /// ever.
    ///
    /// - Parameter count: how many to open, where they are to be opened here.
    func openPublic(_ count: Int) throws(StartFault) -> [OwnedDescriptor] {
        let given = manager.sockets.filter { $0.name != Self.operatorName }.map(\.descriptor)
        if !given.isEmpty { return given }
        var left: [OwnedDescriptor] = []
        for descriptor in inherited.listeners where try isMeant(descriptor) { left.append(descriptor) }
        if !left.isEmpty { return left }
        var port = settings.port
        if port != 0, try !isInherited(port) { try checkIsFree(port) }
        var opened: [OwnedDescriptor] = []
        for _ in 0..<count {
            do throws(ListenError) {
                // They share the port, for which all of them ask; the system spreads connections among them.
                let socket = try ListeningSocket.open(host: settings.host, port: UInt16(port), reusePort: true)
                port = Int(socket.port)
                opened.append(OwnedDescriptor(try socket.anotherDescriptor()))
            } catch {
                throw fault(port, error)
            }
        }
        return opened
    }

    /// Whether there is to be an operator's port.
    var hasOperatorPort: Bool {
        settings.metricsPort != nil || manager.sockets.contains { $0.name == Self.operatorName }
    }

    /// The socket of the operator's port; nil when there is none.
    func openOperator() throws(StartFault) -> OwnedDescriptor? {
        if let given = manager.sockets.first(where: { $0.name == Self.operatorName }) { return given.descriptor }
        guard let port = settings.metricsPort else { return nil }
        do throws(ListenError) {
            for descriptor in inherited.operatorListeners {
                let socket = try Self.socket(of: descriptor)
                if Int(socket.port) == port, isSame(socket.host, settings.metricsHost) { return descriptor }
            }
            let socket = try ListeningSocket.open(host: settings.metricsHost, port: UInt16(port))
            return OwnedDescriptor(try socket.anotherDescriptor())
        } catch {
            throw .listenForOperator(host: settings.metricsHost, port: port, error)
        }
    }

    /// A listening socket for one server, with a descriptor of its own.
    static func socket(of descriptor: OwnedDescriptor) throws(ListenError) -> ListeningSocket {
        guard let another = descriptor.another() else { throw .notListening }
        return try ListeningSocket(adopting: another)
    }

    /// Whether a socket that was left is of the port that the settings name: somebody may have changed them.
    private func isMeant(_ descriptor: OwnedDescriptor) throws(StartFault) -> Bool {
        do throws(ListenError) {
            let socket = try Self.socket(of: descriptor)
            return (settings.port == 0 || Int(socket.port) == settings.port) && isSame(socket.host, settings.host)
        } catch {
            throw fault(settings.port, error)
        }
    }

    /// Whether the relay that ran before listens on this port, at whatever address. It shares it, as whoever opens it here.
    private func isInherited(_ port: Int) throws(StartFault) -> Bool {
        for descriptor in inherited.listeners {
            do throws(ListenError) {
                if try Int(Self.socket(of: descriptor).port) == port { return true }
            } catch {
                throw fault(port, error)
            }
        }
        return false
    }

    /// Whether both texts are the same address, which IPv6 lets one write in many ways.
    private func isSame(_ one: String, _ other: String) -> Bool { ClientAddress(one) == ClientAddress(other) }

    /// Several listeners share the port, for which all of them ask; so would a relay that runs already, and both would
    /// serve. One bind that does not ask tells.
    private func checkIsFree(_ port: Int) throws(StartFault) {
        do throws(ListenError) {
            _ = try ListeningSocket.open(host: settings.host, port: UInt16(port))
        } catch {
            throw fault(port, error)
        }
    }

    private func fault(_ port: Int, _ error: ListenError) -> StartFault {
        .listen(host: settings.host, port: port, error)
    }
}
