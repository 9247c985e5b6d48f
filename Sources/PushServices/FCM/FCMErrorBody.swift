import FoundationEssentials

/// The body of a refusal by Google: `{"error":{"code","message","status","details":[…]}}`. Details come in any order, with
/// types we do not know, or not at all; pages in HTML come too.
package struct FCMErrorBody: Sendable, Equatable {
    /// Google's canonical word, such as `NOT_FOUND`.
    package var status: String?
    /// FCM's own word, such as `UNREGISTERED`.
    package var errorCode: String?
    /// Prose. Only looked through for a few words, never passed on.
    package var message: String?
    /// The fields of the request that Google objects to.
    package var violatedFields: [String] = []
    /// The word of a `google.rpc.ErrorInfo`, such as `SERVICE_DISABLED`.
    package var infoReason: String?
    /// Whether a quota was named that is about one device.
    package var namesDeviceQuota = false

    /// Whether a quota was named that is about the whole project.
    package var namesProjectQuota = false

    /// Nil when the body is no JSON of this shape; then nothing can be concluded about the device.
    package init?(_ bytes: [UInt8]) {
        guard let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(bytes)) else { return nil }
        status = envelope.error.status
        message = envelope.error.message
        for detail in envelope.error.details {
            guard let type = detail.type else { continue }
            if type.hasSuffix("google.firebase.fcm.v1.FcmError") {
                errorCode = detail.errorCode
            } else if type.hasSuffix("google.rpc.BadRequest") {
                violatedFields += detail.fieldViolations.compactMap(\.field)
            } else if type.hasSuffix("google.rpc.ErrorInfo") {
                infoReason = detail.reason
            } else if type.hasSuffix("google.rpc.QuotaFailure") {
                let words = detail.violations.flatMap { [$0.subject, $0.description] }
                if words.contains(where: { Self.speaks($0, of: "device") }) { namesDeviceQuota = true }
                if words.contains(where: { Self.speaks($0, of: "project") }) { namesProjectQuota = true }
            }
        }
        if status == "RESOURCE_EXHAUSTED" {
            if Self.speaks(message, of: "device") { namesDeviceQuota = true }
            if Self.speaks(message, of: "project") { namesProjectQuota = true }
        }
    }

    private static func speaks(_ text: String?, of word: String) -> Bool { text?.lowercased().contains(word) == true }

    private struct Envelope: Decodable {
        var error: Body
    }

    private struct Body: Decodable {
        var status: String?
        var message: String?
        var details: [Detail]

        enum CodingKeys: CodingKey { case status, message, details }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            status = try? container.decodeIfPresent(String.self, forKey: .status)
            message = try? container.decodeIfPresent(String.self, forKey: .message)
            details = (try? container.decodeIfPresent([Detail].self, forKey: .details)) ?? []
        }
    }

    /// One entry of `details`: whichever of the members its type has. An odd one loses its oddity, not its neighbours.
    private struct Detail: Decodable {
        var type: String?
        var errorCode: String?
        var reason: String?
        var fieldViolations: [Violation]
        var violations: [Quota]

        enum CodingKeys: String, CodingKey {
            case type = "@type"
            case errorCode
            case errorCodeInSnakeCase = "error_code"
            case reason
            case fieldViolations
            case violations
        }

        init(from decoder: any Decoder) throws {
            guard let container = try? decoder.container(keyedBy: CodingKeys.self) else {
                (type, errorCode, reason, fieldViolations, violations) = (nil, nil, nil, [], [])
                return
            }
            type = try? container.decodeIfPresent(String.self, forKey: .type)
            errorCode =
                (try? container.decodeIfPresent(String.self, forKey: .errorCode))
                ?? (try? container.decodeIfPresent(String.self, forKey: .errorCodeInSnakeCase))
            reason = try? container.decodeIfPresent(String.self, forKey: .reason)
            fieldViolations = (try? container.decodeIfPresent([Violation].self, forKey: .fieldViolations)) ?? []
            violations = (try? container.decodeIfPresent([Quota].self, forKey: .violations)) ?? []
        }
    }

    private struct Violation: Decodable {
        var field: String?
    }

    private struct Quota: Decodable {
        var subject: String?
        var description: String?
    }
}
