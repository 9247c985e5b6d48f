import CSystem
import Glibc

extension Settings {
    /// The settings of this process: its environment, and `.env` in its working directory.
    static func ofProcess() throws(SettingsError) -> Settings {
        try Settings(environment: environmentOfProcess(), dotEnv: dotEnvOfProcess(), cores: coresOfMachine())
    }

    /// The same as far as they can be had, and what is wrong with them.
    ///
    /// - Throws: ``SettingsError`` only where `.env` cannot be read.
    static func readingOfProcess() throws(SettingsError) -> SettingsReading {
        SettingsReading(environment: environmentOfProcess(), dotEnv: try dotEnvOfProcess(), cores: coresOfMachine())
    }

    private static func coresOfMachine() -> Int { Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// The data directory alone, whatever is wrong with the rest.
    static func dataDirectoryOfProcess() throws(SettingsError) -> String {
        try dataDirectory(environment: environmentOfProcess(), dotEnv: dotEnvOfProcess())
    }

    /// Where the relay listens, alone; likewise.
    static func listenersOfProcess() throws(SettingsError) -> ListenerSettings {
        try listeners(environment: environmentOfProcess(), dotEnv: dotEnvOfProcess())
    }

    /// The version that the settings name, also where the rest of them cannot be right.
    static func versionOfProcess() -> String {
        let named = environmentOfProcess()[SettingName.version.rawValue] ?? ""
        return named.isEmpty ? builtVersion : named
    }

    /// The version that the program was built with: `dev`, unless it is one of a release.
    static let builtVersion = unsafe String(cString: gryt_built_version())

    /// A file that is not there is no fault; one that is and cannot be read is.
    private static func dotEnvOfProcess() throws(SettingsError) -> String? {
        do throws(FileFault) {
            return String(decoding: try SystemFile.read(".env"), as: UTF8.self)
        } catch {
            guard error.errno != ENOENT else { return nil }
            let fault = SettingsFault(variable: ".env", reason: "cannot be read: \(SystemFile.reason(error))")
            throw SettingsError(faults: [fault], warnings: [])
        }
    }

    fileprivate static func environmentOfProcess() -> [String: String] {
        var variables: [String: String] = [:]
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            let parts = unsafe String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            unsafe entry += 1
        }
        return variables
    }
}

extension ServiceManager {
    /// That of this process. To be called once: it takes the sockets.
    static func ofProcess() -> ServiceManager { ServiceManager(environment: Settings.environmentOfProcess()) }
}
