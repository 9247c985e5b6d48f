/// What of a session's frames reaches the wire, and how it is changed. Pure.
///
/// The session believes that all of it left, and goes on in good order.
struct OutgoingFilter {
    /// Set once the connection no longer speaks.
    var silence: Silence?
    /// Set from the moment at which the connection is told to fall silent, while what it said before still leaves.
    var comingSilence: Silence?
    /// From the behaviour of the connection.
    private let sendsSettings: Bool
    private let acknowledgesSettings: Bool
    private let answersPings: Bool
    private let windowUpdates: ConnectionBehaviour.WindowUpdates
    /// Limits of streams that stand in SETTINGS in place of the session's own, in the order of the frames.
    private var announcedLimits: [UInt32] = []
    /// Streams that are over on the wire already.
    private var retired: Set<Int32> = []

    /// Nothing is held back that the behaviour does not hold back.
    init(_ behaviour: ConnectionBehaviour) {
        sendsSettings = behaviour.firstSettings != .never
        acknowledgesSettings = behaviour.acknowledgesSettings
        answersPings = behaviour.answersPings
        windowUpdates = behaviour.windowUpdates
    }

    /// The next SETTINGS frame with a limit of streams is to say this one.
    mutating func announce(limit: UInt32) { announcedLimits.append(limit) }

    /// The session's own RST_STREAM of this stream stays here.
    mutating func retire(_ stream: Int32) { retired.insert(stream) }

    /// Whether everything passes as it is.
    var isPassive: Bool {
        silence == nil && comingSilence == nil && sendsSettings && acknowledgesSettings && answersPings
            && windowUpdates == .usual
            && announcedLimits.isEmpty && retired.isEmpty
    }

    private static let headerLength = 9

    /// What leaves in place of these bytes, which are whole frames.
    mutating func pass(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var passed: [UInt8] = []
        var start = 0
        while start + Self.headerLength <= bytes.count {
            let length = unsafe Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
            let end = min(start + Self.headerLength + length, bytes.count)
            var frame = unsafe Array(bytes[start..<end])
            if passes(&frame) { passed += frame }
            start = end
        }
        return passed
    }

    private mutating func passes(_ frame: inout [UInt8]) -> Bool {
        let flags = frame[4]
        let stream = Int32(frame[5] & 0x7F) << 24 | Int32(frame[6]) << 16 | Int32(frame[7]) << 8 | Int32(frame[8])
        let isAnswer = flags & WireFrame.endStream != 0
        if silence == .halfDead || silence == .unread { return false }
        switch frame[3] {
        case 3: return silence == nil && retired.remove(stream) == nil
        case 4:
            guard !isAnswer else { return acknowledgesSettings }
            setLimit(in: &frame)
            return sendsSettings
        case 6: return !isAnswer || (answersPings && (comingSilence ?? .pingsOnly) == .pingsOnly)
        case 8: return windowUpdates == .usual || (windowUpdates == .streamsOnly && stream != 0)
        default: return silence == nil
        }
    }

    /// Puts the limit that is to be announced where the session wrote its own.
    private mutating func setLimit(in frame: inout [UInt8]) {
        var entry = Self.headerLength
        while entry + 6 <= frame.count {
            if frame[entry] == 0, frame[entry + 1] == 3, !announcedLimits.isEmpty {
                let limit = announcedLimits.removeFirst()
                for (index, shift) in [24, 16, 8, 0].enumerated() {
                    frame[entry + 2 + index] = UInt8(truncatingIfNeeded: limit >> shift)
                }
            }
            entry += 6
        }
    }
}
