import COpenSSL

/// The algorithms of OpenSSL that every push needs, looked up once: `EVP_*_fetch` costs more than hashing does.
///
/// `@unchecked Sendable`: the pointers are set in `init` and never change, and OpenSSL's fetched algorithms may be used
/// by any thread (`crypto(7)`). They are never freed; there is one of each in the process.
@safe final class Algorithms: @unchecked Sendable {
    static let fetched = Algorithms()

    let sha256: OpaquePointer
    let aes256GCM: OpaquePointer

    private init() {
        guard let sha256 = unsafe EVP_MD_fetch(nil, "SHA256", nil),
            let aes256GCM = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)
        else { preconditionFailure("OpenSSL's default provider has no SHA-256 or no AES-256-GCM") }
        unsafe self.sha256 = sha256
        unsafe self.aes256GCM = aes256GCM
    }
}

/// Traps unless OpenSSL said 1. For calls that fail only when memory runs out or the arguments are wrong.
@inline(__always)
func mustSucceed(_ result: Int32) {
    precondition(result == 1, "an OpenSSL call failed that cannot fail")
}
