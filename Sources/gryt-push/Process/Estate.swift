import Glibc

/// What one relay leaves to the next, all of it descriptors: the lock on the data directory, the door at which the next one
/// after that knocks, and the sockets that listen. A socket's backlog belongs to the socket, so not one connection is lost
/// when it changes hands.
struct Estate: Sendable {
    /// The lock; nil where the system does not lock.
    var lock: OwnedDescriptor?
    /// Where a successor knocks; nil where none could be made.
    var door: OwnedDescriptor?
    /// Listening sockets of the public port, one or more.
    var listeners: [OwnedDescriptor] = []
    /// Listening sockets of the operator's port.
    var operatorListeners: [OwnedDescriptor] = []

    /// The door's file in the data directory.
    static let doorName = "relay.sock"
    /// How many may wait at the door.
    static let doorBacklog: Int32 = 8

    /// What is said at the door, each in a message of its own. The number is that of the way it is said.
    enum Word: String {
        case takeOver = "gryt-push 1 take over"
        case lock
        case door
        case listeners = "public"
        case operatorListeners = "operator"
        case all
        case serving
    }

    /// Its parts as they are handed over.
    private var parts: [(Word, [OwnedDescriptor])] {
        [
            (.lock, lock.map { [$0] } ?? []), (.door, door.map { [$0] } ?? []), (.listeners, listeners),
            (.operatorListeners, operatorListeners),
        ]
    }

    /// Hands it over.
    func send(to socket: Int32) -> Bool {
        for (word, descriptors) in parts {
            var rest = descriptors[...]
            while !rest.isEmpty {
                let some = rest.prefix(LocalSocket.mostDescriptors)
                rest = rest.dropFirst(some.count)
                guard LocalSocket.send(word.rawValue, some.map(\.number), to: socket) else { return false }
            }
        }
        return LocalSocket.send(Word.all.rawValue, to: socket)
    }

    /// Takes one part of it. Returns false for what is no part.
    mutating func take(_ word: Word, _ descriptors: [OwnedDescriptor]) -> Bool {
        switch word {
        case .lock: lock = descriptors.first
        case .door: door = descriptors.first
        case .listeners: listeners += descriptors
        case .operatorListeners: operatorListeners += descriptors
        case .takeOver, .all, .serving: return false
        }
        return true
    }

    /// Makes a door in the data directory, with the lock held: whatever stands there is of a relay that is gone.
    ///
    /// - Returns: what the system said where it could not be made.
    static func makeDoor(in directory: String) -> Result<OwnedDescriptor, FileFault> {
        let number = LocalSocket.make(.conversation)
        guard number >= 0 else { return .failure(FileFault(errno: errno)) }
        let door = OwnedDescriptor(number)
        let fault = withDoorName(in: directory) { name in
            unsafe _ = unlink(name)
            let fault = LocalSocket.name(number, name, to: .bind)
            guard fault == 0 else { return fault }
            // Who may come in is asked at the door as well; this keeps others from even knocking.
            return unsafe chmod(name, 0o600) == 0 ? 0 : errno
        }
        guard fault == 0 else { return .failure(FileFault(errno: fault)) }
        guard listen(number, doorBacklog) == 0 else { return .failure(FileFault(errno: errno)) }
        return .success(door)
    }

    /// Calls `body` with a name of the door that is short enough for a socket, whose names end after 107 bytes.
    static func withDoorName(in directory: String, _ body: (String) -> Int32) -> Int32 {
        let directory = directory.isEmpty ? "." : directory
        let name = directory + "/" + doorName
        guard name.utf8.count > 100 else { return body(name) }
        let folder = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return errno }
        defer { close(folder) }
        return body("/proc/self/fd/\(folder)/" + doorName)
    }
}
