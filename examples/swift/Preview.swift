// What a chat server and an app in Swift need of the relay's package, its product GrytPushPreview.

import GrytPushPreview

/// The server: what goes into `"preview"` of a push. Nil where what the phone handed over is not what it should be; the
/// push then goes without a preview.
func preview(title: String, body: String, capability: String, key: String) -> String? {
    guard let tag = PreviewTag(capability: capability), let key = PreviewKey(base64URL: key) else { return nil }
    // Cut to what fits, so that sealing does not fail.
    return try? Preview.fitting(title: title, body: body).seal(with: key, for: tag)
}

/// The app, when it registers: a key for each server, handed over together with the capability.
func newKey() -> (kept: PreviewKey, handedOver: String) {
    let key = PreviewKey()
    return (key, key.disclosed)
}

/// The app's notification extension: `c` and `p` as they came, and the keys that it keeps by tag. Nil leaves the fixed text.
func opened(c: String, p: String, keys: [PreviewTag: PreviewKey]) -> (title: String, subtitle: String?, body: String)? {
    guard let tag = PreviewTag(c), let key = keys[tag] else { return nil }
    do {
        let preview = try Preview.open(p, with: key, for: tag)
        return (preview.title, preview.subtitle, preview.body)
    } catch .unknownVersion {
        // Made by a server that is newer than this app.
        return nil
    } catch {
        return nil
    }
}
