extension Int {
    /// Adds a count, and stays at the largest number there is: a broken row must not end the program.
    package mutating func addSaturating(_ count: Int) {
        let (sum, overflows) = addingReportingOverflow(count)
        self = overflows ? .max : sum
    }
}
