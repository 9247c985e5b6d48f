import PushModel

/// One of a thing for each kind of push: for what is made once and used with every push.
struct PerKind<Value: Sendable>: Sendable {
    private let mention: Value
    private let dm: Value
    private let message: Value

    /// Makes each of them.
    init(_ make: (Kind) -> Value) {
        mention = make(.mention)
        dm = make(.dm)
        message = make(.message)
    }

    subscript(kind: Kind) -> Value {
        switch kind {
        case .mention: mention
        case .dm: dm
        case .message: message
        }
    }
}
