package import EventLoops
package import SQLiteDeviceStore

// The store knows nothing of event loops, nor they of it.

extension EventLoop: TurningExecutor {
    package func callAtTurnEnd(_ reader: DeviceReader) { atTurnEnd(reader) }
}

extension DeviceReader: TurnEnd {}
