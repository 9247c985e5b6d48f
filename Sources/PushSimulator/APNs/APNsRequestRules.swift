/// What Apple asks of a request before it looks at who sends it. Pure.
///
/// The order is that of pushy's mock server, the only one that is written down anywhere: `apns-id`, method, topic,
/// collapse id, priority, push type, path; the provider token comes between these and the payload, which
/// ``payloadFault(_:pushType:)`` judges.
struct APNsRequestRules {
    /// A request that has passed.
    struct Passed: Equatable {
        /// `apns-id` as it came; nil when there was none.
        var id: String?
        /// `apns-topic`.
        var topic: String
        /// `apns-push-type`, or `alert` where there was none.
        var pushType: String
        /// `apns-collapse-id`, at most 64 bytes.
        var collapseID: String?
        /// Lower-case hex.
        var token: String
    }

    /// Fields that may come once only.
    private static let singular = [
        "apns-id", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-collapse-id",
        "authorization",
    ]
    private static let pushTypes: Set<String> = [
        "alert", "background", "complication", "controls", "fileprovider", "liveactivity", "location", "mdm",
        "pushtotalk", "voip", "widgets",
    ]
    private static let priorities: Set<String> = ["10", "5", "1"]
    /// Digits of a device token. Apple names no bounds; a hundred bytes were announced once, the relay takes 400 digits.
    private static let tokenLengths = 64...400
    /// Bytes, not characters ("Sending notification requests to APNs").
    private static let longestCollapseID = 64

    /// Judges everything but the provider token and the payload.
    static func check(_ request: HTTPRequest) -> Result<Passed, APNsReason> {
        if request.repeats(anyOf: singular) != nil { return refuse(.duplicateHeaders) }
        let id = request.header("apns-id")
        if let id, !isCanonicalUUID(id) { return refuse(.badMessageID) }
        guard request.method == "POST" else { return refuse(.methodNotAllowed) }
        guard let topic = request.header("apns-topic"), !topic.isEmpty else { return refuse(.missingTopic) }
        guard topic.utf8.allSatisfy(isTopicCharacter) else { return refuse(.badTopic) }
        let collapseID = request.header("apns-collapse-id")
        if let collapseID, collapseID.utf8.count > longestCollapseID { return refuse(.badCollapseID) }
        if let expiration = request.header("apns-expiration"), !isEpoch(expiration) {
            return refuse(.badExpirationDate)
        }
        let priority = request.header("apns-priority") ?? "10"
        guard priorities.contains(priority) else { return refuse(.badPriority) }
        let pushType = request.header("apns-push-type") ?? "alert"
        guard pushTypes.contains(pushType) else { return refuse(.invalidPushType) }
        // "Specifying 10 for a background notification is an error", and 10 is the default.
        if pushType == "background", priority == "10" { return refuse(.badPriority) }
        switch token(of: request.target) {
        case .failure(let reason): return refuse(reason)
        case .success(let token):
            return .success(
                Passed(id: id, topic: topic, pushType: pushType, collapseID: collapseID, token: token))
        }
    }

    /// Judges the body: at most 4096 bytes (5120 for `voip`), and a JSON object with an object `aps`.
    ///
    /// Apple documents no word for a body that is no JSON; `PayloadEmpty` is the one among its reasons that fits.
    static func payloadFault(_ body: [UInt8], pushType: String) -> APNsReason? {
        guard !body.isEmpty else { return .payloadEmpty }
        guard body.count <= (pushType == "voip" ? 5120 : 4096) else { return .payloadTooLarge }
        guard JSON(body)?["aps"]?.members != nil else { return .payloadEmpty }
        return nil
    }

    private static func refuse(_ reason: APNsReason) -> Result<Passed, APNsReason> { .failure(reason) }

    private static func token(of target: String) -> Result<String, APNsReason> {
        let prefix = "/3/device"
        guard target.hasPrefix(prefix) else { return .failure(.badPath) }
        let rest = target.dropFirst(prefix.count)
        if rest.isEmpty || rest == "/" { return .failure(.missingDeviceToken) }
        guard rest.first == "/" else { return .failure(.badPath) }
        let token = rest.dropFirst()
        guard !token.contains("/") else { return .failure(.badPath) }
        let length = token.utf8.count
        guard tokenLengths.contains(length), length.isMultiple(of: 2), token.utf8.allSatisfy({ $0.hexValue != nil })
        else { return .failure(.badDeviceToken) }
        return .success(token.lowercased())
    }

    /// 8-4-4-4-12 lower-case hex digits.
    static func isCanonicalUUID(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return false }
        return bytes.enumerated().allSatisfy { index, byte in
            switch index {
            case 8, 13, 18, 23: byte == UInt8(ascii: "-")
            default: byte.hexValue != nil && !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
            }
        }
    }

    private static func isTopicCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isEpoch(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && Int64(text) != nil
    }
}
