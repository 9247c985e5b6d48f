/// A setting that cannot be right, in one line that names the variable and never shows the value.
struct SettingsFault: Error, Equatable, CustomStringConvertible {
    /// The variable, or the place in the `.env` file.
    var variable: String
    /// What is wrong, and what would be right.
    var reason: String

    var description: String { "\(variable): \(reason)" }
}

/// Something about the settings that may well be a slip, in the same form. The relay starts all the same.
struct SettingsWarning: Equatable, CustomStringConvertible {
    /// The variable.
    var variable: String
    /// What looks wrong.
    var reason: String

    var description: String { "\(variable): \(reason)" }
}

/// Why the relay does not start: every fault there is, so that nobody has to find them one start at a time.
struct SettingsError: Error, CustomStringConvertible {
    /// At least one, in the order in which settings are looked at.
    var faults: [SettingsFault]
    /// What might explain them, such as a misspelt name.
    var warnings: [SettingsWarning]

    /// One line each, the faults first.
    var description: String {
        (faults.map(\.description) + warnings.map { "warning: \($0)" }).joined(separator: "\n")
    }
}

/// Why a file could not be read.
struct FileFault: Error, Equatable {
    /// What the system said; 0 when it said nothing, for ``notAFile``.
    var errno: Int32

    /// There is something by this name that is not a file, such as a FIFO.
    static let notAFile = FileFault(errno: 0)
}
