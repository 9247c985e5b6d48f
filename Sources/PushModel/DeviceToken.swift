/// The address a push service gave a device. It is the secret that the relay exists to keep, so it does not print.
package struct DeviceToken: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The push service that issued it.
    package let platform: Platform
    /// The token as the push service expects it: Apple's in lower-case hex, Google's untouched.
    package let disclosed: String

    /// Takes what a phone sent.
    ///
    /// iOS: 64 to 400 hex digits, an even number of them, in either case (Apple has said that tokens may grow; 108 and
    /// 160 digits have been seen). Android: `^[A-Za-z0-9_:.-]{32,4096}$`. Nil for anything else.
    package init?(_ text: String, for platform: Platform) {
        let length = text.utf8.count
        switch platform {
        case .ios:
            guard (64...400).contains(length), length.isMultiple(of: 2), text.utf8.allSatisfy(\.isHexDigit) else {
                return nil
            }
            self.init(unchecked: text.lowercased(), for: platform)
        case .android:
            guard (32...4096).contains(length), text.utf8.allSatisfy(\.isRegistrationTokenCharacter) else {
                return nil
            }
            self.init(unchecked: text, for: platform)
        }
    }

    /// Takes what an earlier check let into the store. An older relay was laxer, and its registrations are kept.
    package init(unchecked text: String, for platform: Platform) {
        self.platform = platform
        disclosed = text
    }

    package var description: String { "(device token)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    fileprivate var isRegistrationTokenCharacter: Bool {
        isBase64URL || self == UInt8(ascii: ":") || self == UInt8(ascii: ".")
    }
}
