import PushSimulator

#if canImport(Glibc)
    import Glibc
#endif

/// Runs `push-simulator phone …`: standard input in, standard output out, and no simulator is started.
enum PhoneProgram {
    /// Obeys the arguments that follow `phone`, and ends the process.
    static func run(_ arguments: some Sequence<String>) -> Never {
        do throws(PhoneCommand.Misuse) {
            let command = try PhoneCommand(arguments)
            let output = try command.run(on: command.readsInput ? readAll() : [])
            print(output, terminator: "")
            exit(0)
        } catch {
            let line = Array("push-simulator: \(error)\n".utf8)
            unsafe _ = write(2, line, line.count)
            exit(1)
        }
    }

    private static func readAll() -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = unsafe read(0, &buffer, buffer.count)
            guard count > 0 else { return all }
            all += buffer.prefix(count)
        }
    }
}
