#if canImport(Glibc)
    import Glibc
#endif

/// What the system calls an error, such as `No such file or directory` (strerror(3)).
package func systemReason(_ errno: Int32) -> String {
    guard let text = unsafe strerror(errno) else { return "errno \(errno)" }
    return unsafe String(cString: text)
}
