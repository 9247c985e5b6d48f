import CSQLite
import Dispatch
import Glibc
import Synchronization

/// The disk under one directory, as SQLite sees it: it fails when it is told to, keeps a record of all that is written,
/// and can be held. Nothing is really synced, so that thousands of runs take seconds.
///
/// While it lives, SQLite reaches every file of the directory through it; files elsewhere it does not touch.
final class FaultyDisk: Sendable {
    /// What is counted, and may fail.
    enum Operation: Sendable, Equatable {
        case open, write, truncate, sync, delete
    }

    /// What a failing operation meets.
    enum Fault: Sendable, CaseIterable {
        /// No room. Half of a write is done, as a real disk does that is all but full.
        case full
        /// The disk does not answer.
        case broken
    }

    /// One thing that was done to a file.
    enum Event: Sendable {
        case create(String)
        case write(String, offset: Int, [UInt8])
        case truncate(String, to: Int)
        case sync(String)
        case delete(String, isSynced: Bool)
    }

    private struct State {
        var operations = 0
        var failFrom: Int?
        var failUntil = Int.max
        var fault = Fault.full
        var failOnly: Operation?
        var failures = 0
        var isRecording = false
        var events: [Event] = []
        var holding: (operation: Operation, name: String)?
    }

    private let directory: String
    private let state = Mutex(State())
    private let held = DispatchSemaphore(value: 0)
    private let released = DispatchSemaphore(value: 0)

    /// - Parameter directory: without a slash at its end.
    init(under directory: String) {
        self.directory = directory
        FaultyFileSystem.shared.add(self, under: directory + "/")
    }

    deinit { FaultyFileSystem.shared.remove(under: directory + "/") }

    // MARK: For the test

    /// Lets operations fail from the n-th from now on, counted from 1: that one alone, or all until ``heal()``;
    /// where one kind is given, only those of it.
    func fail(from number: Int, lasting: Bool, with fault: Fault, only operation: Operation? = nil) {
        state.withLock { state in
            state.failFrom = state.operations + number
            state.failUntil = lasting ? .max : state.operations + number
            state.fault = fault
            state.failOnly = operation
            state.failures = 0
        }
    }

    /// Lets nothing fail any more.
    func heal() { state.withLock { $0.failFrom = nil } }

    /// How many operations have failed since they were told to.
    var failures: Int { state.withLock { $0.failures } }

    /// Keeps what is done from now on.
    func record() { state.withLock { $0.isRecording = true } }

    /// What was done since.
    var events: [Event] { state.withLock { $0.events } }

    /// How much was done since.
    var eventCount: Int { state.withLock { $0.events.count } }

    /// Makes the next such operation on a file wait for ``release()``.
    func hold(_ operation: Operation, of name: String) { state.withLock { $0.holding = (operation, name) } }

    /// Waits until one is held. Blocks.
    func waitUntilHeld() { held.wait() }

    /// Lets the held one, and all later ones, go on.
    func release() {
        state.withLock { $0.holding = nil }
        released.signal()
    }

    // MARK: For the file system

    /// Counts an operation; gives what it meets, or nil where it may be done.
    fileprivate func meet(_ operation: Operation) -> Fault? {
        state.withLock { state in
            state.operations += 1
            guard let from = state.failFrom, (from...state.failUntil).contains(state.operations) else { return nil }
            guard state.failOnly == nil || state.failOnly == operation else { return nil }
            state.failures += 1
            return state.fault
        }
    }

    fileprivate func note(_ event: @autoclosure () -> Event) {
        state.withLock { state in
            if state.isRecording { state.events.append(event()) }
        }
    }

    fileprivate func holdIfTold(_ operation: Operation, _ name: String) {
        let isHeld = state.withLock { state in
            guard let holding = state.holding, holding == (operation, name) else { return false }
            state.holding = nil
            return true
        }
        guard isHeld else { return }
        held.signal()
        released.wait()
    }
}

extension FaultyDisk.Fault {
    /// SQLite's code for an operation that failed so; sets the system's.
    fileprivate func code(_ operation: FaultyDisk.Operation) -> Int32 {
        switch self {
        case .full: errno = ENOSPC
        case .broken: errno = EIO
        }
        return switch (operation, self) {
        case (.write, .full): SQLITE_FULL
        case (.write, .broken): SQLITE_IOERR | 3 << 8
        case (.open, _): SQLITE_CANTOPEN
        case (.sync, _): SQLITE_IOERR | 4 << 8
        case (.truncate, _): SQLITE_IOERR | 6 << 8
        case (.delete, _): SQLITE_IOERR | 10 << 8
        }
    }
}

