/// A refusal in Google's shape: `{"error":{"code","message","status","details"}}`.
struct GoogleError: Error, Equatable {
    /// The HTTP status.
    var code: Int
    /// A sentence for people.
    var message: String
    /// A name of `google.rpc.Code`.
    var status: String
    /// FCM's own word; nil where the refusal comes from what stands before FCM.
    var errorCode: String?
    /// `google.rpc.BadRequest`: nil is no such detail, empty is one without violations.
    var violations: [FieldViolation]?
    /// `google.rpc.ErrorInfo.reason`.
    var infoReason: String?
    /// `google.rpc.QuotaFailure.violations[0].subject`.
    var quotaSubject: String?

    /// Google's `status` for an HTTP status.
    static func status(of code: Int) -> String {
        switch code {
        case 400: "INVALID_ARGUMENT"
        case 401: "UNAUTHENTICATED"
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 429: "RESOURCE_EXHAUSTED"
        case 500: "INTERNAL"
        case 503: "UNAVAILABLE"
        default: "UNKNOWN"
        }
    }

    /// What the books file it under.
    var reason: String { errorCode ?? infoReason ?? status }

    /// The whole body.
    var json: JSON { json(.usual) }

    /// The whole body, with its details written so.
    func json(_ form: FCMDetails) -> JSON {
        var details = details(errorCodeName: form == .snakeCase ? "error_code" : "errorCode")
        let stranger: JSON = [
            "@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en", "message": "x",
        ]
        switch form {
        case .usual, .snakeCase: break
        case .missing: details = []
        case .reordered: details.reverse()
        case .extra:
            details = [stranger, ["@type": "type.example/unknown.Thing", "errorCode": 7]] + details + [stranger]
        case .odd: details = ["text", .null, ["@type": 7], ["errorCode": "NO_TYPE"]] + details
        }
        var error: [JSON.Member] = [
            .init("code", JSON(code)), .init("message", .string(message)), .init("status", .string(status)),
        ]
        if !details.isEmpty { error.append(.init("details", .array(details))) }
        return ["error": .object(error)]
    }

    private func details(errorCodeName: String) -> [JSON] {
        var details: [JSON] = []
        if let errorCode {
            details.append(
                .object([
                    .init("@type", "type.googleapis.com/google.firebase.fcm.v1.FcmError"),
                    .init(errorCodeName, .string(errorCode)),
                ]))
        }
        if let violations {
            var detail: [JSON.Member] = [.init("@type", "type.googleapis.com/google.rpc.BadRequest")]
            if !violations.isEmpty { detail.append(.init("fieldViolations", .array(violations.map(\.json)))) }
            details.append(.object(detail))
        }
        if let quotaSubject {
            details.append([
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [["subject": .string(quotaSubject), "description": .string(message)]],
            ])
        }
        if let infoReason {
            details.append([
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": .string(infoReason),
                "domain": "googleapis.com",
                "metadata": [
                    "service": "fcm.googleapis.com", "method": "google.firebase.fcm.v1.FcmService.SendMessage",
                ],
            ])
        }
        return details
    }
}

extension GoogleError {
    /// Violations found before FCM itself saw the message: no FcmError goes with them.
    static func badRequest(_ violations: [FieldViolation]) -> GoogleError {
        GoogleError(
            code: 400, message: violations.map(\.description).joined(separator: "\n"), status: "INVALID_ARGUMENT",
            violations: violations)
    }

    /// A violation that FCM itself found.
    static func invalidArgument(_ message: String, field: String?) -> GoogleError {
        GoogleError(
            code: 400, message: message, status: "INVALID_ARGUMENT", errorCode: "INVALID_ARGUMENT",
            violations: field.map { [FieldViolation(field: $0, description: message)] } ?? [])
    }

    /// 401, by what is wrong with the access token.
    static func unauthenticated(_ infoReason: String) -> GoogleError {
        GoogleError(
            code: 401,
            message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or "
                + "other valid authentication credential. See "
                + "https://developers.google.com/identity/sign-in/web/devconsole-project.",
            status: "UNAUTHENTICATED", infoReason: infoReason)
    }

    /// 403, for a project that is not the service account's.
    static func permissionDenied(project: some StringProtocol) -> GoogleError {
        GoogleError(
            code: 403,
            message: "Permission 'cloudmessaging.messages.create' denied on resource "
                + "'//cloudresourcemanager.googleapis.com/projects/\(project)' (or it may not exist).",
            status: "PERMISSION_DENIED", infoReason: "IAM_PERMISSION_DENIED")
    }

    /// 404, for a registration token that is finished.
    static let unregistered = GoogleError(
        code: 404, message: "Requested entity was not found.", status: "NOT_FOUND", errorCode: "UNREGISTERED")
}
