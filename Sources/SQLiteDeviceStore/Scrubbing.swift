import DeviceStore

/// What follows a takeover: the file still has free pages, and rests in pages that are in use, with tokens that the older
/// relay kept in clear and perhaps deleted long ago.
enum Scrubbing {
    /// Rewrites the file without them, where a takeover has left that to do. If the process dies in between, the next
    /// start finds it still to be done.
    static func finish(_ connection: SQLiteConnection, in directory: DataDirectory) throws(StoreError) {
        guard try connection.integer("SELECT 1 FROM relay WHERE name = 'scrub_due'") != nil else { return }
        // The pages that the dropped tables left are zeros by now (secure_delete); this writes them over the old ones.
        _ = try connection.truncateLog()
        // The copy that VACUUM makes holds sealed tokens only, so it may go to the disk, and need not fit into memory.
        // It goes where there is room for the database itself: many containers have no other place to write to.
        try connection.execute("PRAGMA temp_store=FILE")
        try connection.execute("PRAGMA temp_store_directory='\(directory.path.replacing("'", with: "''"))'")
        try connection.execute("VACUUM")
        try connection.execute("PRAGMA temp_store_directory=''")
        try connection.execute("PRAGMA temp_store=MEMORY")
        try connection.execute("DELETE FROM relay WHERE name = 'scrub_due'")
        _ = try connection.truncateLog()
    }
}