/// SQLite's own file system with the faulty disks before it; the process's default once there is one.
@safe private final class FaultyFileSystem: Sendable {
    static let shared = FaultyFileSystem()

    private struct Entry {
        weak var disk: FaultyDisk?
    }

    private let disks = Mutex<[String: Entry]>([:])
    /// SQLite's own. Lives as long as the process.
    nonisolated(unsafe) let real: UnsafeMutablePointer<sqlite3_vfs>
    /// What our files answer to. Lives as long as the process.
    nonisolated(unsafe) let methods: UnsafeMutablePointer<sqlite3_io_methods>

    private init() {
        guard let found = unsafe sqlite3_vfs_find(nil) else { preconditionFailure("SQLite has no file system") }
        unsafe real = found
        unsafe methods = .allocate(capacity: 1)
        unsafe methods.initialize(to: faultyMethods())
        let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        var vfs = unsafe found.pointee
        unsafe vfs.pNext = nil
        unsafe vfs.zName = UnsafePointer(strdup("faulty"))
        unsafe vfs.szOsFile += Int32(FaultyFile.size)
        unsafe vfs.xOpen = faultyOpen
        unsafe vfs.xDelete = faultyDelete
        unsafe own.initialize(to: vfs)
        precondition(unsafe sqlite3_vfs_register(own, 1) == SQLITE_OK, "the file system is not taken")
    }

    func add(_ disk: FaultyDisk, under directory: String) { disks.withLock { $0[directory] = Entry(disk: disk) } }

    func remove(under directory: String) { disks.withLock { $0[directory] = nil } }

    /// The disk that a file is on, and the file's name there; nil for every other file.
    func disk(of path: UnsafePointer<CChar>?) -> (FaultyDisk, String)? {
        guard let path = unsafe path else { return nil }
        let whole = unsafe String(cString: path)
        guard let slash = whole.lastIndex(of: "/") else { return nil }
        let name = String(whole[slash...].dropFirst())
        return disks.withLock { disks in disks[String(whole[...slash])]?.disk }.map { ($0, name) }
    }
}

/// One open file on a faulty disk: this, and behind it in the same memory the real one.
@safe private struct FaultyFile {
    static let size = 64

    /// Which disk, and under which name.
    final class Place {
        let disk: FaultyDisk
        let name: String
        init(_ disk: FaultyDisk, _ name: String) {
            self.disk = disk
            self.name = name
        }
    }

    var base: sqlite3_file
    /// Retained from the opening to the closing.
    var place: Unmanaged<Place>
}

private typealias File = UnsafeMutablePointer<sqlite3_file>

private func real(_ file: File?) -> File {
    guard let file = unsafe file else { preconditionFailure("no file") }
    return unsafe UnsafeMutableRawPointer(file).advanced(by: FaultyFile.size).assumingMemoryBound(to: sqlite3_file.self)
}

private func realMethods(_ file: File?) -> sqlite3_io_methods { unsafe real(file).pointee.pMethods.pointee }

private func place(_ file: File?) -> FaultyFile.Place {
    guard let file = unsafe file else { preconditionFailure("no file") }
    return unsafe UnsafeMutableRawPointer(file).assumingMemoryBound(to: FaultyFile.self).pointee.place
        .takeUnretainedValue()
}

private func faultyMethods() -> sqlite3_io_methods {
    var methods = sqlite3_io_methods()
    methods.iVersion = 3
    unsafe methods.xClose = faultyClose
    unsafe methods.xRead = { unsafe realMethods($0).xRead(real($0), $1, $2, $3) }
    unsafe methods.xWrite = faultyWrite
    unsafe methods.xTruncate = faultyTruncate
    unsafe methods.xSync = faultySync
    unsafe methods.xFileSize = { unsafe realMethods($0).xFileSize(real($0), $1) }
    unsafe methods.xLock = { unsafe realMethods($0).xLock(real($0), $1) }
    unsafe methods.xUnlock = { unsafe realMethods($0).xUnlock(real($0), $1) }
    unsafe methods.xCheckReservedLock = { unsafe realMethods($0).xCheckReservedLock(real($0), $1) }
    unsafe methods.xFileControl = { unsafe realMethods($0).xFileControl(real($0), $1, $2) }
    unsafe methods.xSectorSize = { unsafe realMethods($0).xSectorSize(real($0)) }
    unsafe methods.xDeviceCharacteristics = { unsafe realMethods($0).xDeviceCharacteristics(real($0)) }
    unsafe methods.xShmMap = { unsafe realMethods($0).xShmMap(real($0), $1, $2, $3, $4) }
    unsafe methods.xShmLock = { unsafe realMethods($0).xShmLock(real($0), $1, $2, $3) }
    unsafe methods.xShmBarrier = { unsafe realMethods($0).xShmBarrier(real($0)) }
    unsafe methods.xShmUnmap = { unsafe realMethods($0).xShmUnmap(real($0), $1) }
    unsafe methods.xFetch = { unsafe realMethods($0).xFetch(real($0), $1, $2, $3) }
    unsafe methods.xUnfetch = { unsafe realMethods($0).xUnfetch(real($0), $1, $2) }
    return methods
}

