import HTTPServer

/// Judges what the machine lets the relay have: open files, and its ports.
enum MachineExamination {
    /// Judges the limit of open files, as far as the process may raise it.
    static func judge(openFiles: Int, maximumConnections: Int, workers: Int, hasOperatorPort: Bool) -> Judgement {
        let raise =
            "raise the limit of whoever starts the relay (ulimit -n, LimitNOFILE=); a shell's limit is not that of a "
            + "service"
        let fewest = DescriptorPlan.fewest(loops: workers)
        guard openFiles >= fewest else {
            return .wrong(
                "\(openFiles) files may be open, and with WORKERS=\(workers) it takes \(fewest) to start", raise)
        }
        let possible = DescriptorPlan(
            openFiles: openFiles, loops: workers, servers: workers, hasOperatorPort: hasOperatorPort
        ).connections
        let seen = "\(openFiles) files may be open, enough for \(possible) connections"
        guard possible < maximumConnections else { return .ok(seen) }
        return .wrong(
            "\(seen), and MAX_CONNECTIONS is \(maximumConnections): those beyond get 503",
            raise + ", or lower MAX_CONNECTIONS")
    }

    /// What there is to know about a port.
    enum PortReading: Equatable {
        /// It can be had.
        case free
        /// Somebody has it, and answers so.
        case taken(RelayAnswer)
        /// Somebody has it, and does not answer.
        case silent(LoopbackRequest.Fault)
        /// It cannot be had for another reason.
        case refused(ListenError)
    }

    /// Looks at a port, and asks who has it where it is taken.
    static func read(
        host: String, port: Int, path: String, _ interpret: (LoopbackRequest.Answer) -> RelayAnswer
    ) -> PortReading {
        do throws(ListenError) {
            try ListeningSocket.probe(host: host, port: UInt16(port))
            return .free
        } catch .addressInUse {
            return switch LoopbackRequest.get(path, ofListener: host, port: port, within: .seconds(2)) {
            case .success(let answer): .taken(interpret(answer))
            case .failure(let fault): .silent(fault)
            }
        } catch {
            return .refused(error)
        }
    }

    /// Judges a port. `names` are the settings that name it.
    static func judge(_ reading: PortReading, host: String, port: Int, names: String) -> Judgement {
        let place = "\(host) port \(port)"
        let another = "end it, or choose another (\(names))"
        return switch reading {
        case .free: .ok("\(place) is free")
        case .taken(.well(let version)):
            .ok("a relay serves \(place) already" + (version.map { " (version \($0))" } ?? ""))
        case .taken(.unwell(let why)):
            .warning("a relay serves \(place) already, and says: \(why)", "see its log, and gryt-push health --ready")
        case .taken(.stranger(let status)):
            .wrong("another program has \(place) (it answers with status \(status))", another)
        case .silent(.notConnected(let errno)):
            .wrong(
                "another program has \(place), or a part of it, and takes no connection: \(SystemFile.reason(errno))",
                another)
        case .silent(let fault): .wrong("another program has \(place): \(fault)", another)
        case .refused(.notPermitted):
            .wrong(
                "\(place) may not be used without a privilege",
                "choose a port from 1024 on, or grant CAP_NET_BIND_SERVICE")
        case .refused(.addressNotHere):
            .wrong("\(host) is no address of this machine", "set \(names) to one of its own, or to 0.0.0.0")
        case .refused(let error): .wrong("\(place): \(error)", another)
        }
    }
}
