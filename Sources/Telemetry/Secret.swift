/// A value that may be used but not shown: keys, accounts, the relay's own secret.
///
/// Printing, dumping, reflecting or interpolating it gives `(secret)`. ``disclosed`` is the only way in, so that a search
/// for that word finds every use.
package struct Secret<Value: Sendable>: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The value itself.
    package let disclosed: Value

    package init(_ value: Value) { disclosed = value }

    package var description: String { "(secret)" }
    package var debugDescription: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Secret: Equatable where Value: Equatable {}
