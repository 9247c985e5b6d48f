/// What waits to be done in a turn of a loop: jobs, and those who want to act once the jobs have run. Loop thread.
///
/// What is taken out to be run comes back when it has run, so that its memory serves the next turn.
struct TurnWork {
    private var jobs: [UnownedJob] = []
    private var spareJobs: [UnownedJob] = []
    private var ends: [any TurnEnd] = []
    private var spareEnds: [any TurnEnd] = []

    /// What is left.
    enum Rest {
        case nothing
        case jobs
        case ends
    }

    /// What is to be done next; the ends wait until there are no more jobs.
    var rest: Rest { !jobs.isEmpty ? .jobs : ends.isEmpty ? .nothing : .ends }

    /// Adds a job.
    mutating func add(_ job: UnownedJob) { jobs.append(job) }

    /// Adds jobs, the earliest first.
    mutating func add(_ more: [UnownedJob]) { jobs.append(contentsOf: more) }

    /// Adds one that wants to act when the jobs have run.
    mutating func add(_ end: any TurnEnd) { ends.append(end) }

    /// Takes all jobs.
    mutating func takeJobs() -> [UnownedJob] {
        let taken = jobs
        jobs = spareJobs
        spareJobs = []
        return taken
    }

    /// Takes the emptied list of jobs back that have run. Says whether somebody wants to act before more of them run.
    mutating func finish(_ done: consuming [UnownedJob]) -> Rest {
        spareJobs = done
        return ends.isEmpty ? rest : .ends
    }

    /// Takes all that want to act.
    mutating func takeEnds() -> [any TurnEnd] {
        let taken = ends
        ends = spareEnds
        spareEnds = []
        return taken
    }

    /// Takes the emptied list of those back that have acted. Emptied by the caller: letting go of one may be its end, and that
    /// may ask for work to be done.
    mutating func finish(_ done: consuming [any TurnEnd]) -> Rest {
        spareEnds = done
        return rest
    }
}
