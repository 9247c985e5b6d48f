import SQLiteDeviceStore

/// Looks at everything that is on this machine: settings, files, directory, database, limits and ports. Nothing is changed,
/// and a relay may be running meanwhile.
struct LocalExamination {
    /// The settings as the relay would read them.
    let reading: SettingsReading

    private var settings: Settings { reading.settings }

    /// Everything there is to say. Blocks, for as long as the disk takes.
    func findings() -> [Finding] {
        SettingsExamination(reading: reading).findings + place() + [openFiles] + ports()
    }

    private func place() -> [Finding] {
        let directory = DirectoryReading.of(settings.dataDirectory)
        var findings = [Finding(.dataDirectory, about: settings.dataDirectory, PlaceExamination.judge(directory))]
        guard directory.exists, directory.isDirectory else {
            let isMissing = Judgement.skipped(
                directory.isDirectory ? "DATA_DIR is not there" : "DATA_DIR is no directory")
            return findings + [
                Finding(.diskSpace, isMissing), Finding(.database, isMissing), Finding(.secret, isMissing),
            ]
        }
        let disk = DiskReading.of(directory: settings.dataDirectory)
        findings.append(Finding(.diskSpace, PlaceExamination.judge(freeBytes: disk.freeBytes)))
        guard directory.mayBeSearched else {
            let isClosed = Judgement.skipped("this user may not look into DATA_DIR")
            return findings + [Finding(.database, isClosed), Finding(.secret, isClosed)]
        }
        let secret = settings.relaySecret
        let inspection = DatabaseInspection(
            directory: settings.dataDirectory, secret: secret.map { .given($0) } ?? .file)
        findings.append(Finding(.database, PlaceExamination.judge(inspection.database)))
        findings.append(
            Finding(
                .secret,
                reading.faults.contains { $0.variable == SettingName.relaySecret.rawValue }
                    ? .skipped("see settings, above")
                    : PlaceExamination.judge(inspection.secret, isGiven: secret != nil)))
        return findings
    }

    private var openFiles: Finding {
        Finding(
            .openFiles,
            MachineExamination.judge(
                openFiles: ProcessLimits.possibleOpenFiles(), maximumConnections: settings.maximumConnections,
                workers: settings.workers, hasOperatorPort: settings.metricsPort != nil))
    }

    private func ports() -> [Finding] {
        let names: [SettingName] = [.host, .port, .metricsHost, .metricsPort]
        let faulty = names.contains { name in reading.faults.contains { $0.variable == name.rawValue } }
        guard !faulty else {
            let judgement = Judgement.skipped("see settings, above")
            return [Finding(.port, judgement), Finding(.operatorPort, judgement)]
        }
        var findings: [Finding] = []
        if settings.port == 0 {
            findings.append(Finding(.port, .ok("PORT is 0: the system chooses one at each start")))
        } else {
            let found = MachineExamination.read(
                host: settings.host, port: settings.port, path: "/healthz"
            ) { RelayAnswer(health: $0) }
            findings.append(
                Finding(
                    .port,
                    MachineExamination.judge(found, host: settings.host, port: settings.port, names: "HOST, PORT")))
        }
        guard let port = settings.metricsPort else {
            return findings + [Finding(.operatorPort, .skipped("METRICS_PORT is not set"))]
        }
        let found = MachineExamination.read(host: settings.metricsHost, port: port, path: "/livez") {
            RelayAnswer(liveness: $0)
        }
        let judgement = MachineExamination.judge(
            found, host: settings.metricsHost, port: port, names: "METRICS_HOST, METRICS_PORT")
        return findings + [Finding(.operatorPort, judgement)]
    }
}
