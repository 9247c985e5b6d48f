import CNghttp2
import EventLoops

#if canImport(Glibc)
    import Glibc
#endif

/// Reading and writing.
extension ServerConnection {
    /// Plain bytes gathered before one call of TLS, and the most that may wait for the socket before the session is
    /// asked for more.
    private static let gatherSize = 65_536
    private static let outgoingLimit = 262_144

    // MARK: Reading

    /// The socket has bytes, or its peer has closed.
    func becameReadable() {
        guard !isOver else { return }
        let sawEnd = readSocket()
        if takesBytes { takePlainBytes() }
        guard !isOver else { return }
        if sawEnd {
            end()
        } else {
            flushAtTurnEnd()
        }
    }

    /// Whether anybody looks at what comes: a half-dead peer's kernel takes bytes all the same.
    private var takesBytes: Bool { filter.silence != .halfDead && !isLingering }

    /// Moves what the socket has into TLS; true when the peer has closed or the socket broke.
    private func readSocket() -> Bool {
        unsafe withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
            let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 {
                if takesBytes {
                    unsafe tls.take(UnsafeRawBufferPointer(start: buffer.baseAddress, count: count))
                }
                return false
            }
            return count == 0 || (errno != EAGAIN && errno != EINTR)
        }
    }

    private func takePlainBytes() {
        unsafe withUnsafeTemporaryAllocation(byteCount: 32_768, alignment: 16) { buffer in
            while !isOver, takesBytes, !hasSpokenHTTP11 {
                switch unsafe tls.read(into: buffer) {
                case .nothing: return
                case .ended, .failed:
                    // An alert that says why may wait to be sent.
                    flush()
                    end()
                    return
                case .bytes(let count):
                    guard checkProtocol() else { return }
                    if behaviour.tls.speaksHTTP11 {
                        speakHTTP11()
                        return
                    }
                    let bytes = unsafe buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    guard unsafe nghttp2_session_mem_recv(session, bytes, count) == count else {
                        flush()
                        end()
                        return
                    }
                }
            }
        }
    }

    /// Whether HTTP/2 may be spoken; ends the connection where not.
    private func checkProtocol() -> Bool {
        if isNegotiated { return true }
        guard tls.speaksHTTP2 || behaviour.tls == .noProtocol || behaviour.tls.speaksHTTP11 else {
            end()
            return false
        }
        isNegotiated = true
        return true
    }

    /// Answers whatever comes as a server would that knows no HTTP/2, and ends the connection.
    private func speakHTTP11() {
        hasSpokenHTTP11 = true
        endsWhenWritten = true
        saysGoodbye = true
        let body = "This is no HTTP/1.1.\n"
        let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: \(body.utf8.count)\r\n"
        _ = tls.write(Array((head + "Connection: close\r\n\r\n" + body).utf8))
        flushAtTurnEnd()
    }

    // MARK: Writing

    /// Writes what there is, as far as the socket takes it.
    func flush() {
        guard !isOver, !isLingering else { return }
        if endsNow {
            end()
            return
        }
        repeat {
            if tls.isReady, checkProtocol(), !isHeldBack, !behaviour.tls.speaksHTTP11 {
                runDeferred()
                gather()
            }
            guard !isOver else { return }
            tls.drain(into: &outgoing)
        } while writeSocket()
        guard !isOver else { return }
        let hasWritten = outgoing.isEmpty
        watcher?.watchWrites(!hasWritten)
        guard hasWritten else { return }
        finish()
    }

    /// Ends the connection when all has left that was to leave.
    private func finish() {
        let isFinished =
            unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
            && filter.silence == nil
        if (isFinished && !endsWhenWritten) || (endsWhenWritten && saysGoodbye) {
            tls.sayGoodbye()
            tls.drain(into: &outgoing)
            _ = writeSocket()
        }
        if endsWhenWritten {
            linger()
        } else if isFinished {
            end()
        }
    }

    private func runDeferred() {
        while !deferred.isEmpty, !isOver {
            let next = deferred.removeFirst()
            next()
        }
    }

    /// Takes frames out of the session and encrypts them.
    func gather() {
        while !isOver, outgoing.count - outgoingSent < Self.outgoingLimit {
            var plain: [UInt8] = []
            var hadAny = false
            while plain.count < Self.gatherSize {
                var data: UnsafePointer<UInt8>?
                let count = unsafe nghttp2_session_mem_send(session, &data)
                guard count > 0, let data = unsafe data else { break }
                hadAny = true
                let frames = unsafe UnsafeBufferPointer(start: data, count: count)
                if filter.isPassive {
                    unsafe plain.append(contentsOf: frames)
                } else {
                    unsafe plain.append(contentsOf: filter.pass(frames))
                }
            }
            guard hadAny else { return }
            encrypt(plain)
        }
    }

    /// Encrypts plain bytes and puts them in the line for the socket.
    func encrypt(_ plain: [UInt8]) {
        guard tls.write(plain) else {
            end()
            return
        }
        tls.drain(into: &outgoing)
    }

    /// Writes what waits; true when all of it left and the session may have more.
    private func writeSocket() -> Bool {
        guard !isOver else { return false }
        while outgoingSent < outgoing.count {
            let (count, code) = unsafe outgoing.withUnsafeBytes { bytes in
                let sent = unsafe Glibc.send(
                    descriptor, bytes.baseAddress?.advanced(by: outgoingSent), bytes.count - outgoingSent,
                    Int32(MSG_NOSIGNAL))
                return (sent, errno)
            }
            if count >= 0 {
                outgoingSent += count
            } else if code == EAGAIN {
                return false
            } else if code != EINTR {
                end()
                return false
            }
        }
        let hadAny = !outgoing.isEmpty
        outgoing.removeAll(keepingCapacity: true)
        outgoingSent = 0
        let hasMore = unsafe nghttp2_session_want_write(session) != 0
        return hadAny && hasMore && tls.isReady && !isHeldBack
    }
}
