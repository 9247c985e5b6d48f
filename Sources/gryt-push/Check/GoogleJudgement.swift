import PushServices

/// Judges Google's answers to the account: the token endpoint's, and FCM's to a message that is only to be looked at and is
/// for nobody. Google: "Using OAuth 2.0 for server to server applications", "FCM error codes".
struct GoogleJudgement {
    /// The account's project.
    let projectID: String

    /// Judges the token endpoint's answer. `reason` is what the words of a refusal say.
    func judge(_ result: Result<Void, OAuthFailure>, status: Int, reason: OAuthRefusalReason?) -> Judgement {
        switch result {
        case .success: .ok("Google gives the account an access token")
        case .failure(.clock):
            .wrong(
                "Google refuses the times in the relay's assertion (invalid_grant)",
                "set this machine's clock (see clock)")
        case .failure(.refused): refused(reason ?? .other)
        case .failure(.malformed):
            .wrong(
                "what answers at the account's token_uri gives neither a token nor a reason (status \(status))",
                "check token_uri in the service account's JSON, and what lies in between")
        case .failure(.unavailable):
            .warning(
                "Google's token endpoint has a fault of its own (status \(status)), and nothing is known about the account",
                "check again in a few minutes")
        case .failure(.unreachable): .wrong("no answer", "check again; if it stays so, see what lies in between")
        }
    }

    private func refused(_ reason: OAuthRefusalReason) -> Judgement {
        switch reason {
        case .signature:
            .wrong(
                "Google does not know the account's key (invalid_grant)",
                "the key was deleted or belongs to another account: make a new one in the Firebase console, Project "
                    + "settings, Service accounts, and set it")
        case .noAccount:
            .wrong(
                "Google does not know the account (invalid_grant)",
                "it was deleted: take the JSON of another service account of the project \(projectID)")
        case .disabled:
            .wrong(
                "Google has the account, or its key, disabled",
                "enable it in the Google Cloud console, IAM and admin, Service accounts, project \(projectID)")
        case .audience:
            .wrong(
                "Google says that the assertion is for another endpoint (invalid_grant)",
                "token_uri in the service account's JSON must be as Google has written it")
        case .scope:
            .wrong(
                "Google does not let the account ask for Firebase's scope (invalid_scope)",
                "use a service account of the Firebase project \(projectID)")
        case .client:
            .wrong(
                "Google does not let the account in (unauthorized_client or invalid_client)",
                "use a service account of the Firebase project \(projectID), not another kind of credential")
        case .clock, .unavailable, .other:
            .wrong(
                "Google refuses the account",
                "make a new key for a service account of the project \(projectID) and set it"
            )
        }
    }

    /// Judges FCM's answer. `info` is the word of its `ErrorInfo`, where it gave one.
    func judge(_ answer: FCMAnswer, status: Int, info: String?) -> Judgement {
        switch answer {
        case .badRegistrationToken, .unregistered, .ambiguousArgument, .phoneThrottled:
            .ok("Google takes the account for the project \(projectID), and knows no such phone, as it should")
        case .accepted: .ok("Google takes the account for the project \(projectID), and would take the message")
        case .permissionDenied: denied(info)
        case .senderMismatch:
            .wrong(
                "Google says SENDER_ID_MISMATCH: the account is not of the app's project",
                "use a service account of the Firebase project that the app is built with, not of \(projectID)")
        case .notFound:
            .wrong(
                "Google knows no project \(projectID) there, or the address is none of FCM's (status \(status))",
                "check project_id in the service account's JSON, and FCM_ORIGIN")
        case .accessTokenRefused:
            .wrong(
                "FCM does not take the access token that Google has just given (status \(status))",
                "check FCM_ORIGIN, this machine's clock (see clock), and what lies in between")
        case .redirected:
            .wrong("FCM's answer leads elsewhere (status \(status))", "check FCM_ORIGIN, and what lies in between")
        case .malformed: .wrong("FCM finds fault with the relay's own request", "tell the relay's authors")
        case .unknownRefusal:
            .wrong(
                "FCM refuses with status \(status), which this relay does not know",
                "check FCM_ORIGIN, and what lies in between")
        case .thirdPartyCredential:
            .warning(
                "FCM speaks of credentials for Apple or the web, which a push to Android does not need",
                "check that the app's phones are of the project \(projectID)")
        case .projectThrottled:
            .warning(
                "the project \(projectID) sends more than its quota, and nothing else is known",
                "see its quota for the FCM API in the Google Cloud console")
        case .unavailable, .unknownFault:
            .warning(
                "something is wrong on Google's side (status \(status)), and nothing is known about the account",
                "check again in a few minutes")
        }
    }

    private func denied(_ info: String?) -> Judgement {
        switch info {
        case "SERVICE_DISABLED":
            .wrong(
                "the Firebase Cloud Messaging API is not enabled in the project \(projectID)",
                "enable \"Firebase Cloud Messaging API (V1)\" in the Firebase console, Project settings, Cloud Messaging"
            )
        case "IAM_PERMISSION_DENIED":
            .wrong(
                "the account may not send in the project \(projectID), or there is no such project",
                "give it the role \"Firebase Cloud Messaging API Admin\" there, and check project_id in its JSON")
        default:
            .wrong(
                "the account may not send in the project \(projectID)",
                "give it the role \"Firebase Cloud Messaging API Admin\" there, and see that the Firebase Cloud Messaging "
                    + "API (V1) is enabled")
        }
    }
}
