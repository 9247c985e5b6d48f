import Limits

/// The number of one to eighteen plain decimal digits; nil for anything else: signs, blanks, `1e9`, digits of other
/// scripts. More digits than that are no setting's number.
func plainDecimal(_ text: some StringProtocol) -> Int? {
    guard (1...18).contains(text.utf8.count),
        text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") })
    else { return nil }
    return Int(text)
}

/// Whether it is an IPv4 or IPv6 address without brackets, port or zone.
func isIPAddress(_ text: some StringProtocol) -> Bool { ClientAddress(text) != nil }

/// The ten capital letters and digits that Apple gives keys and teams for names.
func isAppleIdentifier(_ text: String) -> Bool {
    text.utf8.count == 10
        && text.utf8.allSatisfy { $0.isLetterOrDigit && !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
}

/// A bundle identifier: letters, digits, hyphens and dots.
func isBundleIdentifier(_ text: String) -> Bool {
    (1...155).contains(text.utf8.count)
        && text.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
}
