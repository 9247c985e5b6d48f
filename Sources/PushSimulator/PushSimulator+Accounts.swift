extension PushSimulator {
    // MARK: Apple's keys

    /// Makes Apple know another key, or another one under the id of one that it knows. It counts at once.
    package func addAppleKey(_ key: AppleKey) {
        ledger.updateAppleAccount { $0.add(key) }
    }

    /// Makes a key worth nothing: its tokens are InvalidProviderToken.
    package func revokeAppleKey(_ keyID: String) {
        ledger.updateAppleAccount { $0.revoke(keyID) }
    }

    /// Makes another topic exist. Connections that pushed before do not know it.
    package func addTopic(_ topic: String) {
        ledger.updateAppleAccount { $0.add(topic: topic) }
    }

    // MARK: Google's account and quotas

    /// Makes every access token given out so far worthless before its time.
    package func revokeAccessTokens() { ledger.revokeAccessTokens() }

    /// Changes what the token endpoint says about the life of its tokens, and how long they are good; nil is the usual.
    package func setAccessTokenLife(_ life: AccessTokenLife?) { ledger.setAccessTokenLife(life) }

    /// Revokes the service account's key, deletes the account, or restores both.
    package func setServiceAccount(_ state: ServiceAccountState) { ledger.setServiceAccountState(state) }

    /// Makes more messages than these to FCM as a whole meet QUOTA_EXCEEDED, with this `retry-after` (device quotas too).
    package func limitProject(_ rates: PushRate..., retryAfter: String? = nil) {
        ledger.setProjectRates(rates, retryAfter: retryAfter)
    }

    /// A moment from now by the simulator's clock, as `retry-after` may write it.
    package func httpDate(in wait: Duration) -> String {
        DateHeader.field(milliseconds: ledger.now + wait.components.seconds * 1000).value
    }
}
