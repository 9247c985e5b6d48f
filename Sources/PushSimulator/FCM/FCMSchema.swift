/// The shape of a value in Google's JSON, as "REST Resource: projects.messages" lists it.
indirect enum FCMShape {
    /// A string; `TYPE_STRING` in Google's words.
    case text
    /// `true` or `false`; `TYPE_BOOL`.
    case flag
    /// A 32-bit integer, as a number or its digits in a string; `TYPE_INT32`.
    case integer
    /// A floating-point number; `TYPE_FLOAT`.
    case real
    /// A list of strings.
    case texts
    /// A map of strings to strings.
    case textMap
    /// One of these names, in any case; with the last part of the enum's type.
    case choice(String, [String])
    /// Seconds with at most nine decimals and an `s`.
    case duration
    /// A list of durations.
    case durations
    /// RFC 3339.
    case timestamp
    /// An object with these members.
    case object([String: FCMShape])
    /// Of no interest to a relay for Android; not looked into.
    case anything

    /// The whole body of `messages:send`.
    static let request: FCMShape = .object(["validate_only": .flag, "message": message])

    private static let message: FCMShape = .object([
        "name": .text, "data": .textMap, "notification": notification, "android": android, "webpush": .anything,
        "apns": .anything, "fcm_options": .object(["analytics_label": .text]), "token": .text, "topic": .text,
        "condition": .text, "fid": .text,
    ])

    private static let notification: FCMShape = .object(["title": .text, "body": .text, "image": .text])

    private static let android: FCMShape = .object([
        "collapse_key": .text, "priority": .choice("AndroidMessagePriority", ["NORMAL", "HIGH"]), "ttl": .duration,
        "restricted_package_name": .text, "data": .textMap, "notification": androidNotification,
        "fcm_options": .object(["analytics_label": .text]), "direct_boot_ok": .flag, "bandwidth_constrained_ok": .flag,
        "restricted_satellite_ok": .flag,
    ])

    private static let androidNotification: FCMShape = .object([
        "title": .text, "body": .text, "icon": .text, "color": .text, "sound": .text, "tag": .text,
        "click_action": .text, "body_loc_key": .text, "body_loc_args": .texts, "title_loc_key": .text,
        "title_loc_args": .texts, "channel_id": .text, "ticker": .text, "sticky": .flag, "event_time": .timestamp,
        "local_only": .flag,
        "notification_priority": .choice(
            "AndroidNotification.NotificationPriority",
            [
                "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH",
                "PRIORITY_MAX",
            ]),
        "default_sound": .flag, "default_vibrate_timings": .flag, "default_light_settings": .flag,
        "vibrate_timings": .durations,
        "visibility": .choice(
            "AndroidNotification.Visibility", ["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
        "notification_count": .integer,
        "light_settings": .object([
            "color": .object(["red": .real, "green": .real, "blue": .real, "alpha": .real]),
            "light_on_duration": .duration, "light_off_duration": .duration,
        ]),
        "image": .text,
        "proxy": .choice("AndroidNotification.Proxy", ["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
    ])
}

/// One entry of `google.rpc.BadRequest.fieldViolations`.
struct FieldViolation: Equatable {
    /// The path of the member, in snake case, with the places of list and map entries: `message.data[0].value`.
    var field: String
    /// Google's sentence about it.
    var description: String

    /// As it stands in `fieldViolations`.
    var json: JSON { ["field": .string(field), "description": .string(description)] }
}

/// Compares JSON with a shape, in the way of Google's own transcoder, and words what does not fit as it does. Pure.
struct FCMShapeCheck {
    /// What did not fit so far, in the order of the text.
    private(set) var violations: [FieldViolation] = []

    /// Everything in `value` that the shape does not allow; `path` is empty for the whole body.
    mutating func check(_ value: JSON, against shape: FCMShape, at path: String = "") {
        // In proto3's JSON a null member is an absent one.
        if case .null = value { return }
        switch shape {
        case .anything: break
        case .text:
            if value.string == nil { invalid(value, "TYPE_STRING", at: path) }
        case .flag:
            if case .bool = value { return }
            invalid(value, "TYPE_BOOL", at: path)
        case .integer:
            if value.integer.flatMap({ Int32(exactly: $0) }) != nil || value.string.flatMap({ Int32($0) }) != nil {
                return
            }
            invalid(value, "TYPE_INT32", at: path)
        case .real:
            if case .number = value { return }
            invalid(value, "TYPE_FLOAT", at: path)
        case .texts: checkList(value, of: .text, at: path)
        case .durations: checkList(value, of: .duration, at: path)
        case .textMap: checkMap(value, at: path)
        case .choice(let type, let names):
            if let name = value.string, names.contains(name.uppercased()) { return }
            invalid(value, "type.googleapis.com/google.firebase.fcm.v1.\(type)", at: path)
        case .duration:
            if let text = value.string, Self.duration(text) != nil { return }
            invalid(value, "type.googleapis.com/google.protobuf.Duration", at: path)
        case .timestamp:
            if let text = value.string, text.contains("T"), text.utf8.count >= 20 { return }
            invalid(value, "type.googleapis.com/google.protobuf.Timestamp", at: path)
        case .object(let members): checkObject(value, members, at: path)
        }
    }

    private mutating func checkObject(_ value: JSON, _ shapes: [String: FCMShape], at path: String) {
        guard let members = value.members else {
            invalid(value, "type.googleapis.com/google.firebase.fcm.v1.Message", at: path)
            return
        }
        for member in members {
            let name = Self.snakeCase(member.name)
            guard let shape = shapes[name] else {
                let place = path.isEmpty ? "" : " at '\(path)'"
                add(path, "Invalid JSON payload received. Unknown name \"\(member.name)\"\(place): Cannot find field.")
                continue
            }
            check(member.value, against: shape, at: path.isEmpty ? name : "\(path).\(name)")
        }
    }

    private mutating func checkList(_ value: JSON, of shape: FCMShape, at path: String) {
        guard case .array(let values) = value else {
            check(value, against: shape, at: path)
            return
        }
        for (index, value) in values.enumerated() { check(value, against: shape, at: "\(path)[\(index)]") }
    }

    private mutating func checkMap(_ value: JSON, at path: String) {
        guard let members = value.members else {
            invalid(value, "Map", at: path)
            return
        }
        for (index, member) in members.enumerated() where member.value.string == nil {
            invalid(member.value, "TYPE_STRING", at: "\(path)[\(index)].value")
        }
    }

    private mutating func invalid(_ value: JSON, _ type: String, at path: String) {
        add(path, "Invalid value at '\(path)' (\(type)), \(value.text)")
    }

    private mutating func add(_ field: String, _ description: String) {
        violations.append(FieldViolation(field: field, description: description))
    }

    /// proto3's JSON takes `collapseKey` and `collapse_key` alike.
    static func snakeCase(_ name: String) -> String {
        guard name.utf8.contains(where: { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) else { return name }
        return name.reduce(into: "") { text, character in
            text += character.isUppercase ? "_" + character.lowercased() : String(character)
        }
    }

    /// What a text such as `3.5s` says; nil when it is none.
    static func duration(_ text: String) -> Duration? {
        guard text.last == "s" else { return nil }
        let parts = text.dropLast().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        // The range of google.protobuf.Duration: ten thousand years.
        guard let whole = Int64(parts[0]), whole.magnitude <= 315_576_000_000 else { return nil }
        guard parts.count == 2 else { return .seconds(whole) }
        guard (1...9).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy({ (48...57).contains($0) }),
            let fraction = Int64(parts[1] + String(repeating: "0", count: 9 - parts[1].utf8.count))
        else { return nil }
        return .seconds(whole) + .nanoseconds(parts[0].hasPrefix("-") ? -fraction : fraction)
    }
}
