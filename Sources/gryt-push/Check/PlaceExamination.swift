import DeviceStore
import Glibc
import SQLiteDeviceStore

/// Judges `DATA_DIR` and what is in it.
enum PlaceExamination {
    /// Judges the directory, by what the system says of it and of those above it.
    static func judge(_ reading: DirectoryReading) -> Judgement {
        if reading.fault != 0 {
            // What the store would say, without its advice: that stands on a line of its own here.
            return .wrong(
                "\(reading.exists ? "cannot be used" : "is not there and cannot be made"): "
                    + SystemFile.reason(reading.fault),
                advice(errno: reading.fault))
        }
        guard reading.exists else { return .ok("is not there yet; the first start makes it") }
        if let owner = reading.owner, owner != reading.user {
            return .warning(
                "belongs to the user \(owner), and this check runs as \(reading.user)",
                "run it as the user that the relay runs as, or what it says of files may not hold for the relay")
        }
        return reading.isOpenToOthers
            ? .warning("every user of this machine may list it or put files into it", "chmod o= on it")
            : .ok("is there and can be written to")
    }

    private static func advice(errno: Int32) -> String {
        let description = StoreOpenError.directory(errno: errno).description
        return description.split(separator: "; ", maxSplits: 1).last.map(String.init) ?? description
    }

    /// Judges the room on its disk.
    static func judge(freeBytes: Int?) -> Judgement {
        guard let freeBytes else { return .skipped("the system does not say") }
        let seen = "\(freeBytes >> 20) MB are free"
        let advice = "make room on the disk of DATA_DIR (docs/disk.md)"
        if freeBytes < Diagnosis.lastDiskBytes { return .wrong(seen, advice) }
        return freeBytes < Diagnosis.scarceDiskBytes ? .warning(seen, advice) : .ok(seen)
    }

    /// Judges the database.
    static func judge(_ database: Result<DatabaseInspection.Database, StoreOpenError>) -> Judgement {
        switch database {
        case .success(.none): .ok("there is none yet; the first start makes it")
        case .success(.lost(let trace)):
            .warning(
                "push.db is missing or empty, but \(trace) is there, so there was one",
                "if phones had registered, restore push.db (docs/backup.md); to begin anew, remove \(trace) too")
        case .success(.older(let reading)):
            .ok("an older relay's, which the first start takes over; \(words(reading))")
        case .success(.ours(let counts, let reading)):
            .ok("\(counts.ios) iOS and \(counts.android) Android devices are registered; \(words(reading))")
        case .success(.withLogOfCrash):
            .skipped("a crash has left a log beside it, which the next start takes in; look again then")
        case .failure(let error): .wrong(seen(error), advice(error))
        }
    }

    private static func words(_ reading: DatabaseInspection.Reading) -> String {
        switch reading {
        case .all: "it was read whole and is sound"
        case .partly(let bytes): "of \(bytes >> 20) MB too much to be read whole here"
        }
    }

    /// Judges the relay's own secret; `isGiven` says that it comes from `RELAY_SECRET`.
    static func judge(_ secret: Result<DatabaseInspection.Secret, StoreOpenError>, isGiven: Bool) -> Judgement {
        let name = isGiven ? SettingName.relaySecret.rawValue : RelaySecretFile.name
        switch secret {
        case .success(let secret) where secret.isReadableByOthers:
            return .warning(
                "users other than its owner can read \(name); the next start closes it to them",
                "chmod 600 on it, and mind that whoever has read it can tell whose rows a known token's are")
        case .success(let secret):
            switch secret.state {
            case .toBeMade: return .ok("there is none yet; the first start makes \(RelaySecretFile.name)")
            case .unproven: return .ok("\(name) is there, and no device shows yet whose it is")
            case .proven: return .ok("\(name) is the one that the devices were registered under")
            }
        case .failure(let error): return .wrong(seen(error), advice(error))
        }
    }

    private static func seen(_ error: StoreOpenError) -> String {
        switch error {
        case .directory(let errno): "DATA_DIR cannot be used: \(SystemFile.reason(errno))"
        case .notADatabase: "push.db is not a database, or is damaged at its beginning"
        case .notAFile(let name): "\(name) is not a regular file"
        case .deadLink(let errno): "push.db is a link that leads nowhere: \(SystemFile.reason(errno))"
        case .unreadable(let errno): "push.db cannot be read: \(SystemFile.reason(errno))"
        case .logWithoutDatabase: "push.db is missing or empty, and push.db-wal may hold registrations"
        case .logDamaged: "push.db-wal is damaged"
        case .damaged: "push.db is damaged"
        case .otherProgram: "push.db belongs to another program"
        case .newer(let found, let known): "push.db is a newer relay's (schema \(found); this one knows \(known))"
        case .secret(let error): "the relay's secret (RELAY_SECRET or secret.key) \(error)"
        case .otherSecret: "it is not the secret that the devices in push.db were registered under"
        case .store(let error): "\(error)"
        }
    }

    private static func advice(_ error: StoreOpenError) -> String {
        switch error {
        case .directory(let errno): advice(errno: errno)
        case .notADatabase, .damaged:
            "stop the relay, and restore the file or save what can be read, as docs/backup.md says"
        case .notAFile(let name): StoreOpenError.advice(onPlaceOf: name)
        case .deadLink: StoreOpenError.adviceOnDeadLink
        case .unreadable: StoreOpenError.adviceOnUnreadable
        case .logWithoutDatabase: "restore push.db, or move push.db-wal away to begin anew"
        case .logDamaged: "restore it, or move it away to go on without what it holds"
        case .otherProgram: "name another DATA_DIR"
        case .newer: "run that relay, or restore a backup from before it"
        case .secret(.lost), .otherSecret: "restore RELAY_SECRET or secret.key from the backup (docs/backup.md)"
        case .secret(.file(_, errno: EACCES)), .secret(.file(_, errno: EPERM)):
            "run the check as the user that the relay runs as, who must own the file (chown)"
        case .secret(.file): "look into the system's log (docs/disk.md)"
        case .secret(.notAFile): "move away what stands in its place, and restore the file (docs/backup.md)"
        case .secret: "restore it from the backup (docs/backup.md)"
        case .store(.busy): "end whatever else has push.db open"
        case .store(.readOnly): "run the check as the user that the relay runs as, who must own the file"
        case .store: "look into the system's log (docs/disk.md)"
        }
    }
}
