/// What a notification says in place of the relay's fixed text: the phone shows it once it has opened it.
///
/// It is what somebody wrote, so it does not print.
public struct Preview: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `t`, the notification's first line: who wrote, or where.
    public var title: String
    /// `s`, a line between title and body, as iOS has it; nil leaves it out.
    public var subtitle: String?
    /// `b`, the text.
    public var body: String

    /// Says exactly this. It may be too long to be sealed: ``fitting(title:subtitle:body:)`` never is.
    public init(title: String, subtitle: String? = nil, body: String) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
    }

    /// The same, cut where it is too long to be sealed.
    ///
    /// The body gives way first, then the subtitle, then the title. Each is cut between two characters, so no emoji and
    /// no accent is torn apart, and ends in `…`; one for which there is no room at all becomes empty.
    public static func fitting(title: String, subtitle: String? = nil, body: String) -> Preview {
        var preview = Preview(title: title, subtitle: subtitle, body: body)
        preview.body = preview.body.shortened(by: preview.bytesOver)
        preview.subtitle = preview.subtitle?.shortened(by: preview.bytesOver)
        preview.title = preview.title.shortened(by: preview.bytesOver)
        return preview
    }

    /// How many bytes of JSON it has more than can be sealed; 0 where it fits.
    public var bytesOver: Int { max(0, PreviewText.length(of: self) - SealedForm.mostPlaintext) }

    /// Says nothing of it.
    public var description: String { "(preview)" }
    /// Says nothing of it.
    public var debugDescription: String { "(preview)" }
    /// Shows nothing of it.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension String {
    private static let ellipsis = "…"

    /// The text with that many bytes fewer within JSON, or even fewer; itself where that is 0.
    fileprivate func shortened(by bytes: Int) -> String {
        guard bytes > 0 else { return self }
        let room = PreviewText.length(of: self) - bytes - Self.ellipsis.utf8.count
        guard room >= 0 else { return "" }
        var length = 0
        let kept = prefix { character in
            length += PreviewText.length(of: String(character))
            return length <= room
        }
        return kept + Self.ellipsis
    }
}
