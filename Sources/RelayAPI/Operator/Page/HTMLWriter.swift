/// Writes HTML with inline SVG, so that nothing computed can become markup: elements and attributes come out of closed
/// sets, and every text and every value is escaped.
///
/// The sets hold no `script`, no `style` attribute, no `src` and no event handler; a page made with this has none.
struct HTMLWriter {
    /// The elements a page may have. Raw values stand in the markup.
    enum Element: String {
        case html, head, title, meta, link, body
        case header, main, footer, nav, section, article, div, h1, h2, h3, p, span, strong, small, a, time
        case ul, li, dl, dt, dd
        case table, caption, thead, tbody, tr, th, td
        case figure, figcaption, details, summary
        case svg, desc, rect, line, path, text

        /// Whether it has no content and no end tag (HTML, "void elements").
        var isVoid: Bool { self == .meta || self == .link }
    }

    /// The attributes that elements may have. Raw values stand in the markup.
    enum Attribute: String {
        case lang, charset, name, content, rel, href, id, role, tabindex, scope, datetime, colspan, `class`
        case httpEquiv = "http-equiv"
        case ariaLabel = "aria-label"
        case ariaLabelledBy = "aria-labelledby"
        case ariaHidden = "aria-hidden"
        case ariaCurrent = "aria-current"
        // Of SVG.
        case width, height, viewBox, preserveAspectRatio, d, x, y, x1, x2, y1, y2, rx
        case textAnchor = "text-anchor"
    }

    /// What has been written, in UTF-8.
    private(set) var bytes: [UInt8] = []

    /// Starts with the declaration that makes browsers follow the standard.
    init() {
        bytes.reserveCapacity(128 << 10)
        bytes += "<!doctype html>\n".utf8
    }

    /// Writes an element around what `content` writes; a void element has none.
    mutating func element(
        _ element: Element, _ attributes: [Attribute: String] = [:], content: (inout HTMLWriter) -> Void = { _ in }
    ) {
        begin(element, attributes)
        guard !element.isVoid else { return }
        content(&self)
        bytes += "</".utf8
        bytes += element.rawValue.utf8
        bytes.append(UInt8(ascii: ">"))
    }

    /// Writes an element around a text.
    mutating func element(_ element: Element, _ attributes: [Attribute: String], _ text: String) {
        self.element(element, attributes) { $0.text(text) }
    }

    /// Likewise, without attributes.
    mutating func element(_ element: Element, _ text: String) { self.element(element, [:], text) }

    /// Writes text.
    mutating func text(_ text: String) { append(escaping: text) }

    /// Writes the one stylesheet there is. It is no text: inside `style` nothing is unescaped by a browser.
    mutating func stylesheet() {
        bytes += "<style>".utf8
        bytes += PageStyle.text.utf8
        bytes += "</style>".utf8
    }

    private mutating func begin(_ element: Element, _ attributes: [Attribute: String]) {
        bytes.append(UInt8(ascii: "<"))
        bytes += element.rawValue.utf8
        // A dictionary has no order, and the same page should be the same bytes.
        for (name, value) in attributes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            bytes.append(UInt8(ascii: " "))
            bytes += name.rawValue.utf8
            bytes += "=\"".utf8
            append(escaping: value)
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: ">"))
    }

    /// Escapes for text and for quoted values alike. Controls that HTML forbids become the replacement character.
    private mutating func append(escaping text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "\""): bytes += "&quot;".utf8
            case UInt8(ascii: "'"): bytes += "&#39;".utf8
            case 0x09, 0x0A: bytes.append(byte)
            case 0..<0x20, 0x7F: bytes += "\u{FFFD}".utf8
            default: bytes.append(byte)
            }
        }
    }
}
