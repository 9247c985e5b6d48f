/// One of a thing for each platform.
package struct PerPlatform<Value> {
    private var ios: Value
    private var android: Value

    /// Makes both.
    package init(_ make: (Platform) -> Value) {
        ios = make(.ios)
        android = make(.android)
    }

    package subscript(platform: Platform) -> Value {
        get {
            switch platform {
            case .ios: ios
            case .android: android
            }
        }
        _modify {
            switch platform {
            case .ios: yield &ios
            case .android: yield &android
            }
        }
    }
}

extension PerPlatform: Sendable where Value: Sendable {}
