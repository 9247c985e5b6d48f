/// What happened on the server, as far as the relay may know it. Raw values are wire names.
package enum Kind: String, CaseIterable, Sendable {
    case mention
    case dm
    case message

    /// The title of every notification. Nothing that a server sends is ever shown by the relay.
    package static let title = "Gryt"

    /// The fixed text that the phone shows unless it can open the sealed preview.
    package var body: String {
        switch self {
        case .mention: "Someone mentioned you"
        case .dm: "New direct message"
        case .message: "New message"
        }
    }
}
