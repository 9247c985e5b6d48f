import Glibc

/// nghttp2's own server, over TLS on a loopback port, answering every path that is a file of its directory.
final class Nghttpd {
    let port: UInt16
    private let process: pid_t

    /// Starts it and waits until it takes connections.
    init(_ identity: TestAuthority.Identity, directory: String) {
        // It cannot tell which port the kernel chose, so one is taken and given back just before.
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                unsafe _ = bind(socket, raw, length)
                unsafe _ = getsockname(socket, raw, &length)
            }
        }
        close(socket)
        port = UInt16(bigEndian: address.sin_port)

        let words = [
            "nghttpd", "-a", "127.0.0.1", "-d", directory, String(port), identity.keyFile, identity.certificateFile,
        ]
        var arguments = unsafe words.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        var process = pid_t()
        guard unsafe posix_spawnp(&process, "nghttpd", nil, nil, arguments, environ) == 0 else {
            fatalError("nghttpd is not installed")
        }
        self.process = process
        unsafe arguments.forEach { unsafe free($0) }
        waitUntilItListens(address)
    }

    deinit {
        kill(process, SIGKILL)
        _ = waitpid(process, nil, 0)
    }

    private func waitUntilItListens(_ address: sockaddr_in) {
        var address = address
        while true {
            let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let code = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                    unsafe connect(socket, raw, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            close(socket)
            if code == 0 { return }
            guard waitpid(process, nil, WNOHANG) == 0 else { fatalError("nghttpd did not start") }
            usleep(5000)
        }
    }
}
