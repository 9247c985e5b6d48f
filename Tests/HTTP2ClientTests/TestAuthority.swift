import COpenSSL
import Glibc

/// A certificate authority for tests, with its files in a directory of their own that goes when it does.
final class TestAuthority: Sendable {
    let directory: String
    /// The root, in PEM.
    var rootFile: String { directory + "/root.pem" }

    /// A certificate with its key, as two PEM files.
    struct Identity: Sendable {
        let certificateFile: String
        let keyFile: String
    }

    private let root: Signer

    /// A key and the certificate that goes with it. Only read after it is made.
    @safe private final class Signer: @unchecked Sendable {
        let key: OpaquePointer
        let certificate: OpaquePointer

        init(key: OpaquePointer, certificate: OpaquePointer) {
            unsafe self.key = key
            unsafe self.certificate = certificate
        }

        deinit {
            unsafe X509_free(certificate)
            unsafe EVP_PKEY_free(key)
        }
    }

    init() {
        var template = Array("/tmp/http2client-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { fatalError("no temporary directory") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let key = unsafe Self.newKey()
        let certificate = unsafe Self.newCertificate(for: key, named: "Test root", validFrom: -86_400, to: 86_400)
        unsafe Self.extend(certificate, issuer: certificate, NID_basic_constraints, "critical,CA:TRUE")
        unsafe X509_set_issuer_name(certificate, X509_get_subject_name(certificate))
        unsafe X509_sign(certificate, key, EVP_sha256())
        root = unsafe Signer(key: key, certificate: certificate)
        unsafe Self.write(certificate, to: rootFile)
    }

    deinit {
        for name in ["root.pem"] { unsafe unlink(directory + "/" + name) }
        for number in 0..<Int(Self.limit) {
            unsafe unlink(directory + "/\(number).pem")
            unsafe unlink(directory + "/\(number).key")
        }
        unsafe rmdir(directory)
    }

    private static let limit = 8

    /// Issues a certificate for names as OpenSSL's configuration writes them (`DNS:…,IP:…`), valid from and to so many
    /// seconds from now. `number` names its files.
    func issue(
        _ number: Int = 0, names: String = "DNS:localhost,IP:127.0.0.1,IP:::1", from: Int = -3600, to: Int = 3600
    )
        -> Identity
    {
        precondition(number < Self.limit, "more certificates than are cleaned up")
        let key = unsafe Self.newKey()
        let certificate = unsafe Self.newCertificate(for: key, named: "peer \(number)", validFrom: from, to: to)
        unsafe X509_set_issuer_name(certificate, X509_get_subject_name(root.certificate))
        unsafe Self.extend(certificate, issuer: root.certificate, NID_subject_alt_name, names)
        unsafe X509_sign(certificate, root.key, EVP_sha256())
        let identity = Identity(
            certificateFile: directory + "/\(number).pem", keyFile: directory + "/\(number).key")
        unsafe Self.write(certificate, to: identity.certificateFile)
        let file = unsafe BIO_new_file(identity.keyFile, "w")
        unsafe PEM_write_bio_PrivateKey(file, key, nil, nil, 0, nil, nil)
        unsafe BIO_free(file)
        unsafe X509_free(certificate)
        unsafe EVP_PKEY_free(key)
        return identity
    }

    private static func newKey() -> OpaquePointer {
        let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        var key: OpaquePointer?
        unsafe EVP_PKEY_keygen_init(context)
        unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
        unsafe EVP_PKEY_keygen(context, &key)
        unsafe EVP_PKEY_CTX_free(context)
        guard let key = unsafe key else { fatalError("no key") }
        return unsafe key
    }

    private static func newCertificate(for key: OpaquePointer, named name: String, validFrom: Int, to: Int)
        -> OpaquePointer
    {
        guard let certificate = unsafe X509_new() else { fatalError("no certificate") }
        unsafe X509_set_version(certificate, 2)
        unsafe ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...Int(Int32.max)))
        unsafe X509_gmtime_adj(X509_getm_notBefore(certificate), validFrom)
        unsafe X509_gmtime_adj(X509_getm_notAfter(certificate), to)
        unsafe X509_set_pubkey(certificate, key)
        let subject = unsafe X509_get_subject_name(certificate)
        unsafe X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, Array(name.utf8), Int32(name.utf8.count), -1, 0)
        return unsafe certificate
    }

    private static func extend(_ certificate: OpaquePointer, issuer: OpaquePointer, _ nid: Int32, _ value: String) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
        let extension_ = unsafe X509V3_EXT_conf_nid(nil, &context, nid, value)
        unsafe X509_add_ext(certificate, extension_, -1)
        unsafe X509_EXTENSION_free(extension_)
    }

    private static func write(_ certificate: OpaquePointer, to path: String) {
        let file = unsafe BIO_new_file(path, "w")
        unsafe PEM_write_bio_X509(file, certificate)
        unsafe BIO_free(file)
    }
}
