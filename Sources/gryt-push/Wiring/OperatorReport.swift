import DeviceStore
import Glibc
import HTTP2Client
import PushModel
import PushServices
import Relay
import RelayAPI
import SQLiteDeviceStore
import Telemetry

/// Tells the operator what happens, in log lines: the first of a kind at once, then a count a minute. Nothing that it
/// is told of names a device, a server or an address.
struct OperatorReport: DeliveryObserver, AccessTokenObserver, BreakerObserver, PaceObserver, RefusalObserver {
    let log: Log

    func attempted(_ attempt: Attempt, platform: Platform) {
        // Nearly all of them; and to look at an attempt's end is to copy it.
        guard attempt.alarm != .none else { return }
        switch attempt.end {
        case .answered(let answer, let response):
            switch attempt.alarm {
            case .none:
                break
            case .count:
                log.writeRarely(
                    .info, "push_service_answered", kind: about(platform, answer.label),
                    LogField("status", response.status))
            case .page:
                log.writeRarely(
                    .error, "push_service_refused", kind: about(platform, answer.label),
                    LogField("status", response.status))
            }
        case .failed(let failure):
            log.writeRarely(
                failure.needsOperator ? .error : .warning, "push_service_failed",
                kind: about(platform, String(describing: failure.metricLabel)),
                LogField("detail", .disclosed(failure.description)))
        }
    }

    /// What a storm is told by: each platform's trouble has a first line of its own.
    private func about(_ platform: Platform, _ what: String) -> LogField {
        LogField("about", .disclosed("\(platform.rawValue) \(what)"))
    }

    func requested(_ result: Result<Duration, OAuthFailure>, date: WallInstant?) {
        switch result {
        case .success(let lifetime):
            log.writeRarely(.info, "access_token_renewed", LogField("good_for_s", lifetime.components.seconds))
        case .failure(let failure):
            log.writeRarely(
                failure.alarm == .page ? .error : .warning, "access_token_failed",
                kind: LogField("failure", .disclosed(failure.label)))
        }
    }

    func breaker(_ upstream: Upstream, _ change: CircuitBreaker.Change) {
        let about = { (cause: BreakerCause) in LogField("about", .disclosed("\(upstream.rawValue) \(cause.rawValue)")) }
        switch change {
        case .opened(let cause):
            log.writeRarely(cause.isOutage ? .warning : .error, "breaker_opened", kind: about(cause))
        case .closed(let cause, let duration):
            log.writeRarely(
                .info, "breaker_closed", kind: about(cause), LogField("open_for_s", duration.components.seconds))
        }
    }

    func pace(_ change: SendPace.Change) {
        switch change {
        case .halved(let perSecond):
            log.writeRarely(
                .warning, "pace_halved", kind: LogField("about", "fcm"),
                LogField("per_second", Int(perSecond.rounded(.up))))
        case .lifted: log.writeRarely(.info, "pace_lifted", kind: LogField("about", "fcm"))
        }
    }

    func refused(_ refusal: Refusal) {
        switch refusal {
        case .internalFault:
            log.writeRarely(.error, "request_failed", kind: LogField("code", .disclosed(refusal.code)))
        case .overloaded:
            log.writeRarely(.warning, "request_shed", kind: LogField("code", .disclosed(refusal.code)))
        default:
            break
        }
    }

    func couldNotAccept(_ errno: Int32) {
        log.writeRarely(
            .error, "accept_failed", kind: LogField("reason", .disclosed(systemReason(errno))),
            LogField("detail", "connections wait until others close: raise ulimit -n (LimitNOFILE=), or make memory"))
    }

    /// A request came with a forwarding header from somebody who is not believed. Whose addresses these are is nobody's
    /// business.
    func ignoredForwarding() {
        log.write(
            .warning, "forwarded_ignored",
            LogField(
                "detail",
                "if a proxy of yours sends it, set TRUST_PROXY, and its address in TRUSTED_PROXIES; till then all share a limit"
            ))
    }

    /// Something happened to a connection to a push service.
    func connection(_ upstream: Upstream, _ event: HTTP2ConnectionEvent) {
        let service = LogField("service", .label(upstream))
        switch event {
        case .failed(let cause):
            log.writeRarely(
                cause.needsOperator ? .error : .warning, "connection_failed", kind: service,
                LogField("fault", cause.metricLabel), LogField("detail", .disclosed(cause.description)))
        case .opened:
            log.writeRarely(.info, "connection_opened", kind: service)
        case .goAway(_, let code, let debug):
            // With an error code it is our behaviour that it does not like.
            log.writeRarely(
                code == 0 ? .info : .warning, "connection_goaway", kind: service, LogField("code", code),
                LogField("reason", .label(Goodbye(debug))))
        case .retired(_, let cause):
            log.write(.debug, "connection_retired", service, LogField("cause", cause.metricLabel))
        case .closed(_, let end):
            log.writeRarely(.info, "connection_closed", kind: service, LogField("end", end.metricLabel))
        }
    }

