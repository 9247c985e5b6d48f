import Cryptography
import FoundationEssentials

/// A Google service account, as far as FCM needs it. Made from the JSON file that Google's console hands out.
struct ServiceAccountFile: Sendable {
    /// Names the project in FCM's path: lower-case letters, digits, `-`, `.` and `:`.
    let projectID: String
    /// Who signs: `iss` of the assertion.
    let clientEmail: String
    /// Which key signs: `kid` of the assertion.
    let keyID: String
    /// Signs the assertion.
    let key: RS256SigningKey
    /// Where access tokens are asked for, and `aud` of the assertion.
    let tokenURI: HTTPSAddress

    /// Where Google's own accounts ask for access tokens.
    static let defaultTokenURI = "https://oauth2.googleapis.com/token"

    /// The members of the file that matter. All optional, so that a missing one can be named.
    private struct File: Decodable {
        var type: String?
        var project_id: String?
        var client_email: String?
        var private_key_id: String?
        var private_key: String?
        var token_uri: String?
    }

    /// Why a text is no service account, in words that never show what it holds.
    struct Fault: Error {
        var reason: String
    }

    /// Reads the file's text.
    init(json: String) throws(Fault) {
        let file = try Self.decode(json)
        guard file.type == nil || file.type == "service_account" else {
            throw Fault(reason: "its type is not service_account; another kind of credential was downloaded")
        }
        projectID = try Self.member("project_id", file.project_id) { text in
            (1...100).contains(text.utf8.count) && text.utf8.first?.isLetterOrDigit == true
                && text.utf8.allSatisfy { $0.isLetterOrDigit || "-.:".utf8.contains($0) } && text == text.lowercased()
        }
        clientEmail = try Self.member("client_email", file.client_email) { text in
            (3...320).contains(text.utf8.count) && text.utf8.count { $0 == UInt8(ascii: "@") } == 1
                && text.utf8.allSatisfy { $0.isLetterOrDigit || "@-._%+".utf8.contains($0) }
        }
        keyID = try Self.member("private_key_id", file.private_key_id) { text in
            (1...128).contains(text.utf8.count)
                && text.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
        }
        let pem = try Self.member("private_key", file.private_key) { !$0.isEmpty }
        do { key = try RS256SigningKey(pem: pem) } catch {
            throw Fault(reason: "its private_key is \(error)")
        }
        guard let address = HTTPSAddress(file.token_uri ?? Self.defaultTokenURI) else {
            throw Fault(reason: "its token_uri is not an https URL")
        }
        tokenURI = address
    }

    private static func member(
        _ name: String, _ value: String?, where isRight: (String) -> Bool
    ) throws(Fault) -> String {
        guard let value else { throw Fault(reason: "its \(name) is missing") }
        guard isRight(value) else { throw Fault(reason: "its \(name) is not of the form that Google gives it") }
        return value
    }

    private static func decode(_ json: String) throws(Fault) -> File {
        do {
            return try JSONDecoder().decode(File.self, from: Data(withLineEndsEscaped(json).utf8))
        } catch let error as DecodingError {
            if case .typeMismatch(_, let context) = error, let member = context.codingPath.first {
                throw Fault(reason: "its \(member.stringValue) is not a string")
            }
            throw Fault(reason: "not a JSON object")
        } catch {
            throw Fault(reason: "not a JSON object")
        }
    }

    /// Line ends inside of strings as `\n`. JSON forbids them there, but a shell or a `.env` file that has put in line
    /// ends for the key's `\n` leaves the text like that.
    private static func withLineEndsEscaped(_ json: String) -> String {
        var result = String.UnicodeScalarView()
        var isInString = false
        var isEscaped = false
        for scalar in json.unicodeScalars {
            if isInString, scalar == "\n" {
                result.append(contentsOf: "\\n".unicodeScalars)
            } else if !isInString || scalar != "\r" {
                result.append(scalar)
            }
            if scalar == "\"", !isEscaped { isInString.toggle() }
            isEscaped = isInString && scalar == "\\" && !isEscaped
        }
        return String(result)
    }
}
