import PushModel

/// Is anything wrong? The first thing on the page.
struct PageFindings {
    /// The worst that there is. Raw values are classes of the stylesheet.
    enum State: String {
        case fine, watch, broken
    }

    /// What is wrong, the worst first.
    let problems: [Problem]
    private let isDraining: Bool

    /// Takes what the relay found. A check that has failed counts even where no problem speaks of it.
    init(_ snapshot: OperatorSnapshot) {
        var problems = snapshot.problems
        if !problems.contains(where: { $0.severity == .error }) {
            let faults = snapshot.checks.filter { !(snapshot.isDraining && $0.name == .serving) }.compactMap(\.fault)
            problems.insert(contentsOf: faults.map { Problem(.error, "Not ready: \($0)") }, at: 0)
        }
        self.problems = problems
        isDraining = snapshot.isDraining
    }

    /// The worst that there is.
    var state: State {
        switch problems.map(\.severity).min() {
        case .error: .broken
        case .warning: .watch
        case nil: isDraining ? .watch : .fine
        }
    }

    /// The answer, in a few words that fit the tab of a browser too.
    var headline: String {
        let errors = problems.count { $0.severity == .error }
        let warnings = problems.count - errors
        let watched = PageText.count(warnings, "thing to watch", "things to watch")
        switch (errors, warnings) {
        case (0, 0): return isDraining ? "The relay is shutting down" : "Nothing is wrong"
        case (0, _): return "Nothing is broken, \(watched)"
        case (_, 0): return PageText.count(errors, "thing is wrong", "things are wrong")
        default: return PageText.count(errors, "thing is wrong", "things are wrong") + ", \(watched)"
        }
    }

    /// A sentence below the answer.
    var comment: String {
        if isDraining { return "It takes no more requests, and ends when those under way are answered." }
        return switch state {
        case .fine: "The relay takes requests, its store answers, and no push service refuses its credentials."
        case .watch: "Pushes and registrations go through. It may not stay so."
        case .broken: "Pushes or registrations are being lost."
        }
    }
}

extension Problem.Severity {
    /// The word in front of a problem, and the class of the stylesheet.
    var word: String {
        switch self {
        case .error: "Broken"
        case .warning: "Watch"
        }
    }

    /// The same as a state of the page.
    var state: PageFindings.State {
        switch self {
        case .error: .broken
        case .warning: .watch
        }
    }
}
