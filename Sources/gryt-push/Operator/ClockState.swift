/// How the clock on the wall stands to a push service's.
enum ClockState: Equatable {
    /// As far as it is known to be right, or nothing is known.
    case right
    /// Far enough off to be worth a look.
    case notable
    /// So far off that credentials are refused for it, or soon will be.
    case dangerous

    /// - Parameter skew: by how many nanoseconds it is ahead; nil where that was never measured.
    init(skew: Int64?) {
        switch skew?.magnitude ?? 0 {
        case 0...Diagnosis.notableSkew.magnitude: self = .right
        case ...Diagnosis.dangerousSkew.magnitude: self = .notable
        default: self = .dangerous
        }
    }
}
