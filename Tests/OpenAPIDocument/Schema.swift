package import PushSimulator

extension OpenAPIDocument {
    /// What of a value is otherwise than a schema says (JSON Schema 2020-12, as far as the document uses it).
    ///
    /// Stricter than the standard: a member that an object's schema does not list is a fault, and so is a word of the
    /// schema that is not understood here.
    package func faults(of value: JSON, under schema: JSON, at place: String) -> [String] {
        let schema = resolved(schema)
        guard let words = schema.members else { return ["\(place): there is no schema"] }
        return words.flatMap { word in faults(of: value, by: word, in: schema, at: place) }
    }

    private func faults(of value: JSON, by word: JSON.Member, in schema: JSON, at place: String) -> [String] {
        switch word.name {
        case "description", "default", "discriminator":
            return []
        case "type":
            return isOfType(word.value.string ?? "", value) ? [] : ["\(place): is no \(word.value.text)"]
        case "const":
            return value == word.value ? [] : ["\(place): is not \(word.value.text)"]
        case "enum":
            guard case .array(let choices) = word.value, choices.contains(value) else {
                return ["\(place): is none of \(word.value.text)"]
            }
            return []
        case "required":
            return strings(word.value).filter { value[$0] == nil }.map { "\(place): has no \($0)" }
        case "properties":
            return (value.members ?? []).flatMap { member in
                guard let schema = word.value[member.name] else { return ["\(place): \(member.name) is not listed"] }
                return faults(of: member.value, under: schema, at: "\(place).\(member.name)")
            }
        case "oneOf":
            guard case .array(let choices) = word.value else { return ["\(place): oneOf of nothing"] }
            let fitting = choices.filter { faults(of: value, under: $0, at: place).isEmpty }
            return fitting.count == 1 ? [] : ["\(place): is \(fitting.count) of the \(choices.count) it may be"]
        case "pattern":
            guard let text = value.string, let pattern = try? Regex(word.value.string ?? "") else {
                return ["\(place): is no text, or has no pattern"]
            }
            return text.wholeMatch(of: pattern) == nil ? ["\(place): does not match"] : []
        case "minimum":
            guard let number = value.integer, let least = word.value.integer else { return ["\(place): is no number"] }
            return number >= least ? [] : ["\(place): is less than \(least)"]
        default:
            return ["\(place): \(word.name) is not understood"]
        }
    }

    private func isOfType(_ type: String, _ value: JSON) -> Bool {
        switch (type, value) {
        case ("object", .object), ("array", .array), ("string", .string), ("boolean", .bool): true
        case ("integer", .number): value.integer != nil
        default: false
        }
    }
}
