import FoundationEssentials
package import PushModel

/// The body of an APNs refusal: `{"reason":"…"}`, and with a 410 a `timestamp` in milliseconds. All of it optional,
/// since an edge server may answer with anything.
package struct APNsErrorBody: Sendable, Equatable {
    /// Apple's word, without blanks: one page of Apple's spells `Service Unavailable`.
    package var reason: String?
    /// When APNs knew that the token was finished; nil when absent, not plausibly in milliseconds, or yet to come.
    package var timestamp: WallInstant?

    /// The first moment that is read as one: 2001-09-09 in milliseconds. Smaller numbers are seconds or nonsense, and
    /// an unreadable timestamp counts as none.
    private static let earliest: Int64 = 1_000_000_000_000

    /// Reads what it can; never fails. `now` is the moment of the answer: what Apple knows then is no later, but for what
    /// two clocks differ by, and whoever believed a later moment would forget a phone that registers meanwhile.
    package init(_ bytes: [UInt8], at now: WallInstant) {
        guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(bytes)) else { return }
        reason = fields.reason.map { $0.filter { $0 != " " } }
        if let milliseconds = fields.timestamp, milliseconds >= Self.earliest, milliseconds <= now.milliseconds {
            timestamp = WallInstant(milliseconds: milliseconds)
        }
    }

    /// The reason alone.
    package static func reason(in bytes: [UInt8]) -> String? {
        APNsErrorBody(bytes, at: WallInstant(milliseconds: 0)).reason
    }

    private struct Fields: Decodable {
        var reason: String?
        var timestamp: Int64?

        enum CodingKeys: CodingKey { case reason, timestamp }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            // Each alone, so that an odd timestamp does not cost the reason.
            reason = try? container.decodeIfPresent(String.self, forKey: .reason)
            timestamp = try? container.decodeIfPresent(Int64.self, forKey: .timestamp)
        }
    }
}
