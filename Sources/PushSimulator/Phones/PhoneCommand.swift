import Cryptography
package import GrytPushPreview

/// What `push-simulator phone …` is asked to do: the parts of a phone and of its chat server that need a cipher, for
/// scripts that have `curl` and nothing else.
package enum PhoneCommand: Sendable, Equatable {
    /// Print the help.
    case help
    /// Draw a token and a preview key.
    case new(PhonePlatform)
    /// Print a capability's tag.
    case tag(PreviewTag)
    /// Seal a preview as a chat server does.
    case seal(Preview, key: [UInt8], tag: PreviewTag)
    /// Read what came for a phone, and print what it shows of the last.
    case show(PhonePlatform, key: [UInt8])

    /// A command that cannot be obeyed, or input that cannot be used, in a sentence.
    package struct Misuse: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// Reads the arguments that follow `phone`.
    package init(_ arguments: some Sequence<String>) throws(Misuse) {
        var rest = Array(arguments)[...]
        let verb = rest.popFirst()
        var options: [String: String] = [:]
        while let name = rest.popFirst() {
            guard Self.options.contains(name) else { throw Misuse(description: "\(name) is not known to phone") }
            guard let value = rest.popFirst() else { throw Misuse(description: "\(name) wants a value") }
            options[name] = value
        }
        switch verb {
        case nil, "--help", "help": self = .help
        case "new": self = .new(try Self.platform(options))
        case "tag": self = .tag(try Self.tag(options))
        case "seal":
            let preview = Preview(
                title: try Self.required("--title", options), subtitle: options["--subtitle"],
                body: try Self.required("--body", options))
            self = .seal(preview, key: try Self.key(options), tag: try Self.tag(options))
        case "show": self = .show(try Self.platform(options), key: try Self.key(options))
        case .some(let verb): throw Misuse(description: "phone \(verb) is not known; phone --help tells what is")
        }
    }

    /// Whether it reads notifications from standard input.
    package var readsInput: Bool {
        switch self {
        case .show: true
        case .help, .new, .tag, .seal: false
        }
    }

    /// Does it; returns what is to be printed. `input` is what the control port's `/simulator/notifications` answers,
    /// or one line of `--json`.
    package func run(on input: [UInt8] = []) throws(Misuse) -> String {
        switch self {
        case .help:
            return Self.helpText
        case .new(let platform):
            let phone = SimulatedPhone(platform)
            return "token=\(phone.token)\nkey=\(Base64URL.encode(phone.previewKey))\n"
        case .tag(let tag):
            return tag.disclosed + "\n"
        case .seal(let preview, let key, let tag):
            guard let key = PreviewKey(bytes: key) else {
                preconditionFailure("the key was checked when the command was read")
            }
            do { return try preview.seal(with: key, for: tag) + "\n" } catch { throw Misuse(description: "\(error)") }
        case .show(let platform, let key):
            return try Self.shown(input, by: SimulatedPhone(platform, token: "", previewKey: key))
        }
    }

    private static func shown(_ input: [UInt8], by phone: SimulatedPhone) throws(Misuse) -> String {
        guard let json = JSON(input) else { throw Misuse(description: "standard input is no JSON") }
        let notifications: [JSON] = if case .array(let all) = json { all } else { [json] }
        guard let last = notifications.last else { throw Misuse(description: "nothing has come for this phone") }
        guard let payload = last["payload"] else { throw Misuse(description: "this JSON is no notification") }
        var text = "notifications so far: \(notifications.count)\n"
        guard let shown = phone.show(payload: payload.text) else { return text + "shows nothing\n" }
        text += "title: \(shown.title)\n"
        if let subtitle = shown.subtitle { text += "subtitle: \(subtitle)\n" }
        text += "body: \(shown.body)\n"
        text += "from the preview: \(shown.isPreview ? "yes" : "no")\n"
        if let tag = shown.tag { text += "tag: \(tag)\n" }
        return text
    }

    // MARK: Arguments

    private static let options: Set<String> = [
        "--platform", "--key", "--capability", "--title", "--subtitle", "--body",
    ]

    private static func required(_ name: String, _ options: [String: String]) throws(Misuse) -> String {
        guard let value = options[name], !value.isEmpty else { throw Misuse(description: "\(name) is missing") }
        return value
    }

    private static func platform(_ options: [String: String]) throws(Misuse) -> PhonePlatform {
        guard let platform = PhonePlatform(rawValue: try required("--platform", options)) else {
            throw Misuse(description: "--platform is ios or android")
        }
        return platform
    }

    private static func tag(_ options: [String: String]) throws(Misuse) -> PreviewTag {
        guard let tag = PreviewTag(capability: try required("--capability", options)) else {
            throw Misuse(description: "--capability is p_ and 43 characters of base64url")
        }
        return tag
    }

    private static func key(_ options: [String: String]) throws(Misuse) -> [UInt8] {
        guard let key = Base64URL.decode(try required("--key", options)), key.count == PreviewKey.length else {
            throw Misuse(description: "--key is what phone new printed: 32 bytes in base64url")
        }
        return key
    }

    /// What `phone --help` prints.
    package static let helpText = """
        push-simulator phone: what the app on a phone, or its chat server, does with a cipher.

          phone new --platform ios|android
              draws a device token and a preview key, as the app does at first start
          phone seal --key K --capability p_… --title T [--subtitle S] --body B
              seals a preview as the chat server does: what goes into "preview"
          phone show --platform ios|android --key K < notifications
              what stands on the phone's screen, its preview opened; reads what /simulator/notifications?token=… answers
          phone tag --capability p_…
              the tag by which the app knows which of its servers rang

        """
}
