import Cryptography
import Limits

/// Takes settings out of the environment one by one, and gathers what is wrong with them.
///
/// Each function returns something usable whatever it finds, so that all settings are looked at before the first fault
/// is told.
struct SettingsReader {
    private(set) var faults: [SettingsFault] = []
    private(set) var warnings: [SettingsWarning] = []
    /// What settings are told from earlier ones by.
    private(set) var marks = SettingMarks()

    private let values: [String: String]
    /// How settings are spelt that are not set under their own name.
    private let spellings: [SettingName: String]
    private let readFile: (String) throws(FileFault) -> [UInt8]

    init(
        environment: [String: String], dotEnv: String?, readFile: @escaping (String) throws(FileFault) -> [UInt8]
    ) {
        self.readFile = readFile
        let file = DotEnv(dotEnv ?? "")
        marks.hasDotEnv = dotEnv != nil
        // An empty value counts as none, in the environment and in the file.
        let ofFile = Self.folded(file.values.filter { !$0.value.isEmpty })
        let ofEnvironment = Self.folded(environment.filter { !$0.value.isEmpty })
        values = ofFile.values.merging(ofEnvironment.values) { _, environment in environment }
        spellings = ofFile.spellings.filter { ofEnvironment.values[$0.key.rawValue] == nil }
            .merging(ofEnvironment.spellings) { _, environment in environment }
        for name in SettingName.allCases { if let value = values[name.rawValue] { marks.add(name, Array(value.utf8)) } }
        faults = file.faults
        for name in file.duplicates {
            warnings.append(
                SettingsWarning(variable: name, reason: "stands in .env more than once; the last one counts"))
        }
    }

    /// The same with every setting under its own name, and how those were spelt that were not.
    private static func folded(
        _ values: [String: String]
    ) -> (values: [String: String], spellings: [SettingName: String]) {
        var values = values
        var spellings: [SettingName: String] = [:]
        for name in SettingName.allCases {
            guard let spelling = name.otherSpelling, let text = values.removeValue(forKey: spelling),
                values[name.rawValue] == nil
            else { continue }
            values[name.rawValue] = text
            spellings[name] = spelling
        }
        return (values, spellings)
    }

    /// The name under which a setting was found.
    private func spelling(_ name: SettingName) -> String { spellings[name] ?? name.rawValue }

    /// The text of a setting; nil when it is not set.
    func text(_ name: SettingName) -> String? { values[name.rawValue] }

    /// Whether a setting is set.
    func isSet(_ name: SettingName) -> Bool { text(name) != nil }

    /// Notes a fault.
    mutating func fault(_ name: SettingName, _ reason: String) {
        faults.append(SettingsFault(variable: spelling(name), reason: reason))
    }

    /// Notes a warning.
    mutating func warn(_ name: SettingName, _ reason: String) {
        warnings.append(SettingsWarning(variable: spelling(name), reason: reason))
    }

    /// Notes a warning about a variable that is none of the relay's.
    mutating func warnOfUnused(_ name: String, _ reason: String) {
        warnings.append(SettingsWarning(variable: name, reason: reason))
    }

    /// A number in plain decimal digits.
    mutating func number(_ name: SettingName, default standard: Int, in range: ClosedRange<Int>) -> Int {
        guard let text = text(name) else { return standard }
        guard let number = plainDecimal(text), range.contains(number) else {
            fault(name, "must be a number from \(range.lowerBound) to \(range.upperBound) in plain decimal digits")
            return standard
        }
        return number
    }

    /// A duration in whole milliseconds.
    mutating func milliseconds(_ name: SettingName, default standard: Int, in range: ClosedRange<Int>) -> Duration {
        .milliseconds(number(name, default: standard, in: range))
    }

    /// `true` or `false`.
    mutating func flag(_ name: SettingName, default standard: Bool) -> Bool {
        switch text(name) {
        case nil: return standard
        case "true": return true
        case "false": return false
        default:
            fault(name, "must be true or false")
            return standard
        }
    }

    /// One of a few words.
    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: SettingName, default standard: Choice
    ) -> Choice {
        guard let text = text(name) else { return standard }
        guard let choice = Choice(rawValue: text) else {
            fault(name, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
            return standard
        }
        return choice
    }

    /// A text of a certain form, which `form` puts into words.
    mutating func text(
        _ name: SettingName, default standard: String, form: String, where isRight: (String) -> Bool
    ) -> String {
        guard let text = text(name) else { return standard }
        guard isRight(text) else {
            fault(name, "must be \(form)")
            return standard
        }
        return text
    }

    /// An https origin.
    mutating func origin(_ name: SettingName, default standard: String) -> HTTPSOrigin {
        guard let origin = HTTPSOrigin(standard) else { preconditionFailure("a default origin that is none") }
        guard let text = text(name) else { return origin }
        guard let chosen = HTTPSOrigin(text) else {
            fault(name, "must be https://host or https://host:port and nothing behind it")
            return origin
        }
        return chosen
    }

    /// A list, separated by commas or blanks.
    mutating func list<Element>(
        _ name: SettingName, default standard: [Element], of form: String, _ make: (Substring) -> Element?
    ) -> [Element] {
        guard let text = text(name) else { return standard }
        var elements: [Element] = []
        for (index, part) in text.split(whereSeparator: { ", \t\n".contains($0) }).enumerated() {
            guard let element = make(part) else {
                fault(name, "entry \(index + 1) is not \(form)")
                return standard
            }
            elements.append(element)
        }
        return elements
    }

    /// The text of the first that is set: `inline` itself, or the file that `path` names.
    ///
    /// Returns the text and the setting that a fault in it belongs to; nil when neither is set or the file cannot be read.
    mutating func textOrFile(inline: SettingName, path: SettingName) -> (text: String, name: SettingName)? {
        if let text = text(inline) {
            if isSet(path) { warn(path, "not looked at, because \(inline.rawValue) is set") }
            return (text, inline)
        }
        return file(path).map { ($0, path) }
    }

    /// What is in the file that a setting names; nil when it is not set, or cannot be read, which is a fault.
    mutating func file(_ name: SettingName) -> String? {
        guard let path = text(name) else { return nil }
        do {
            let bytes = try readFile(path)
            marks.add(name, bytes)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                fault(name, "the file is not a text")
                return nil
            }
            return text
        } catch {
            fault(name, "the file cannot be read: \(SystemFile.reason(error))")
            return nil
        }
    }

    /// Warns of names that look like the relay's and are not.
    mutating func warnOfUnknownNames(_ names: some Sequence<String>) {
        for name in names.sorted() where SettingName(rawValue: name) == nil {
            guard SettingName.ownPrefixes.contains(where: { name.hasPrefix($0) }) else { continue }
            let hint = SettingName.likelyMeant(by: name).map { "; did you mean \($0.rawValue)?" } ?? ""
            warnings.append(SettingsWarning(variable: name, reason: "no such setting\(hint)"))
        }
    }

    /// All names that are set, in the environment or in the file.
    var names: [String] { Array(values.keys) }
}
