import PushServices
import RelayAPI
import Telemetry
import Testing

@testable import gryt_push

/// `docs/metrics.md` is what dashboards and alerts are built by, so it must say what the code says.
@Suite(.timeLimit(.minutes(1)))
struct MetricsDocumentTests {
    private struct Row: Equatable, CustomStringConvertible {
        var name: String
        var form: String
        var labels: [String]
        var description: String { "\(name) \(form) \(labels)" }
    }

    private let text: String

    init() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        text = String(decoding: try SystemFile.read("/\(root)/docs/metrics.md"), as: UTF8.self)
    }

    private var rows: [[String]] {
        text.split(separator: "\n").filter { $0.hasPrefix("| `gryt_push_") || $0.hasPrefix("| `process_") }.map {
            line in
            line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map {
                $0.split(separator: " ").joined(separator: " ")
            }
        }
    }

    /// The words in backticks.
    private func quoted(_ cell: some StringProtocol) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    @Test func `the document lists every metric once, with its type and its labels`() {
        let documented = rows.map { Row(name: quoted($0[0])[0], form: $0[1], labels: quoted($0[2])) }
        let known = Metric.allCases.map {
            Row(name: $0.rawValue, form: $0.form.rawValue, labels: $0.labels.map(\.rawValue))
        }
        #expect(documented.sorted { $0.name < $1.name } == known.sorted { $0.name < $1.name })
        for row in rows { #expect(row.count == 5 && !row[3].isEmpty, "\(row)") }
    }

    /// The words in backticks of the sentence that begins so.
    private func values(after beginning: String) -> [String] {
        let prose = text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: " ")
        guard let start = prose.firstRange(of: beginning)?.upperBound else { return [] }
        let rest = prose[start...]
        return quoted(rest[..<(rest.firstRange(of: ". ")?.lowerBound ?? rest.endIndex)])
    }

    @Test func `the document lists the values of labels`() {
        #expect(values(after: "`reason` of an answer is one of: ") == AnswerReason.allCases.map(\.rawValue))
        #expect(values(after: "`reason` of a failure is one of: ") == FailureReason.allCases.map(\.rawValue))
        #expect(values(after: "`class` is ") == StatusClass.allCases.map(\.rawValue))
        #expect(values(after: "`outcome` is ") == PushOutcome.allCases.map(\.rawValue))
        #expect(values(after: "`upstream` is ") == Upstream.allCases.map(\.rawValue))
        #expect(values(after: "`limit` is ") == LimiterFacts.Name.allCases.map(\.rawValue))
        #expect(
            values(after: "1 for the state that they are in: ").prefix(4)
                == CredentialStateLabel.allCases.map(\.rawValue)[...])
        #expect(
            values(after: "requests to Google's token endpoint: ").prefix(6)
                == AccessTokenResult.allCases.map(\.rawValue)[...])
    }

    @Test func `a value's place is its place among all cases`() {
        #expect(AnswerReason.allCases.map(\.ordinal) == Array(AnswerReason.allCases.indices))
        #expect(StatusClass.allCases.map(\.ordinal) == Array(StatusClass.allCases.indices))
        #expect(PushOutcome.allCases.map(\.ordinal) == Array(PushOutcome.allCases.indices))
        #expect(RefusalCode.allCases.map(\.ordinal) == Array(RefusalCode.allCases.indices))
    }
}
