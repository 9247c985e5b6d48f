import Cryptography
package import PushModel

extension Capability {
    /// A fresh capability, from the system's random source.
    package static func random() -> Capability {
        Capability(randomBytes: SecureRandom.bytes32())
    }
}