private func faultyOpen(
    _: UnsafeMutablePointer<sqlite3_vfs>?, _ path: UnsafePointer<CChar>?, _ file: File?, _ flags: Int32,
    _ given: UnsafeMutablePointer<Int32>?
) -> Int32 {
    let system = FaultyFileSystem.shared
    guard let file = unsafe file else { preconditionFailure("no file") }
    guard let path = unsafe path, let (disk, name) = unsafe system.disk(of: path) else {
        return unsafe system.real.pointee.xOpen(system.real, path, file, flags, given)
    }
    unsafe file.pointee.pMethods = nil
    if let fault = disk.meet(.open) { return fault.code(.open) }
    let isNew = unsafe access(path, F_OK) != 0
    let code = unsafe system.real.pointee.xOpen(system.real, path, real(file), flags, given)
    guard code == SQLITE_OK else { return code }
    if isNew { disk.note(.create(name)) }
    unsafe UnsafeMutableRawPointer(file).initializeMemory(
        as: FaultyFile.self,
        to: FaultyFile(
            base: sqlite3_file(pMethods: system.methods), place: .passRetained(FaultyFile.Place(disk, name))))
    return SQLITE_OK
}

private func faultyDelete(
    _: UnsafeMutablePointer<sqlite3_vfs>?, _ path: UnsafePointer<CChar>?, _ isSynced: Int32
) -> Int32 {
    let system = FaultyFileSystem.shared
    let found = unsafe system.disk(of: path)
    if let fault = found?.0.meet(.delete) { return fault.code(.delete) }
    let code = unsafe system.real.pointee.xDelete(system.real, path, isSynced)
    if let (disk, name) = found, code == SQLITE_OK { disk.note(.delete(name, isSynced: isSynced != 0)) }
    return code
}

private func faultyClose(_ file: File?) -> Int32 {
    let code = unsafe realMethods(file).xClose(real(file))
    guard let file = unsafe file else { preconditionFailure("no file") }
    unsafe UnsafeMutableRawPointer(file).assumingMemoryBound(to: FaultyFile.self).pointee.place.release()
    return code
}

private func faultyWrite(_ file: File?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64) -> Int32 {
    let place = unsafe place(file)
    let fault = place.disk.meet(.write)
    if fault == .broken { return FaultyDisk.Fault.broken.code(.write) }
    let done = fault == .full ? count / 2 : count
    let code = unsafe realMethods(file).xWrite(real(file), bytes, done, offset)
    guard code == SQLITE_OK else { return code }
    let written = unsafe UnsafeRawBufferPointer(start: bytes, count: Int(done))
    place.disk.note(.write(place.name, offset: Int(offset), unsafe Array(written)))
    return fault?.code(.write) ?? SQLITE_OK
}

private func faultyTruncate(_ file: File?, _ size: Int64) -> Int32 {
    let place = unsafe place(file)
    place.disk.holdIfTold(.truncate, place.name)
    if let fault = place.disk.meet(.truncate) { return fault.code(.truncate) }
    let code = unsafe realMethods(file).xTruncate(real(file), size)
    if code == SQLITE_OK { place.disk.note(.truncate(place.name, to: Int(size))) }
    return code
}

private func faultySync(_ file: File?, _: Int32) -> Int32 {
    let place = unsafe place(file)
    place.disk.holdIfTold(.sync, place.name)
    if let fault = place.disk.meet(.sync) { return fault.code(.sync) }
    place.disk.note(.sync(place.name))
    return SQLITE_OK
}
