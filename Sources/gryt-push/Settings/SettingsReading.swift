/// The settings as far as they can be had, and what is wrong with them: for whoever looks, never for whoever serves. A
/// setting that cannot be right has its default, and a platform whose settings are wrong has none.
struct SettingsReading: Sendable {
    /// What can be had.
    let settings: Settings
    /// What the relay would not start with.
    let faults: [SettingsFault]
    /// The files that hold keys, each by the setting that names it. A path is no secret, and yet is shown to nobody.
    let keyFiles: [SettingName: String]
    /// The names that `.env` gives a value to.
    let inDotEnv: Set<String>

    /// Takes what there is: as the relay reads it (``Settings/init(environment:dotEnv:cores:readFile:)``).
    init(
        environment: [String: String], dotEnv: String?, cores: Int,
        readFile: @escaping (String) throws(FileFault) -> [UInt8] = SystemFile.read
    ) {
        var reader = SettingsReader(environment: environment, dotEnv: dotEnv, readFile: readFile)
        settings = Settings(&reader, cores: cores)
        faults = reader.faults
        var files: [SettingName: String] = [:]
        for (path, inline) in [
            (SettingName.apnsKeyPath, SettingName.apnsKey), (.fcmServiceAccountPath, .fcmServiceAccount),
        ] where !reader.isSet(inline) {
            files[path] = reader.text(path)
        }
        keyFiles = files
        inDotEnv = Set(DotEnv(dotEnv ?? "").values.filter { !$0.value.isEmpty }.keys)
    }
}
