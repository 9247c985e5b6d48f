import PushSimulator
import Testing

/// Every answer with a body has these, whatever it says; and every wait stands in it twice.
func expectForm(of answer: Answer) {
    #expect(answer["content-type"] == "application/json; charset=utf-8")
    #expect(answer["cache-control"] == "no-store")
    #expect(answer["x-content-type-options"] == "nosniff")
    #expect(answer["content-length"] == String(answer.body.utf8.count))
    #expect(answer.json?.members != nil)
    #expect(answer["retry-after"] == answer.retryAfter.map { String($0) })
    #expect((answer.error == nil) == (answer.status < 300))
    #expect((answer["allow"] != nil) == (answer.status == 405))
    #expect((answer["www-authenticate"] ?? "Bearer").hasPrefix("Bearer"))
}
