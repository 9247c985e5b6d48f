/// Why a simulator could not be made or started.
package enum SimulatorError: Error, Equatable, CustomStringConvertible {
    /// A directory or file could not be made or written.
    case file(path: String, errno: Int32)
    /// A port of the loopback addresses could not be had.
    case port(UInt16, errno: Int32)
    /// OpenSSL refused this call; out of memory or a broken installation.
    case openSSL(String)
    /// nghttp2 refused this call; out of memory.
    case nghttp2(String)
    /// The Cryptography room could not make or use a key.
    case key(String)
    /// The system gave no event loop.
    case loop(String)
    /// `start` was called a second time; a stopped simulator is not started again.
    case startedTwice

    package var description: String {
        switch self {
        case .file(let path, let errno): "\(path) could not be written (errno \(errno))"
        case .port(let port, let errno): "port \(port) on loopback could not be had (errno \(errno))"
        case .openSSL(let call): "OpenSSL failed in \(call)"
        case .nghttp2(let call): "nghttp2 failed in \(call)"
        case .key(let text): "a key could not be made: \(text)"
        case .loop(let text): "no event loop: \(text)"
        case .startedTwice: "a simulator starts once"
        }
    }
}
