import PushSimulator
import Testing

/// What `docs/backup.md` says.
@Suite(.timeLimit(.minutes(2)))
struct BackupTests {
    @Test(arguments: [".backup", "VACUUM INTO"])
    func `a copy made while the relay takes registrations is whole, and with its secret it is all that is needed`(
        how: String
    ) async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            let phones = (0..<10).map { SimulatedPhone($0.isMultiple(of: 2) ? .ios : .android) }
            var capabilities: [String] = []
            for phone in phones { capabilities.append(try await relay.register(phone)) }
            let removed = try await relay.register(SimulatedPhone(.ios))
            #expect(try await relay.remove(removed).status == 204)
            shell("mkdir -p '\(directory.path)/restored/data'")
            let copy = "\(directory.path)/restored/data/push.db"
            let command = how == ".backup" ? ".backup '\(copy)'" : "VACUUM INTO '\(copy)'"
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for _ in 0..<50 { #expect((try? await relay.register(SimulatedPhone(.android))) != nil) }
                }
                group.addTask { directory.sqlite(command, in: "data/push.db") }
            }
            // Nothing but the two files.
            shell("cp -p '\(directory.path)/data/secret.key' '\(directory.path)/restored/data/'")
            await relay.end()

            let settings = stage.settings.merging(["DATA_DIR": "\(directory.path)/restored/data"]) { $1 }
            let restored = try await RelayUnderTest(settings, in: directory)
            for (phone, capability) in zip(phones, capabilities) {
                #expect(try await restored.push(capability).status == 202)
                #expect(stage.notifications(for: phone).count == 1)
            }
            #expect(try await restored.push(removed).status == 404)
            stage.simulator.declareDead(phones[0].token, platform: .ios)
            #expect(try await restored.push(capabilities[0]).summary == "410 gone")
            let record = await restored.end()
            #expect(!record.outputText.contains("level=error"))
            #expect(directory.sqlite("PRAGMA integrity_check", in: "restored/data/push.db") == "ok\n")
        }
    }

    @Test func `without its secret a copy is not opened, and with no copy of either the phones register anew`()
        async throws
    {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            let phone = SimulatedPhone(.ios)
            let capability = try await relay.register(phone)
            await relay.end()
            shell("mv '\(directory.path)/data/secret.key' '\(directory.path)/'")
            let refused = try await RelayUnderTest.spawn(stage.settings, in: directory).end()
            #expect(refused.status == 1 && refused.errorText.contains("secret.key"))
            // The way out where the secret is lost for good, as the page and the line both say.
            shell("mv '\(directory.path)'/data/push.db* '\(directory.path)/'")
            let anew = try await RelayUnderTest(stage.settings, in: directory)
            #expect(try await anew.push(capability).summary == "404 unknown_capability")
            let again = try await anew.register(phone)
            #expect(try await anew.push(again).status == 202)
            await anew.end()
        }
    }

    @Test(arguments: ["device", "relay", "device_count"])
    func `what can be read of a damaged database is saved and taken up`(damaged: String) async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            var capabilities: [String] = []
            for _ in 0..<100 { capabilities.append(try await relay.register(SimulatedPhone(.ios))) }
            await relay.end()
            // The last page of the table, or the only one of a small table.
            let status = shell(
                """
                cd '\(directory.path)/data'
                page=$(sqlite3 push.db "SELECT max(pageno) FROM dbstat WHERE name = '\(damaged)' AND pagetype = 'leaf'")
                dd if=/dev/zero of=push.db bs=4096 seek=$((page - 1)) count=1 conv=notrunc 2>/dev/null
                """)
            #expect(status == 0)
            let refused = try await RelayUnderTest.spawn(stage.settings, in: directory).end()
            #expect(refused.errorText.contains("push.db is damaged"))
            directory.write(
                """
                INSERT OR REPLACE INTO device_count
                    SELECT p.column1, (SELECT count(*) FROM device WHERE platform = p.column1)
                    FROM (VALUES (1), (2)) AS p;
                PRAGMA application_id = 1196579156;
                PRAGMA user_version = 1;

                """, to: "script.sql")
            let recovered = shell(
                """
                cd '\(directory.path)/data'
                { sqlite3 push.db .dump 2>/dev/null | sed 's/^ROLLBACK;.*/COMMIT;/'; cat ../script.sql; } | sqlite3 ../saved.db \
                && rm push.db* && mv ../saved.db push.db
                """)
            #expect(recovered == 0)
            let last = try await OperatedRelay(stage.settings, in: directory)
            let saved = last.relay
            let held = try await last.scrape()[#"gryt_push_devices{platform="ios"}"#]
            var reached = 0
            for capability in capabilities where try await saved.push(capability).status == 202 { reached += 1 }
            #expect(reached > 0 && (reached < capabilities.count) == (damaged == "device"))
            #expect(held == reached)
            #expect(try await saved.push(saved.register(SimulatedPhone(.ios))).status == 202)
            let record = await saved.end()
            #expect(record.outputText.contains("event=secret_unproven") == (damaged == "relay"))
        }
    }
}