    /// The store could not do something that nobody waits for, or that somebody was refused for.
    func storeFailed(_ task: StoreTask, _ error: StoreError) { storeFailed(LogField("what", .label(task)), error) }

    /// The store could not do something that the relay does by itself.
    func storeFailed(_ chore: Chore, _ error: StoreError) { storeFailed(LogField("what", .label(chore)), error) }

    /// What the relay asks of the store by itself. Raw values stand in the log.
    enum Chore: String {
        case counts
        case sweep
        /// Whether a registration could be written is tried while the store fails.
        case trial
        /// The log is emptied of what was removed.
        case scrub
    }

    /// Registrations can be written again.
    func storeRecovered() { log.writeRarely(.info, "store_recovered", kind: LogField("what", "register")) }

    private func storeFailed(_ what: LogField, _ error: StoreError) {
        log.writeRarely(
            error.needsOperator ? .error : .warning, "store_failed", kind: LogField("fault", .disclosed(error.label)),
            what, LogField("detail", .disclosed(error.operatorLine)))
    }

    /// How this machine's clock stands to a push service's has changed; it is ahead by so many nanoseconds.
    func clock(_ platform: Platform, _ state: ClockState, skew: Int64) {
        let field = LogField("platform", .label(platform))
        let level: LogLevel
        switch state {
        case .right: return log.writeRarely(.info, "clock_right", kind: field)
        case .notable: level = .warning
        case .dangerous: level = .error
        }
        log.writeRarely(
            level, "clock_wrong", kind: field, LogField("ahead_s", Int((Double(skew) / 1e9).rounded())),
            LogField("detail", "this machine's clock is not the push service's: check its time synchronization"))
    }

    /// A push service disowns so many phones that a setting is the likelier cause, and none is forgotten; or does so no more.
    func massDeath(_ platform: Platform, isSuspected: Bool) {
        let field = LogField("platform", .label(platform))
        guard isSuspected else { return log.writeRarely(.info, "mass_death_over", kind: field) }
        log.writeRarely(
            .error, "mass_death_suspected", kind: field,
            LogField(
                "detail", "so many phones at once are disowned that none is forgotten: check topic, origin, project"))
    }

    /// Counts could not be written before the end, and are lost.
    func countsLost(_ count: Int) {
        log.write(.error, "counts_lost", LogField("count", count))
    }

    /// The relay was told to hurry while the last counts were on their way to a disk that did not take them.
    func countsInDoubt() {
        log.write(
            .error, "counts_in_doubt",
            LogField("detail", "told to hurry while the disk did not take them: the last counts may be lost"))
    }

    /// What a push service thinks of the operator's credentials has changed.
    func credential(_ platform: Platform, _ state: CredentialSnapshot.State) {
        let field = LogField("platform", .label(platform))
        switch state {
        case .unset, .untried: break
        case .accepted: log.writeRarely(.info, "credentials_accepted", kind: field)
        case .refused: log.writeRarely(.error, "credentials_refused", kind: field)
        }
    }

    /// Tells of what was held back and is over.
    func tellHeldBack() { log.writeHeldBack() }

    /// Devices of an older relay are being taken over.
    func takingOver(_ progress: TakeoverProgress) {
        log.write(.info, "taking_over", LogField("done", progress.done), LogField("total", progress.total))
    }

    /// What looks like a slip in the settings.
    func warned(_ warnings: [SettingsWarning]) {
        for warning in warnings {
            log.write(
                .warning, "setting", LogField("name", .disclosed(warning.variable)),
                LogField("detail", .disclosed(warning.reason)))
        }
    }

    /// Settings were read anew and are in force.
    func reloaded(_ change: SettingsChange) {
        log.write(
            .info, "reloaded", LogField("changed", names(change.applied)),
            LogField("needs_restart", names(change.waiting)))
    }

    /// Settings were read anew and cannot be right; those before stay in force.
    func reloadRefused(_ error: SettingsError) {
        for fault in error.faults {
            log.write(
                .error, "reload_refused", LogField("name", .disclosed(fault.variable)),
                LogField("detail", .disclosed(fault.reason)))
        }
    }

