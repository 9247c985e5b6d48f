import Glibc

/// nghttp2's own server, over TLS on a loopback port, answering every path that is a file of its directory.
final class Nghttpd {
    let port: UInt16
    private let process: pid_t

    /// Starts it and waits until it takes connections.
    init(_ identity: TestAuthority.Identity, directory: String) {
        // It cannot tell which port the kernel chose, so one is taken and given back just before; should somebody
        // else get it in between, it ends at once and another one is tried.
        while true {
            guard let taken = LoopbackPort(isIPv6: false) else { fatalError("no port left") }
            close(taken.socket)
            let process = Self.start(on: taken.port, identity, directory: directory)
            if Self.takesConnections(process, on: taken.port) {
                self.process = process
                port = taken.port
                return
            }
        }
    }

    deinit {
        kill(process, SIGKILL)
        _ = waitpid(process, nil, 0)
    }

    private static func start(on port: UInt16, _ identity: TestAuthority.Identity, directory: String) -> pid_t {
        let words = [
            "nghttpd", "-a", "127.0.0.1", "-d", directory, String(port), identity.keyFile, identity.certificateFile,
        ]
        var arguments = unsafe words.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var process = pid_t()
        guard unsafe posix_spawnp(&process, "nghttpd", nil, nil, arguments, environ) == 0 else {
            fatalError("nghttpd is not installed")
        }
        return process
    }

    /// Waits until it takes connections; false when it has ended instead.
    private static func takesConnections(_ process: pid_t, on port: UInt16) -> Bool {
        var address = LoopbackPort.address(port: port)
        while waitpid(process, nil, WNOHANG) == 0 {
            let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(socket) }
            let code = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                    unsafe connect(socket, raw, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            // A connection might also be taken by whoever has got the port instead.
            usleep(5000)
            if code == 0 { return waitpid(process, nil, WNOHANG) == 0 }
        }
        return false
    }
}
