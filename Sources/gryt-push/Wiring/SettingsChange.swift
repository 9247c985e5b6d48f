import HTTP2Client
import PushModel

/// What a reload brings: settings read anew, and how they differ from those in force.
struct SettingsChange: Sendable {
    /// Those read anew. Of the settings that a reload brings into force, these values count from now on.
    let settings: Settings
    /// Whom connections to push services trust: the system's roots may have changed, and the file that is named.
    let trust: TLSTrust
    /// What has changed and comes into force.
    let applied: [SettingName]
    /// What has changed and waits for a new process.
    let waiting: [SettingName]

    /// Reads the process's settings, and compares.
    ///
    /// Blocks as long as reading files does.
    ///
    /// - Parameter marks: of the settings in force.
    static func read(since marks: SettingMarks) -> Result<SettingsChange, SettingsError> {
        do throws(SettingsError) {
            let settings = try Settings.ofProcess()
            // Else a file that was moved, or a link that leads nowhere any more, would take all credentials away.
            guard settings.marks.hasDotEnv || !marks.hasDotEnv else {
                let fault = SettingsFault(
                    variable: ".env", reason: "is gone: put it back, or an empty one if it is not needed any more")
                return .failure(SettingsError(faults: [fault], warnings: []))
            }
            let changes = settings.marks.changes(since: marks)
            do throws(StartFault) {
                return .success(
                    SettingsChange(
                        settings: settings, trust: try Assembly.trust(settings),
                        applied: changes.filter(\.isReloadable), waiting: changes.filter { !$0.isReloadable }))
            } catch {
                let fault = SettingsFault(
                    variable: SettingName.upstreamCAFile.rawValue, reason: "cannot be trusted: \(error)")
                return .failure(SettingsError(faults: [fault], warnings: []))
            }
        } catch {
            return .failure(error)
        }
    }

    /// By what the settings in force are told from the next ones: what waits for a new process still differs then.
    func marks(after before: SettingMarks) -> SettingMarks { settings.marks.keeping(waiting, of: before) }

    /// The platforms whose pushes go over new connections.
    var replacedPlatforms: [Platform] {
        Platform.allCases.filter { platform in
            switch platform {
            case .ios: applied.contains(where: \.isApples)
            case .android: applied.contains(where: \.isGoogles)
            }
        }
    }
}
