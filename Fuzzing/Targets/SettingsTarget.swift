import Cryptography
import FoundationEssentials

@testable import gryt_push

/// What an operator may set, however wrong: it never traps, and no value is ever in a message.
enum SettingsTarget {
    /// Put into values, and looked for in messages.
    private static let mark = "Zq7xJ"

    static func take(_ bytes: [UInt8]) {
        var input = Input(bytes)
        let choice = Int(input.byte())
        let text = input.rest().text
        switch choice % 4 {
        case 0: checkFile(text)
        case 1: checkVariable(SettingName.allCases[choice / 4 % SettingName.allCases.count], text)
        case 2: checkAccount(text)
        default: checkForms(text)
        }
    }

    /// A whole `.env` file, once as it is, once with the mark at the front and the end of each value.
    private static func checkFile(_ text: String) {
        _ = messages(environment: [:], dotEnv: text)
        let marked = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.contains("=") ? line.replacing("=", with: "=\(mark)", maxReplacements: 1) + mark : String(line)
        }
        for message in messages(environment: [:], dotEnv: marked.joined(separator: "\n")) { checkHidden(message) }
        let file = DotEnv(text)
        expect(Set(file.duplicates).isSubset(of: file.values.keys), "what stands twice has a value")
    }

    private static func checkVariable(_ name: SettingName, _ value: String) {
        _ = messages(environment: [name.rawValue: value], dotEnv: nil)
        for value in [mark + value, value + mark] {
            for message in messages(environment: [name.rawValue: value], dotEnv: nil) { checkHidden(message) }
        }
    }

    private static func checkHidden(_ message: String) {
        expect(!message.contains(mark), "no value is in a message: \(message)")
    }

    private static func messages(environment: [String: String], dotEnv: String?) -> [String] {
        do throws(SettingsError) {
            let settings = try Settings(environment: environment, dotEnv: dotEnv, cores: 2) { _ throws(FileFault) in
                throw FileFault(errno: 2)
            }
            expect((0...65_535).contains(settings.port) && settings.workers >= 1, "settings are within their bounds")
            expect(settings.pushBudget >= .milliseconds(100), "a budget leaves time")
            return settings.warnings.map(\.description)
        } catch {
            expect(!error.faults.isEmpty, "a start that is stopped says why")
            return [error.description]
        }
    }

    private static func checkAccount(_ text: String) {
        do throws(ServiceAccountFile.Fault) {
            _ = try ServiceAccountFile(json: text)
        } catch {
            checkWord(error.reason)
        }
        do throws(ServiceAccountFile.Fault) {
            _ = try ServiceAccountFile(json: text.replacing("\":\"", with: "\":\"\(mark)"))
        } catch {
            checkHidden(error.reason)
        }
    }

    private static func checkForms(_ text: String) {
        let pem = PEMText.normalised(text)
        expect(pem.isEmpty || pem.hasPrefix("-----BEGIN ") && pem.hasSuffix("-----\n"), "PEM is blocks, or nothing")
        do throws(KeyError) { _ = try ES256SigningKey(pem: text) } catch { checkWord("\(error)") }
        do throws(KeyError) { _ = try RS256SigningKey(pem: text) } catch { checkWord("\(error)") }
        if let address = HTTPSAddress(text) {
            guard let again = HTTPSAddress(address.description) else { fail("an address is one when it is written") }
            expect(again.origin == address.origin && again.path == address.path, "an address stays what it is")
            expect((1...65_535).contains(address.origin.port), "a port is one")
            expect(address.path.utf8.first == UInt8(ascii: "/"), "a path begins with a slash")
            expect(address.description.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "an address is plain ASCII")
        }
        if let number = plainDecimal(text) { expect(number >= 0, "plain digits are no negative number") }
    }

    private static func checkWord(_ text: String) {
        let isPlain = text.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) || $0 == "…" }
        expect(text.utf8.count < 200 && isPlain, "a fault is a sentence of ours: \(text)")
    }
}