    private func names(_ names: [SettingName]) -> LogValue {
        names.isEmpty ? .word("none") : .disclosed(names.map(\.rawValue).joined(separator: ","))
    }

    /// The system has no locks where the data directory is.
    func notLocked(_ errno: Int32) {
        log.write(
            .warning, "data_dir_not_locked", LogField("file", .disclosed(DirectoryClaim.name)),
            LogField("detail", .disclosed("\(SystemFile.reason(errno)): see to it that no second relay runs on it")))
    }

    /// No other process could take this one's place.
    func noDoor(_ fault: FileFault) {
        log.write(
            .warning, "takeover_unavailable", LogField("file", .disclosed(Estate.doorName)),
            LogField("detail", .disclosed(SystemFile.reason(fault))))
    }

    /// Another process takes this one's place, or does not after all.
    func atDoor(_ event: SuccessionDoor.Event, _ process: pid_t) {
        switch event {
        case .handedOver: log.write(.info, "handed_over", LogField("process", Int(process)))
        case .abandoned: log.write(.warning, "handover_abandoned", LogField("process", Int(process)))
        }
    }

    /// The process whose place is to be taken has not answered yet.
    func awaitingPredecessor(_ process: pid_t) {
        log.write(
            .warning, "takeover_waiting", LogField("process", Int(process)),
            LogField(
                "detail",
                .disclosed(
                    "it was asked for its sockets and does not answer; it is given up \(Predecessor.patience.components.seconds) seconds after it was asked"
                )))
    }

    /// This process has another one's place.
    func tookOver(from process: pid_t) { log.write(.info, "took_over", LogField("process", Int(process))) }

    /// The system does not let so many connections be open.
    func fewerConnections(_ possible: Int, of wanted: Int, openFiles: Int) {
        log.write(
            .warning, "setting", LogField("name", .disclosed(SettingName.maximumConnections.rawValue)),
            LogField(
                "detail",
                .disclosed(
                    "\(possible) connections in place of \(wanted), for no more than \(openFiles) files may be open; raise that (ulimit -n, LimitNOFILE=)"
                )))
    }

    /// The database's file is not where it was any more, or is so again.
    func databaseReplaced(_ isReplaced: Bool) {
        guard isReplaced else { return log.write(.info, "database_back", LogField("file", "push.db")) }
        log.write(
            .error, "database_replaced", LogField("file", "push.db"),
            LogField("detail", .disclosed(StoreError.replaced.operatorLine)))
    }

    /// The store is open.
    func opened(_ opening: OpeningReport) {
        if opening.madeSecret { log.write(.info, "secret_made", LogField("file", .disclosed(RelaySecretFile.name))) }
        if opening.secretWasReadableByOthers {
            log.write(
                .warning, "secret_mode_tightened", LogField("file", .disclosed(RelaySecretFile.name)),
                LogField("detail", "other users could read it until now; if they are not trusted, make another"))
        }
        if opening.secretIsUnproven {
            log.write(
                .warning, "secret_unproven", LogField("file", "push.db"),
                LogField(
                    "detail", "what says whose devices they are was lost; the secret that is set counts as theirs now"))
        }
        if opening.directoryIsOpenToOthers {
            log.write(
                .warning, "data_dir_open_to_others",
                LogField("detail", "any user may read or write DATA_DIR; if only the relay uses it, make it 0700"))
        }
        if opening.databaseWasMissing {
            log.write(
                .warning, "database_missing", LogField("file", "push.db"),
                LogField("detail", "secret.key was there already; if phones had registered, restore push.db"))
        }
        guard let takeover = opening.takeover else { return }
        log.write(
            takeover.dropped > 0 ? .warning : .info, "taken_over", LogField("devices", takeover.devices),
            LogField("counts", takeover.counts), LogField("duplicates", takeover.duplicates),
            LogField("unreadable_hashes", takeover.unreadableHashes),
            LogField("unknown_platforms", takeover.unknownPlatforms),
            LogField("missing_tokens", takeover.missingTokens),
            LogField("unreadable_counts", takeover.unreadableCounts))
    }

    /// Capabilities that nobody had used for so long were dropped.
    func dropped(idle count: Int) {
        log.write(.info, "idle_capabilities_dropped", LogField("count", count))
    }
}

extension HTTP2Failure {
    /// Whether somebody has to act before it goes away.
    var needsOperator: Bool {
        switch self {
        case .unreachable(let cause): cause.needsOperator
        case .notSent, .unknownOutcome, .overloaded: false
        }
    }
}
