import PushModel
import Testing

@testable import RelayAPI

@Suite(.timeLimit(.minutes(1)))
struct DeviceBodyTests {
    static let hex = String(repeating: "aB", count: 32)
    static let text = String(repeating: "x:Y_z-.9", count: 16)

    private func refusal(_ body: String) -> Refusal? {
        do throws(Refusal) {
            _ = try DeviceBody.decode(Array(body.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test func `an iPhone is taken, its token in lower case`() throws {
        let body = try DeviceBody.decode(Array(#"{"platform":"ios","token":"\#(Self.hex)"}"#.utf8))
        #expect(body.token.platform == .ios)
        #expect(body.token.disclosed == Self.hex.lowercased())
        #expect(body.environment == .production)
        #expect(!body.opensPreviews)
    }

    @Test func `an Android phone is taken, its token untouched`() throws {
        let body = try DeviceBody.decode(
            Array(#"{"platform":"android","token":"\#(Self.text)","opens":true,"other":[1]}"#.utf8))
        #expect(body.token.disclosed == Self.text)
        #expect(body.opensPreviews)
    }

    @Test func `an iPhone in the sandbox says so, and what it says of opening does not matter`() throws {
        let body = try DeviceBody.decode(
            Array(#"{"platform":"ios","token":"\#(Self.hex)","env":"sandbox","opens":5}"#.utf8))
        #expect(body.environment == .sandbox)
        #expect(!body.opensPreviews)
    }

    @Test func `the first fault in the contract's order is the answer`() {
        #expect(refusal(#"["platform"]"#) == .badJSON)
        #expect(refusal(#"{}"#) == .badPlatform)
        #expect(refusal(#"{"platform":"IOS","token":5,"env":5}"#) == .badPlatform)
        #expect(refusal(#"{"platform":null}"#) == .badPlatform)
        #expect(refusal(#"{"platform":"ios","env":5}"#) == .badToken)
        #expect(refusal(#"{"platform":"ios","token":5,"env":5}"#) == .badToken)
        #expect(refusal(#"{"platform":"ios","token":"\#(Self.text)"}"#) == .badToken)
        #expect(refusal(#"{"platform":"ios","token":"\#(Self.hex)","env":null}"#) == .badEnvironment)
        #expect(refusal(#"{"platform":"ios","token":"\#(Self.hex)","env":"Sandbox"}"#) == .badEnvironment)
        #expect(refusal(#"{"platform":"android","token":"\#(Self.text)","env":"test"}"#) == .badEnvironment)
        #expect(refusal(#"{"platform":"android","token":"\#(Self.text)","opens":"true"}"#) == .badJSON)
        #expect(refusal(#"{"platform":"android","token":"\#(Self.text)","opens":null}"#) == .badJSON)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct PushBodyTests {
    private func refusal(_ body: String) -> Refusal? {
        do throws(Refusal) {
            _ = try PushBody.decode(Array(body.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: Kind.allCases)
    func `each kind is taken, with and without a preview`(_ kind: Kind) throws {
        let bare = try PushBody.decode(Array(#"{"kind":"\#(kind.rawValue)"}"#.utf8))
        #expect(bare.kind == kind && bare.preview == nil)
        let preview = String(repeating: "A", count: 40)
        let full = try PushBody.decode(Array(#"{"preview":"\#(preview)","kind":"\#(kind.rawValue)"}"#.utf8))
        #expect(full.preview?.disclosed == preview)
    }

    @Test func `the first fault in the contract's order is the answer`() {
        #expect(refusal("") == .badJSON)
        #expect(refusal("{}") == .badKind)
        #expect(refusal(#"{"kind":"call","preview":5}"#) == .badKind)
        #expect(refusal(#"{"kind":null}"#) == .badKind)
        for preview in ["5", "null", #""""#, #""short""#, "\"\(String(repeating: "A", count: 39))\""] {
            #expect(refusal(#"{"kind":"dm","preview":\#(preview)}"#) == .badPreview, "\(preview)")
        }
        let long = String(repeating: "A", count: 2049)
        #expect(refusal(#"{"kind":"dm","preview":"\#(long)"}"#) == .badPreview)
        let padded = String(repeating: "A", count: 43) + "="
        #expect(refusal(#"{"kind":"dm","preview":"\#(padded)"}"#) == .badPreview)
    }
}
