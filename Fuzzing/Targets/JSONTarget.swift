import PushModel
import PushSimulator

@testable import RelayAPI

/// The relay's reader of bodies against the simulator's, which shares no line with it, and the two bodies against their
/// rules, stated once more.
enum JSONTarget {
    static func take(_ bytes: [UInt8]) {
        let other = JSON(bytes)
        checkMembers(bytes, other, ["platform", "token", "env", "opens"])
        checkMembers(bytes, other, ["kind", "preview"])
        checkBodies(bytes, other)
    }

    private static func checkMembers(_ bytes: [UInt8], _ other: JSON?, _ wanted: [String]) {
        let mine = JSONObject(bytes, wanted: wanted)
        // Two differences are meant: a member that stands twice, and the depth. Texts are compared as bytes, for Swift
        // takes two ways of writing one letter for equal.
        if let members = other?.members, isShallow(members), !hasDuplicates(members) {
            guard let mine else { fail("a JSON object is read") }
            for name in wanted { expect(mine[name] == value(other?[name]), "a member is what the text says") }
        } else if mine != nil {
            expect(other?.members != nil, "only a JSON object is read")
            expect(!hasDuplicates(other?.members ?? []), "no member stands twice")
        }
    }

    private static func checkBodies(_ bytes: [UInt8], _ json: JSON?) {
        if let push = try? PushBody.decode(bytes) {
            expect(json?["kind"]?.string == push.kind.rawValue, "a kind is the body's own")
            expect(json?["preview"]?.string == push.preview?.disclosed, "a preview is passed on as it came")
            if let preview = push.preview?.disclosed {
                expect((40...2048).contains(preview.utf8.count), "a preview has 40 to 2048 characters")
                expect(preview.utf8.allSatisfy(isBase64URL), "a preview is base64url")
            }
        }
        if let device = try? DeviceBody.decode(bytes) {
            expect(json?["platform"]?.string == device.token.platform.rawValue, "a platform is the body's own")
            let token = device.token.disclosed
            expect(json?["token"]?.string?.lowercased() == token.lowercased(), "a token is the body's own")
            switch device.token.platform {
            case .ios:
                expect((64...400).contains(token.utf8.count) && token.utf8.count % 2 == 0, "an iOS token's length")
                expect(token.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }, "an iOS token is lower-case hex")
                expect(!device.opensPreviews, "no iOS app opens previews itself")
            case .android:
                expect((32...4096).contains(token.utf8.count), "an Android token's length")
                expect(
                    token.utf8.allSatisfy { isBase64URL($0) || ".:".utf8.contains($0) }, "an Android token's letters")
            }
        }
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8.contains(byte)
    }

    private static func value(_ json: JSON?) -> JSONObject.Value? {
        switch json {
        case nil: nil
        case .string(let text): .string(text)
        case .bool(let bool): .bool(bool)
        case .null, .number, .array, .object: .other
        }
    }

    private static func hasDuplicates(_ members: [JSON.Member]) -> Bool {
        Set(members.map { Array($0.name.utf8) }).count < members.count
    }

    private static func isShallow(_ members: [JSON.Member]) -> Bool {
        members.allSatisfy { depth($0.value) < JSONObject.deepest }
    }

    private static func depth(_ json: JSON) -> Int {
        switch json {
        case .array(let elements): 1 + (elements.map(depth).max() ?? 0)
        case .object(let members): 1 + (members.map { depth($0.value) }.max() ?? 0)
        case .null, .bool, .number, .string: 0
        }
    }
}
