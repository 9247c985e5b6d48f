/// What was declared about phones. Pure; the ledger guards it.
struct PhoneTable: Sendable {
    /// Whether only declared phones exist. Otherwise every token of the right form is a live phone's, but for one of zeros,
    /// which nobody was ever given.
    var isStrict: Bool
    private var phones: [PhoneAddress: Phone] = [:]

    private struct Phone {
        var environment: PhoneEnvironment?
        var topic: String?
        var death: Death?
        var faults = FaultQueue()
    }

    /// How a token ended.
    struct Death: Equatable {
        /// Milliseconds since 1970.
        var since: Int64
        /// Apple's word for it.
        var reason: DeathReason
        /// From when on pushes are refused, in milliseconds since 1970; before that they are accepted in vain.
        var noticed = Int64.min
        /// How `timestamp` is written.
        var timestamp = DeathTimestamp.milliseconds

        /// The body of Apple's 410.
        var json: JSON {
            var members: [JSON.Member] = [.init("reason", .string(reason.rawValue))]
            switch timestamp {
            case .milliseconds: members.append(.init("timestamp", JSON(since)))
            case .seconds: members.append(.init("timestamp", JSON(since / 1000)))
            case .text: members.append(.init("timestamp", .string(String(since))))
            case .missing: break
            case .null: members.append(.init("timestamp", .null))
            case .fraction: members.append(.init("timestamp", .number("\(since).5")))
            }
            return .object(members)
        }
    }

    /// What a push to a phone meets.
    enum Standing: Equatable {
        case live
        /// The token is finished, and the service does not yet say so.
        case deadUnnoticed
        /// Nobody has this token, in this environment at least.
        case unknown
        /// The token belongs to another app.
        case ofAnotherTopic
        case dead(Death)
    }

    init(isStrict: Bool) { self.isStrict = isStrict }

    /// Makes a phone live, of one environment or topic where these are given.
    mutating func declareLive(_ address: PhoneAddress, environment: PhoneEnvironment?, topic: String?) {
        phones[address, default: Phone()].environment = environment
        phones[address, default: Phone()].topic = topic
        phones[address, default: Phone()].death = nil
    }

    /// Ends a phone's token.
    mutating func declareDead(_ address: PhoneAddress, _ death: Death) {
        phones[address, default: Phone()].death = death
    }

    /// Takes back all that was declared.
    mutating func forget(_ address: PhoneAddress) {
        phones[address] = nil
    }

    /// Makes pushes to the phone meet a fault after those that wait already.
    mutating func add(_ fault: Fault, to address: PhoneAddress) {
        phones[address, default: Phone()].faults.add(fault)
    }

    /// Drops the faults that wait.
    mutating func clearFaults(of address: PhoneAddress) {
        phones[address]?.faults.clear()
    }

    /// The fault that the next push meets, counted down.
    mutating func nextFault(of address: PhoneAddress) -> Fault? {
        phones[address]?.faults.next()
    }

    /// `environment` and `topic` are what the push came by; Android has neither.
    func standing(
        of address: PhoneAddress, environment: PhoneEnvironment? = nil, topic: String? = nil, now: Int64
    ) -> Standing {
        guard let phone = phones[address] else {
            return isStrict || address.token.utf8.allSatisfy { $0 == UInt8(ascii: "0") } ? .unknown : .live
        }
        if let own = phone.environment, let environment, own != environment { return .unknown }
        if let own = phone.topic, let topic, own != topic { return .ofAnotherTopic }
        if let death = phone.death { return now < death.noticed ? .deadUnnoticed : .dead(death) }
        return .live
    }
}

/// Apple's two words for a finished token; Google has one for both.
package enum DeathReason: String, Sendable, CaseIterable {
    case unregistered = "Unregistered"
    case expired = "ExpiredToken"
}

/// How the `timestamp` of a 410 is written. Apple says milliseconds; clients met the rest, or may.
package enum DeathTimestamp: String, Sendable, CaseIterable {
    case milliseconds = "ms"
    case seconds
    /// The milliseconds in a string.
    case text
    case missing
    case null
    /// The milliseconds and a half.
    case fraction
}
