/// Orders about keys, quotas, access tokens and phones within reach.
struct AccountOrders {
    /// Where they take effect.
    let ledger: Ledger

    /// Obeys an order; false when it is none of these.
    func obey(_ path: Substring, _ order: Order) throws(Order.Complaint) -> Bool {
        switch path {
        case "/simulator/online":
            let phone = try order.phone()
            ledger.setOnline(try order.flag("online") ?? true, phone)
        case "/simulator/rate": try setRate(order)
        case "/simulator/key": try setKey(order)
        case "/simulator/topic":
            guard let name = order["name"] else { throw Order.Complaint("name is missing") }
            ledger.updateAppleAccount { $0.add(topic: name) }
        case "/simulator/access-tokens": try setAccessTokens(order)
        default: return false
        }
        return true
    }

    private func setRate(_ order: Order) throws(Order.Complaint) {
        var rates: [PushRate] = []
        if let count = try order.number("count", 0...1_000_000_000) {
            rates = [PushRate(count, per: .seconds(try order.number("seconds", 1...86_400) ?? 60))]
        }
        if try order.flag("project") ?? false {
            ledger.setProjectRates(rates, retryAfter: order["retry_after"])
        } else {
            let platform = try order.choice("platform", PhonePlatform.self) ?? .ios
            ledger.setRates(rates, of: platform == .ios ? .apnsProduction : .fcm)
        }
    }

    /// A key that is declared so has the key pair of the simulator's own: only its ids and bounds are others.
    private func setKey(_ order: Order) throws(Order.Complaint) {
        guard let keyID = order["id"] else { throw Order.Complaint("id is missing") }
        if try order.flag("revoked") ?? false {
            ledger.updateAppleAccount { $0.revoke(keyID) }
            return
        }
        guard let own = ledger.ownAppleKey else { throw Order.Complaint("there is no key to be like") }
        let key = AppleKey(
            keyID: keyID, teamID: order["team"] ?? own.teamID, key: own.key,
            environment: try order.choice("environment", PhoneEnvironment.self),
            topics: order["topics"].map { Set($0.split(separator: ",").map { String($0) }) })
        ledger.updateAppleAccount { $0.add(key) }
    }

    private func setAccessTokens(_ order: Order) throws(Order.Complaint) {
        if try order.flag("revoke") ?? false { ledger.revokeAccessTokens() }
        if let state = try order.choice("account", ServiceAccountState.self) { ledger.setServiceAccountState(state) }
        let lifetime = try order.number("lifetime", 0...86_400)
        guard let text = order["expires_in"] else {
            if let lifetime { setLife(JSON(lifetime), lifetime) }
            return
        }
        guard text != "missing" else {
            setLife(nil, lifetime ?? 3599)
            return
        }
        guard let json = JSON(text: text) else { throw Order.Complaint("expires_in is neither missing nor JSON") }
        setLife(json, lifetime ?? 3599)
    }

    private func setLife(_ expiresIn: JSON?, _ seconds: Int) {
        ledger.setAccessTokenLife(AccessTokenLife(expiresIn: expiresIn, lifetime: .seconds(seconds)))
    }
}
