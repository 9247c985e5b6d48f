import DeviceStore
import PushModel
import PushServices
import RelayAPI
import SQLiteDeviceStore
import Telemetry

/// Writes every metric, in the order of ``Metric``'s cases.
enum MetricsPage {
    /// The page in Prometheus' text format.
    static func text(_ facts: OperatorFacts) -> [UInt8] {
        var text = MetricsText()
        for metric in Metric.allCases {
            switch metric.form {
            case .counter, .gauge: append(metric, facts, to: &text)
            case .histogram: text.append(metric, histograms(metric, facts))
            }
        }
        return Array(text.text.utf8)
    }

    /// A metric without a sample is left out: it is of a platform without credentials, or of a store that does not answer.
    private static func append(_ metric: Metric, _ facts: OperatorFacts, to text: inout MetricsText) {
        let samples = samples(metric, facts)
        if !samples.isEmpty { text.append(metric, samples) }
    }

    private static func samples(_ metric: Metric, _ facts: OperatorFacts) -> [MetricSample] {
        switch metric {
        case .sent, .registrations, .gone, .failed, .devices:
            counts(metric, facts)
        case .inFlight, .inFlightLimit, .refusals, .openConnections, .limiterKeys, .limiterKeysLimit:
            downstream(metric, facts)
        case .breakerOpen:
            facts.breakers.map { MetricSample([$0.upstream.rawValue], $0.open != nil) }
        case .sendRateLimit:
            facts.pace.map { [MetricSample([Upstream.fcm.rawValue], nanoseconds: Int64(($0.limit ?? 0) * 1e9))] } ?? []
        case .heldBack:
            facts.pace.map { [MetricSample([Upstream.fcm.rawValue], $0.heldBack)] } ?? []
        case .upstreamAnswers, .upstreamFailures, .retries, .lastSuccess, .massDeathSuspected, .clockSkew:
            pushServices(metric, facts)
        case .upstreamConnections, .upstreamConnectionEvents, .upstreamInFlight, .upstreamWaiting,
            .upstreamStreamLimit:
            connections(metric, facts)
        case .credentialState, .credentialAge, .credentialLastAccepted, .accessTokenRequests:
            credentials(metric, facts)
        case .storeUp, .storeWrites, .storeWaiting, .databaseReplaced, .databaseBytes, .diskFreeBytes:
            store(metric, facts)
        case .silentLoops, .draining, .reloads, .buildInfo, .processCPU, .processResidentMemory,
            .processVirtualMemory, .processOpenDescriptors, .processMaximumDescriptors, .processStartTime:
            program(metric, facts)
        case .pushDuration, .upstreamDuration, .storeCommitDuration, .storeBatchSize, .loopLag:
            []
        }
    }

    private static func histograms(
        _ metric: Metric, _ facts: OperatorFacts
    ) -> [(labelValues: [String], reading: HistogramReading)] {
        switch metric {
        case .pushDuration:
            Platform.allCases.flatMap { platform in
                zip(PushOutcome.allCases, facts.platforms[platform].pushes).map {
                    ([platform.rawValue, $0.rawValue], $1)
                }
            }
        case .upstreamDuration:
            Platform.allCases.map { ([$0.rawValue], facts.platforms[$0].upstream) }
        case .storeCommitDuration:
            [([], HistogramReading(facts.writer.durations, .nanoseconds))]
        case .storeBatchSize:
            [([], HistogramReading(facts.writer.batchSizes, .number))]
        case .loopLag:
            [([], facts.lag)]
        default:
            preconditionFailure("a histogram that nothing is counted in")
        }
    }

    // MARK: One function for each part of the relay

    private static func counts(_ metric: Metric, _ facts: OperatorFacts) -> [MetricSample] {
        guard let devices = facts.devices else { return [] }
        func total(_ event: CountedEvent, _ platform: Platform, _ kind: Kind? = nil) -> Int {
            facts.allTime.first { $0.event == event && $0.platform == platform && $0.kind == kind }?.n ?? 0
        }
        func byPlatform(_ event: CountedEvent) -> [MetricSample] {
            Platform.allCases.map { MetricSample([$0.rawValue], total(event, $0)) }
        }
        switch metric {
        case .sent:
            return Platform.allCases.flatMap { platform in
                Kind.allCases.map { MetricSample([platform.rawValue, $0.rawValue], total(.sent, platform, $0)) }
            }
        case .registrations: return byPlatform(.registered)
        case .gone: return byPlatform(.gone)
        case .failed: return byPlatform(.failed)
        default:
            return [
                MetricSample([Platform.ios.rawValue], devices.ios),
                MetricSample([Platform.android.rawValue], devices.android),
            ]
        }
    }

    private static func downstream(_ metric: Metric, _ facts: OperatorFacts) -> [MetricSample] {
        switch metric {
        case .inFlight: [MetricSample([], facts.pushesInFlight)]
        case .inFlightLimit: [MetricSample([], facts.pushesInFlightLimit)]
        case .refusals: zip(RefusalCode.allCases, facts.refusals).map { MetricSample([$0.rawValue], $1) }
        case .openConnections: [MetricSample([], facts.openConnections)]
        case .limiterKeys: facts.limiters.map { MetricSample([$0.name.rawValue], $0.keys) }
        default: facts.limiters.map { MetricSample([$0.name.rawValue], $0.maximum) }
        }
    }

