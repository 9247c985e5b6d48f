import PushModel
import RelayAPI
import SQLiteDeviceStore

/// Prints what was counted, from the store alone: a relay may be running on it or not, and of the settings only
/// `DATA_DIR` has to be right.
enum Stats {
    /// Prints; returns the process's exit status.
    static func run(days: Int, asJSON: Bool, clocks: Clocks = .system) -> Int32 {
        let directory: String
        do throws(SettingsError) {
            directory = try Settings.dataDirectoryOfProcess()
        } catch {
            StandardError.write(error.description)
            return Serve.badConfiguration
        }
        let today = clocks.wall().day
        let first = DailyStatistics.first(of: days, until: today)
        do throws(StoredCountsError) {
            let (devices, daily) = try StoredCounts.read(directory: directory, from: first)
            let statistics = DailyStatistics(from: first, devices: devices, daily: daily)
            let isPrinted = StandardOutputText.write(
                asJSON ? OperatorDocuments.statistics(statistics) : StatsTable.text(statistics, today: today))
            return isPrinted ? 0 : StandardOutputText.lost
        } catch {
            StandardError.write("gryt-push: \(directory): \(error)")
            return Serve.cannotStart
        }
    }
}
