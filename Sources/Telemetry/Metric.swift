/// Every metric there is, by its name on the wire: this file is the dashboard's index. `docs/metrics.md` says what each
/// means and what to do about it.
///
/// Names of the first five are promised to dashboards in the field. Those of `process_` are Prometheus' own for any
/// program.
package enum Metric: String, Sendable, CaseIterable {
    // All-time sums from the table of counts: a restart never turns them back.
    case sent = "gryt_push_sent_total"
    case registrations = "gryt_push_registrations_total"
    case gone = "gryt_push_gone_total"
    case failed = "gryt_push_failed_total"
    case devices = "gryt_push_devices"

    // Pushes and requests, since the start of the process.
    case pushDuration = "gryt_push_duration_seconds"
    case inFlight = "gryt_push_in_flight"
    case inFlightLimit = "gryt_push_in_flight_limit"
    case refusals = "gryt_push_refusals_total"
    case openConnections = "gryt_push_http_connections"

    // The push services.
    case upstreamDuration = "gryt_push_upstream_duration_seconds"
    case upstreamAnswers = "gryt_push_upstream_answers_total"
    case upstreamFailures = "gryt_push_upstream_failures_total"
    case retries = "gryt_push_retries_total"
    case lastSuccess = "gryt_push_upstream_last_success_timestamp_seconds"
    case massDeathSuspected = "gryt_push_mass_death_suspected"
    case breakerOpen = "gryt_push_breaker_open"
    case sendRateLimit = "gryt_push_send_rate_limit"
    case heldBack = "gryt_push_held_back_total"
    case clockSkew = "gryt_push_clock_skew_seconds"

    // Connections to them.
    case upstreamConnections = "gryt_push_upstream_connections"
    case upstreamConnectionEvents = "gryt_push_upstream_connection_events_total"
    case upstreamInFlight = "gryt_push_upstream_in_flight"
    case upstreamWaiting = "gryt_push_upstream_waiting"
    case upstreamStreamLimit = "gryt_push_upstream_stream_limit"

    // What the push services know the operator by.
    case credentialState = "gryt_push_credential_state"
    case credentialAge = "gryt_push_credential_age_seconds"
    case credentialLastAccepted = "gryt_push_credential_last_accepted_timestamp_seconds"
    case accessTokenRequests = "gryt_push_access_token_requests_total"

    // The limits.
    case limiterKeys = "gryt_push_limiter_keys"
    case limiterKeysLimit = "gryt_push_limiter_keys_limit"

    // The store.
    case storeUp = "gryt_push_store_up"
    case storeCommitDuration = "gryt_push_store_commit_duration_seconds"
    case storeBatchSize = "gryt_push_store_batch_size"
    case storeWrites = "gryt_push_store_writes_total"
    case storeWaiting = "gryt_push_store_waiting"
    case databaseReplaced = "gryt_push_database_replaced"
    case databaseBytes = "gryt_push_database_bytes"
    case diskFreeBytes = "gryt_push_disk_free_bytes"

    // The program.
    case loopLag = "gryt_push_loop_lag_seconds"
    case silentLoops = "gryt_push_silent_loops"
    case draining = "gryt_push_draining"
    case reloads = "gryt_push_reloads_total"
    case buildInfo = "gryt_push_build_info"
    case processCPU = "process_cpu_seconds_total"
    case processResidentMemory = "process_resident_memory_bytes"
    case processVirtualMemory = "process_virtual_memory_bytes"
    case processOpenDescriptors = "process_open_fds"
    case processMaximumDescriptors = "process_max_fds"
    case processStartTime = "process_start_time_seconds"

    /// What the text format calls a type.
    package enum Form: String, Sendable {
        /// Only grows.
        case counter
        /// Goes up and down.
        case gauge
        /// Counts by size.
        case histogram
    }

    /// The type that the text format states.
    package var form: Form {
        switch self {
        case .sent, .registrations, .gone, .failed, .refusals, .upstreamAnswers, .upstreamFailures, .retries, .heldBack,
            .upstreamConnectionEvents, .accessTokenRequests, .storeWrites, .reloads, .processCPU:
            .counter
        case .pushDuration, .upstreamDuration, .storeCommitDuration, .storeBatchSize, .loopLag:
            .histogram
        case .devices, .inFlight, .inFlightLimit, .openConnections, .lastSuccess, .massDeathSuspected, .breakerOpen,
            .sendRateLimit, .clockSkew, .upstreamConnections, .upstreamInFlight, .upstreamWaiting, .upstreamStreamLimit,
            .credentialState,
            .credentialAge, .credentialLastAccepted, .limiterKeys, .limiterKeysLimit, .storeUp, .storeWaiting,
            .databaseReplaced, .databaseBytes, .diskFreeBytes, .silentLoops, .draining, .buildInfo,
            .processResidentMemory, .processVirtualMemory, .processOpenDescriptors, .processMaximumDescriptors,
            .processStartTime:
            .gauge
        }
    }

    /// The names of its labels, in the order in which values are given.
    package var labels: [MetricLabel] {
        switch self {
        case .sent: [.platform, .kind]
        case .pushDuration: [.platform, .outcome]
        case .refusals: [.code]
        case .upstreamAnswers: [.platform, .class, .reason]
        case .upstreamFailures: [.platform, .reason]
        case .upstreamConnections: [.upstream, .state]
        case .upstreamConnectionEvents: [.upstream, .event]
        case .breakerOpen, .sendRateLimit, .heldBack, .upstreamInFlight, .upstreamWaiting, .upstreamStreamLimit:
            [.upstream]
        case .credentialState: [.platform, .state]
        case .accessTokenRequests, .storeWrites, .reloads: [.result]
        case .limiterKeys, .limiterKeysLimit: [.limit]
        case .buildInfo: [.version]
        case .registrations, .gone, .failed, .devices, .upstreamDuration, .retries, .lastSuccess, .massDeathSuspected,
            .clockSkew, .credentialAge, .credentialLastAccepted:
            [.platform]
        case .inFlight, .inFlightLimit, .openConnections, .storeUp, .storeCommitDuration, .storeBatchSize,
            .storeWaiting, .databaseReplaced, .databaseBytes, .diskFreeBytes, .loopLag, .silentLoops, .draining,
            .processCPU, .processResidentMemory, .processVirtualMemory, .processOpenDescriptors,
            .processMaximumDescriptors,
            .processStartTime:
            []
        }
    }

    /// One line for whoever reads the page.
    package var help: String {
        switch self {
        case .sent: "Pushes that a push service accepted, all-time."
        case .registrations: "Registrations, all-time."
        case .gone: "Pushes whose device a push service said is gone, all-time."
        case .failed: "Pushes that failed for another reason, all-time."
        case .devices: "Registrations held."
        case .pushDuration: "Seconds from finding a push's device to its verdict, by outcome, since the start."
        case .inFlight: "Pushes under way."
        case .inFlightLimit: "Pushes that may be under way at once."
        case .refusals: "Requests refused since the start, by the code of the answer."
        case .openConnections: "Connections to the public port."
        case .upstreamDuration: "Seconds until a push service answered one attempt, since the start."
        case .upstreamAnswers: "Answers of push services since the start, by class of status and known reason."
        case .upstreamFailures: "Attempts that brought no answer of a push service since the start, by reason."
        case .retries: "Attempts since the start that repeated an earlier one."
        case .lastSuccess: "When a push service last accepted a push; 0 if it has not since the start."
        case .massDeathSuspected: "Whether dead tokens are disbelieved because there are too many at once."
        case .breakerOpen: "Whether a push service is left alone, and pushes are refused without asking it."
        case .sendRateLimit:
            "Pushes a second that may go since a push service asked for less; 0 without a limit."
        case .heldBack: "Pushes refused since the start because a push service asked for less."
        case .clockSkew: "Seconds by which this machine's clock is ahead of the push service's."
        case .upstreamConnections: "Connections to push services, by state."
        case .upstreamConnectionEvents: "What happened to connections to push services since the start."
        case .upstreamInFlight: "Requests to push services that have gone out and have no answer."
        case .upstreamWaiting: "Requests to push services that wait for a connection or a stream."
        case .upstreamStreamLimit: "Requests that the open connections take at once."
        case .credentialState: "Whether a platform's credentials are in this state: 1 for one of them."
        case .credentialAge: "Age of the token that the push service is sent now."
        case .credentialLastAccepted: "When a platform's credentials were last accepted; 0 if not since the start."
        case .accessTokenRequests: "Requests for an access token since the start, by result."
        case .limiterKeys: "Addresses and capabilities that a limit remembers."
        case .limiterKeysLimit: "Addresses and capabilities that a limit may remember."
        case .storeUp: "Whether the last transaction was committed, to the database that is there."
        case .storeCommitDuration: "Seconds that a transaction took, since the start."
        case .storeBatchSize: "Writes that were waited for in one transaction, since the start."
        case .storeWrites: "Writes that were waited for since the start, by result."
        case .storeWaiting: "Writes that wait."
        case .databaseReplaced: "Whether push.db was removed or replaced while the relay has it open."
        case .databaseBytes: "Size of the database and its log."
        case .diskFreeBytes: "What is free for the relay where the database is."
        case .loopLag: "Seconds by which the timers of event loops fired late, since the start."
        case .silentLoops: "Event loops that did not answer this scrape in time."
        case .draining: "Whether the relay takes no more requests and is about to end."
        case .reloads: "Reloads of the settings since the start, by result."
        case .buildInfo: "Always 1; the version is in the label."
        case .processCPU: "Total user and system CPU time spent in seconds."
        case .processResidentMemory: "Resident memory size in bytes."
        case .processVirtualMemory: "Virtual memory size in bytes."
        case .processOpenDescriptors: "Number of open file descriptors."
        case .processMaximumDescriptors: "Maximum number of open file descriptors."
        case .processStartTime: "Start time of the process since unix epoch in seconds."
        }
    }
}

/// Every label there is. Values come from enums, so that their number is bounded and none names a device, a server or an
/// address; only `version` is what the operator has set.
package enum MetricLabel: String, Sendable, CaseIterable {
    /// `ios` or `android`.
    case platform
    /// `mention`, `dm` or `message`.
    case kind
    /// The code of a refusal.
    case code
    /// How a push ended.
    case outcome
    /// An ``Upstream``.
    case upstream
    /// Of a connection or a credential.
    case state
    /// Of a status: `2xx` to `5xx`, or `other`.
    case `class`
    /// Why, as far as the relay knows it; else `other`.
    case reason
    /// What happened to a connection.
    case event
    /// How something ended.
    case result
    /// The name of a limit.
    case limit
    /// Of the relay.
    case version
}
