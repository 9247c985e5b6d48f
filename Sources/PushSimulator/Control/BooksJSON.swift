extension SimulatorBooks {
    /// The counts, for `GET /simulator/books`.
    package var json: JSON {
        let services = SimulatedService.allCases.filter { $0 != .control && $0 != .proxy }.map { service in
            JSON.Member(service.rawValue, self[service].json)
        }
        return [
            "delivered": JSON(delivered), "doubles": JSON(doubles), "provider_tokens": JSON(providerTokens),
            "access_tokens": JSON(accessTokens), "oauth_calls": JSON(oauthCalls), "services": .object(services),
            "proxy": proxy.json, "tally": ["ios": tally(of: .ios).json, "android": tally(of: .android).json],
        ]
    }
}

extension SimulatorBooks.ServiceCounts {
    fileprivate var json: JSON {
        let answers = answers.sorted { $0.key < $1.key }.map { JSON.Member(String($0.key), JSON($0.value)) }
        let refusals = refusals.sorted { $0.key < $1.key }.map { JSON.Member($0.key, JSON($0.value)) }
        let frames = frames.sorted { $0.key < $1.key }.map { JSON.Member($0.key, JSON($0.value)) }
        return [
            "connections_opened": JSON(connectionsOpened), "connections_open": JSON(connectionsOpen),
            "requests": JSON(requests), "answers": .object(answers), "refusals": .object(refusals),
            "over_limit_streams": JSON(overLimitStreams), "connections_held_back": JSON(connectionsHeldBack),
            "most_streams": JSON(mostStreams), "delivered_unsaid": JSON(deliveredUnsaid),
            "unanswered": JSON(unanswered), "frames": .object(frames), "delivered": JSON(delivered),
            "doubles": JSON(doubles),
        ]
    }
}

extension DeliveryTally {
    fileprivate var json: JSON {
        [
            "accepted": JSON(accepted), "delivered": JSON(delivered), "unsaid": JSON(unsaid),
            "doubles": JSON(doubles), "gone": JSON(gone),
        ]
    }
}

extension ProxyCounts {
    fileprivate var json: JSON {
        func sorted(_ counts: [String: Int]) -> JSON {
            .object(counts.sorted { $0.key < $1.key }.map { JSON.Member($0.key, JSON($0.value)) })
        }
        let answers = answers.sorted { $0.key < $1.key }.map { JSON.Member(String($0.key), JSON($0.value)) }
        return [
            "connections_opened": JSON(connectionsOpened), "connects": sorted(connects), "tunnels": sorted(tunnels),
            "answers": .object(answers), "with_credentials": JSON(withCredentials), "tunnels_open": JSON(tunnelsOpen),
        ]
    }
}

extension DeliveredNotification {
    /// One notification, for `GET /simulator/notifications` and the program's `--json`.
    package var json: JSON {
        let headers = headers.map { JSON.Member($0.name, .string($0.value)) }
        return [
            "number": JSON(number), "service": .string(service.rawValue), "platform": .string(platform.rawValue),
            "token": .string(token), "id": .string(id), "replacement_key": replacementKey.map { .string($0) } ?? .null,
            "replaces_earlier": .bool(replacesEarlier), "double": .bool(isDouble), "instant": JSON(instant),
            "connection": JSON(connection), "stream": JSON(stream), "headers": .object(headers),
            "payload": JSON(text: payload) ?? .string(payload),
        ]
    }
}
