/// How the body of an Apple refusal is written, beside the documented form.
package enum APNsRefusalForm: String, Sendable, CaseIterable {
    /// `{"reason":"…"}`, and a `timestamp` with a 410.
    case usual
    /// No body at all, as what stands at Apple's edge was seen to answer.
    case missing
    /// A page for people.
    case page
    /// White space wherever JSON lets it be.
    case spaced
    /// Spaces inside of the reason, as one page of Apple's documentation spells it.
    case spacedReason = "spaced-reason"
    /// Each byte in a DATA frame of its own.
    case split
    /// Trailers after the body.
    case trailers
    case truncated
    /// `["…"]`
    case array
    /// A reason that is no string.
    case numericReason = "numeric-reason"
    /// An object without a reason.
    case noReason = "no-reason"
    /// The reason, and a megabyte of other members.
    case huge
    /// Bytes that are no UTF-8 after the reason.
    case notUTF8 = "not-utf-8"
    /// Another reason before the right one, under the same name.
    case twice

    /// What the service does in place of its answer. `timestamp` in milliseconds.
    func action(status: Int, reason: String, timestamp: Int64) -> Fault.Action {
        let text = JSON.string(reason).text
        let time = status == 410 ? #","timestamp":\#(timestamp)"# : ""
        let body = #"{"reason":\#(text)\#(time)}"#
        switch self {
        case .usual: return answer(status, body)
        case .missing: return .answer(SimulatedAnswer(status: status))
        case .page: return .answer(GooglePage.answer(status: status))
        case .spaced: return answer(status, " {\r\n\t\"reason\" : \(text)\(time) }\n ")
        case .spacedReason:
            let spaced = reason.reduce(into: "") { $0 += ($1.isUppercase && !$0.isEmpty ? " " : "") + String($1) }
            return answer(status, #"{"reason":\#(JSON.string(spaced).text)\#(time)}"#)
        case .split:
            return .frames(headers(status) + body.map { .data(String($0)) } + [.data("", endsStream: true)])
        case .trailers:
            return .frames(
                headers(status) + [.data(body), .headers([HeaderField("x-trailer", "yes")], endsStream: true)])
        case .truncated: return answer(status, String(body.dropLast(4)))
        case .array: return answer(status, "[\(text)]")
        case .numericReason: return answer(status, #"{"reason":7\#(time)}"#)
        case .noReason: return answer(status, "{}")
        case .huge:
            let filler = String(repeating: "x", count: 1_000_000)
            return answer(status, #"{"filler":"\#(filler)","reason":\#(text)\#(time)}"#)
        case .notUTF8:
            let bytes = WireFrame(
                type: 0, flags: WireFrame.endStream, stream: .request, payload: Array(body.utf8) + [0xC3, 0x28])
            return .frames(headers(status) + [bytes])
        case .twice: return answer(status, #"{"reason":"BadTopic","reason":\#(text)\#(time)}"#)
        }
    }

    private func answer(_ status: Int, _ body: String) -> Fault.Action {
        .answer(SimulatedAnswer(status: status, headers: Self.type, body: body))
    }

    private func headers(_ status: Int) -> [WireFrame] {
        [.headers([HeaderField(":status", String(status))] + Self.type)]
    }

    private static let type = [HeaderField("content-type", "application/json")]
}

extension Fault {
    /// A refusal of Apple's in any form; `timestamp` (milliseconds since 1970) goes with a 410.
    package static func apns(
        status: Int, reason: String, form: APNsRefusalForm, timestamp: Int64 = 0, times: Int? = nil
    ) -> Fault {
        var fault = Fault(form.action(status: status, reason: reason, timestamp: timestamp), times: times)
        fault.filedUnder = reason
        return fault
    }
}
