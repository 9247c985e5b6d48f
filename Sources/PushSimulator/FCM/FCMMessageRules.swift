/// What FCM asks of a message ("REST Resource: projects.messages"), and the words in which it refuses. Pure.
struct FCMMessageRules {
    /// A message to one registration token that has passed.
    struct Passed: Equatable {
        /// `message.token`.
        var token: String
        /// `message`, as it came.
        var message: JSON
        /// `android.notification.tag`.
        var tag: String?
        /// Whether nothing is to be delivered.
        var validateOnly: Bool
    }

    private static let targets = ["token", "topic", "condition", "fid"]
    /// Bytes of keys and values. What Google counts is not published.
    private static let largestMessage = 4096
    private static let longestLife = Duration.seconds(2_419_200)

    /// Judges a body.
    static func check(_ body: [UInt8]) -> Result<Passed, GoogleError> {
        guard let root = JSON(body), root.members != nil else {
            let text = "Invalid JSON payload received. Expected an object."
            return .failure(.badRequest([FieldViolation(field: "", description: text)]))
        }
        var shapes = FCMShapeCheck()
        shapes.check(root, against: .request)
        guard shapes.violations.isEmpty else { return .failure(.badRequest(shapes.violations)) }
        guard let message = root.named("message"), message.members != nil else {
            return .failure(.invalidArgument("Request contains an invalid argument.", field: "message"))
        }
        if let refusal = checkTarget(message) ?? checkData(message) ?? checkLife(message) ?? checkSize(message) {
            return .failure(refusal)
        }
        guard let token = message.named("token")?.string else {
            // Topics, conditions and installations are of no use to a relay, and nobody here listens to them.
            return .failure(.invalidArgument("Request contains an invalid argument.", field: nil))
        }
        guard isTokenShaped(token) else {
            return .failure(
                GoogleError(
                    code: 400, message: "The registration token is not a valid FCM registration token",
                    status: "INVALID_ARGUMENT", errorCode: "INVALID_ARGUMENT",
                    violations: [FieldViolation(field: "message.token", description: "Invalid registration token")]))
        }
        let validateOnly = root.named("validate_only") == .bool(true)
        let tag = message.named("android")?.named("notification")?.named("tag")?.string
        return .success(Passed(token: token, message: message, tag: tag, validateOnly: validateOnly))
    }

    private static func checkTarget(_ message: JSON) -> GoogleError? {
        let given = targets.filter { message.named($0) != nil }
        if given.isEmpty { return .invalidArgument("Recipient of the message is not set.", field: "message") }
        guard given.count > 1 else { return nil }
        let text = "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set '\(given[1])'"
        return .badRequest([FieldViolation(field: "message", description: text)])
    }

    /// "The key should not be a reserved word (`from`, `message_type`, or any word starting with `google.` or
    /// `gcm.notification.`)"; the page on errors adds `gcm` itself.
    private static func checkData(_ message: JSON) -> GoogleError? {
        for place in [message.named("data"), message.named("android")?.named("data")] {
            for member in place?.members ?? [] {
                let isReserved =
                    ["from", "gcm", "message_type"].contains(member.name) || member.name.hasPrefix("google")
                    || member.name.hasPrefix("gcm.")
                if isReserved {
                    return .invalidArgument("Invalid data payload key: \(member.name)", field: "message.data")
                }
            }
        }
        return nil
    }

    private static func checkLife(_ message: JSON) -> GoogleError? {
        guard let text = message.named("android")?.named("ttl")?.string, let life = FCMShapeCheck.duration(text),
            !(Duration.zero...longestLife).contains(life)
        else { return nil }
        return .invalidArgument("Invalid time to live duration: \(text)", field: "message.android.ttl")
    }

    private static func checkSize(_ message: JSON) -> GoogleError? {
        let android = message.named("android")
        let places = [
            message.named("data"), message.named("notification"), android?.named("data"),
            android?.named("notification"),
        ]
        let size = places.reduce(0) { $0 + textSize($1) }
        return size > largestMessage ? .invalidArgument("Android message is too big", field: nil) : nil
    }

    private static func textSize(_ value: JSON?) -> Int {
        (value?.members ?? []).reduce(0) { $0 + $1.name.utf8.count + ($1.value.string?.utf8.count ?? 0) }
    }

    private static func isTokenShaped(_ token: String) -> Bool {
        (32...4096).contains(token.utf8.count)
            && token.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "."),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

extension JSON {
    /// A member by its name in snake case, however it is spelled; nil when absent or null.
    fileprivate func named(_ name: String) -> JSON? {
        guard let value = members?.last(where: { FCMShapeCheck.snakeCase($0.name) == name })?.value, value != .null
        else { return nil }
        return value
    }
}
