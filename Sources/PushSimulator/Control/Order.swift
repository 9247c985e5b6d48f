/// The arguments of one order, and why it cannot be obeyed. Pure.
struct Order {
    private let fields: FormFields

    /// A sentence about what is wrong.
    struct Complaint: Error, Equatable {
        var text: String
        init(_ text: String) { self.text = text }
    }

    /// Reads a query.
    init(query: Substring) throws(Complaint) {
        guard let fields = FormFields(Array(query.utf8)) else { throw Complaint("the query cannot be read") }
        self.fields = fields
    }

    /// The argument as it came; nil when it is missing.
    subscript(_ name: String) -> String? { fields[name] }

    /// A number within bounds; nil when it is missing.
    func number<Number: FixedWidthInteger>(
        _ name: String, _ bounds: ClosedRange<Number>
    ) throws(Complaint) -> Number? {
        guard let text = fields[name] else { return nil }
        guard let number = Number(text), bounds.contains(number) else {
            throw Complaint("\(name) is no number from \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return number
    }

    /// `true` or `false`; nil when it is missing.
    func flag(_ name: String) throws(Complaint) -> Bool? {
        switch fields[name] {
        case nil: return nil
        case "true": return true
        case "false": return false
        default: throw Complaint("\(name) is neither true nor false")
        }
    }

    /// One of the names of an enum; nil when it is missing.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ type: Choice.Type = Choice.self
    ) throws(Complaint) -> Choice? {
        guard let text = fields[name] else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw Complaint("\(name) is none of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    /// Milliseconds up to an hour; nil when it is missing.
    func milliseconds(_ name: String = "ms") throws(Complaint) -> Duration? {
        try number(name, 0...3_600_000 as ClosedRange<Int64>).map { .milliseconds($0) }
    }

    /// How often something happens; nil is for ever.
    func times() throws(Complaint) -> Int? { try number("times", 1...1_000_000_000) }

    /// A service that takes orders.
    func service() throws(Complaint) -> SimulatedService {
        guard let service = try choice("service", SimulatedService.self), service != .control else {
            throw Complaint("service is missing")
        }
        return service
    }

    /// The phone that is meant. Without `platform`, hex is taken for Apple's.
    func phone() throws(Complaint) -> PhoneAddress {
        guard let token = fields["token"], !token.isEmpty else { throw Complaint("token is missing") }
        let guess: PhonePlatform = token.utf8.allSatisfy { $0.hexValue != nil } ? .ios : .android
        return PhoneAddress(token, try choice("platform", PhonePlatform.self) ?? guess)
    }

    /// The bytes that pairs of hex digits stand for; nil when it is missing.
    func bytes(_ name: String) throws(Complaint) -> [UInt8]? {
        guard let text = fields[name] else { return nil }
        let digits = text.utf8.compactMap(\.hexValue)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else {
            throw Complaint("\(name) is no hex")
        }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
