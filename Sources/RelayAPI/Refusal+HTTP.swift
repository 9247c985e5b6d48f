package import HTTPServer

extension Refusal {
    /// What the HTTP room refused before there was a request to look at.
    package init(_ refusal: HTTPRefusal) {
        self =
            switch refusal {
            case .malformed: .badRequest
            case .requestTimeout: .requestTimeout
            case .bodyTooLarge: .bodyTooLarge
            case .targetTooLong: .addressTooLong
            case .expectationFailed: .expectationFailed
            case .headersTooLarge: .headersTooLarge
            case .unsupportedTransferCoding: .transferCodingNotImplemented
            case .unsupportedVersion: .versionNotSupported
            case .tooManyConnections: .overloaded
            case .shuttingDown: .shuttingDown
            }
    }
}
