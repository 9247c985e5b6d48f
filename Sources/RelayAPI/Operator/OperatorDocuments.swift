import DeviceStore
import PushModel

/// Puts what the operator asked for into JSON.
package enum OperatorDocuments {
    /// `{"from","devices","daily"}`, as dashboards in the field read it.
    package static func statistics(_ statistics: DailyStatistics) -> String {
        var text = #"{"from":"\#(statistics.from)","devices":{"ios":\#(statistics.devices.ios),"#
        text += #""android":\#(statistics.devices.android)},"daily":["#
        for (index, total) in statistics.daily.enumerated() {
            let count = total.count
            if index > 0 { text += "," }
            text += #"{"day":"\#(count.day)","event":"\#(count.event.rawValue)","#
            text +=
                #""platform":"\#(count.platform.rawValue)","kind":"\#(count.kind?.rawValue ?? "")","n":\#(total.n)}"#
        }
        return text + "]}"
    }

    /// `{"ready","checks":[{"name","ok"[,"detail"]}]}`.
    static func readiness(_ checks: [ReadinessCheck]) -> String {
        let list = checks.map { check in
            let detail = check.fault.map { #","detail":\#(Answers.quoted($0))"# } ?? ""
            return #"{"name":"\#(check.name.rawValue)","ok":\#(check.hasPassed)\#(detail)}"#
        }
        return #"{"ready":\#(checks.allSatisfy(\.hasPassed)),"checks":[\#(list.joined(separator: ","))]}"#
    }

    /// `{"ok"}`.
    static func liveness(_ isAlive: Bool) -> String { #"{"ok":\#(isAlive)}"# }
}
