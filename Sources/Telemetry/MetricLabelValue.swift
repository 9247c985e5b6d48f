/// An enum whose cases are the values of a label, by their raw values.
package protocol MetricLabelValue: RawRepresentable<String>, CaseIterable, Sendable, Equatable
where AllCases == [Self] {
    /// The place of the case among all of them. Where something is counted with every push, the enum answers this by
    /// itself, for the search through all cases takes longer than the counting.
    var ordinal: Int { get }
}

extension MetricLabelValue {
    package var ordinal: Int {
        guard let ordinal = Self.allCases.firstIndex(of: self) else {
            preconditionFailure("a case that is not among all cases")
        }
        return ordinal
    }
}
