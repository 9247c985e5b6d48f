import PushModel

/// What a phone posts to register. Checked in the order of the contract; the first fault is the answer.
struct DeviceBody {
    var token: DeviceToken
    var environment: APNsEnvironment
    var opensPreviews: Bool

    static func decode(_ bytes: [UInt8]) throws(Refusal) -> DeviceBody {
        guard let object = JSONObject(bytes, wanted: ["platform", "token", "env", "opens"]) else { throw .badJSON }
        guard let platform = object.string("platform").flatMap(Platform.init(rawValue:)) else { throw .badPlatform }
        guard let token = object.string("token").flatMap({ DeviceToken($0, for: platform) }) else { throw .badToken }
        var environment = APNsEnvironment.production
        if object["env"] != nil {
            guard let named = object.string("env").flatMap(APNsEnvironment.init(rawValue:)) else {
                throw .badEnvironment
            }
            environment = named
        }
        switch platform {
        case .ios:
            return DeviceBody(token: token, environment: environment, opensPreviews: false)
        case .android:
            return DeviceBody(token: token, environment: .production, opensPreviews: try opens(object))
        }
    }

    private static func opens(_ object: JSONObject) throws(Refusal) -> Bool {
        switch object["opens"] {
        case nil: false
        case .bool(let opens): opens
        case .string, .other: throw .badJSON
        }
    }
}

/// What a server posts to ring a phone. Checked in the order of the contract; the first fault is the answer.
struct PushBody {
    var kind: Kind
    var preview: SealedPreview?

    static func decode(_ bytes: [UInt8]) throws(Refusal) -> PushBody {
        guard let object = JSONObject(bytes, wanted: ["kind", "preview"]) else { throw .badJSON }
        guard let kind = object.string("kind").flatMap(Kind.init(rawValue:)) else { throw .badKind }
        guard object["preview"] != nil else { return PushBody(kind: kind, preview: nil) }
        guard let preview = object.string("preview").flatMap(SealedPreview.init) else { throw .badPreview }
        return PushBody(kind: kind, preview: preview)
    }
}