    private static func pushServices(_ metric: Metric, _ facts: OperatorFacts) -> [MetricSample] {
        Platform.allCases.filter { facts.credentials[$0].state != .unset }.flatMap { platform in
            let reading = facts.platforms[platform]
            let labels = [platform.rawValue]
            switch metric {
            case .upstreamAnswers: return answers(reading, platform)
            case .upstreamFailures:
                return zip(FailureReason.allCases, reading.failures).map { MetricSample(labels + [$0.rawValue], $1) }
            case .retries: return [MetricSample(labels, reading.retries)]
            case .lastSuccess: return [moment(labels, reading.lastSuccess.map { facts.reckoning.instant($0) })]
            case .massDeathSuspected: return [MetricSample(labels, facts.massDeathSuspected[platform])]
            default: return reading.skew.map { [MetricSample(labels, nanoseconds: $0.nanoseconds)] } ?? []
            }
        }
    }

    /// Class and reason together have over a hundred pairs, most of which never occur: what has not is left out, but for
    /// the one that everybody asks for.
    private static func answers(_ reading: PlatformReading, _ platform: Platform) -> [MetricSample] {
        zip(StatusClass.allCases, reading.answers).flatMap { status, row in
            zip(AnswerReason.allCases, row).compactMap { reason, count in
                guard count > 0 || (status == .success && reason == .accepted) else { return nil }
                return MetricSample([platform.rawValue, status.rawValue, reason.rawValue], count)
            }
        }
    }

    private static func connections(_ metric: Metric, _ facts: OperatorFacts) -> [MetricSample] {
        facts.upstreams.flatMap { facts in
            let connection = facts.snapshot
            let upstream = connection.upstream.rawValue
            switch metric {
            case .upstreamConnections:
                return [
                    MetricSample([upstream, "connecting"], connection.connecting),
                    MetricSample([upstream, "open"], connection.open),
                    MetricSample([upstream, "draining"], connection.draining),
                ]
            case .upstreamConnectionEvents:
                return [
                    MetricSample([upstream, "opened"], facts.opened),
                    MetricSample([upstream, "closed"], facts.closed),
                    MetricSample([upstream, "failed"], facts.failedAttempts),
                ]
            case .upstreamInFlight: return [MetricSample([upstream], connection.inFlight)]
            case .upstreamWaiting: return [MetricSample([upstream], connection.waiting)]
            default: return [MetricSample([upstream], connection.streamLimit)]
            }
        }
    }

    private static func credentials(_ metric: Metric, _ facts: OperatorFacts) -> [MetricSample] {
        if metric == .accessTokenRequests {
            guard facts.credentials[.android].state != .unset else { return [] }
            return zip(AccessTokenResult.allCases, facts.accessTokens).map { MetricSample([$0.rawValue], $1) }
        }
        return Platform.allCases.flatMap { platform in
            let credential = facts.credentials[platform]
            let labels = [platform.rawValue]
            switch metric {
            case .credentialState:
                return CredentialStateLabel.allCases.map {
                    MetricSample(labels + [$0.rawValue], $0 == CredentialStateLabel(credential.state))
                }
            case .credentialAge:
                return credential.tokenAge.map { [MetricSample(labels, nanoseconds: $0.wholeNanoseconds)] } ?? []
            default:
                return credential.state == .unset ? [] : [moment(labels, credential.lastAccepted)]
            }
        }
    }

    private static func store(_ metric: Metric, _ facts: OperatorFacts) -> [MetricSample] {
        let writer = facts.writer
        switch metric {
        case .storeUp:
            let isUp = facts.devices != nil && writer.lastFailure == nil && !facts.isDatabaseReplaced
            return [MetricSample([], isUp)]
        case .storeWrites: return [MetricSample(["ok"], writer.writes), MetricSample(["failed"], writer.failedWrites)]
        case .storeWaiting: return [MetricSample([], writer.waiting)]
        case .databaseReplaced: return [MetricSample([], facts.isDatabaseReplaced)]
        case .databaseBytes: return [MetricSample([], facts.disk.databaseBytes)]
        default: return facts.disk.freeBytes.map { [MetricSample([], $0)] } ?? []
        }
    }

    private static func program(_ metric: Metric, _ facts: OperatorFacts) -> [MetricSample] {
        let process = facts.process
        switch metric {
        case .silentLoops: return [MetricSample([], facts.silentLoops)]
        case .draining: return [MetricSample([], facts.isDraining)]
        case .reloads: return zip(ReloadResult.allCases, facts.reloads).map { MetricSample([$0.rawValue], $1) }
        case .buildInfo: return [MetricSample([facts.version], 1)]
        case .processCPU: return [MetricSample(nanoseconds: process.cpuNanoseconds)]
        case .processResidentMemory: return [MetricSample([], process.residentBytes)]
        case .processVirtualMemory: return [MetricSample([], process.virtualBytes)]
        case .processOpenDescriptors: return process.openDescriptors.map { [MetricSample([], $0)] } ?? []
        case .processMaximumDescriptors: return [MetricSample([], process.maximumDescriptors)]
        default: return facts.processStart.map { [MetricSample(nanoseconds: $0)] } ?? []
        }
    }

    /// Seconds since 1970, and 0 for what has not happened.
    private static func moment(_ labels: [String], _ instant: WallInstant?) -> MetricSample {
        MetricSample(labels, nanoseconds: (instant?.milliseconds ?? 0) * 1_000_000)
    }
}

/// The values of the label `state` for credentials.
enum CredentialStateLabel: String, MetricLabelValue {
    case unset, untried, accepted, refused

    init(_ state: CredentialSnapshot.State) {
        self =
            switch state {
            case .unset: .unset
            case .untried: .untried
            case .accepted: .accepted
            case .refused: .refused
            }
    }
}

extension HistogramReading {
    /// What the store has counted.
    fileprivate init(_ distribution: Distribution, _ unit: Unit) {
        self.init(bounds: distribution.bounds, counts: distribution.counts, sum: distribution.sum, unit: unit)
    }
}
