//! Heads of JavaScript and TypeScript.

use super::heads::{Body, Define, Head, Part, Place, name, word};
use super::lex::Kind;

/// Before a declaration, and no part of it.
const WRAPPERS: [&str; 3] = ["export", "default", "declare"];
/// Before a member, and a part of it.
const MODIFIERS: [&str; 9] =
    ["public", "private", "protected", "static", "readonly", "override", "abstract", "async", "accessor"];
/// What brackets and braces follow that are no method's.
const CONTROL: [&str; 8] = ["if", "for", "while", "switch", "catch", "return", "with", "function"];

pub(super) fn define<'s>(parts: &[Part<'_, 's>], place: Place<'s>, body: Body) -> Option<Define<'s>> {
    let mut at = 0;
    loop {
        match word(parts, at) {
            "@" => {
                at += 2;
                while word(parts, at) == "." {
                    at += 2;
                }
                at += usize::from(word(parts, at) == "(");
            }
            wrapper if WRAPPERS.contains(&wrapper) => at += 1,
            _ => break,
        }
    }
    let first = parts.get(at)?.0;
    let of = |kind, name, place| Some(Define { kind, name, parent: None, first, place, skips: false });
    let begin = at;
    while MODIFIERS.contains(&word(parts, at)) && !["(", "=", ":", "?"].contains(&word(parts, at + 1)) {
        at += 1;
    }
    match (word(parts, at), word(parts, at + 1)) {
        ("class", _) => return of("class", name(parts, at + 1)?, Place::Type),
        ("interface", _) if body != Body::None => return of("interface", name(parts, at + 1)?, Place::Type),
        ("enum", _) => return of("enum", name(parts, at + 1)?, Place::Within),
        ("const", "enum") => return of("enum", name(parts, at + 2)?, Place::Within),
        ("namespace" | "module", _) if body != Body::None && parts.len() >= at + 2 => {
            return of("module", word(parts, at + 1), Place::Module);
        }
        ("type", _) if ["=", "<"].contains(&word(parts, at + 2)) => {
            return of("type", name(parts, at + 1)?, Place::Type);
        }
        ("function", "*") => return of("function", name(parts, at + 2)?, Place::Within),
        ("function", _) => return of("function", name(parts, at + 1)?, Place::Within),
        ("const" | "let" | "var", _) => {
            let named = name(parts, at + 1)?;
            let value = parts.iter().position(|(_, token)| token.text == "=").map_or(parts.len(), |equals| equals + 1);
            return match word(parts, at) {
                _ if is_function(parts, value) => of("function", named, Place::Within),
                "const" if place == Place::Top => of("constant", named, Place::Object),
                _ => None,
            };
        }
        _ => {}
    }
    match place {
        Place::Type => member(parts, at).and_then(|(kind, name)| of(kind, name, Place::Within)),
        Place::Object => entry(parts, at, body).and_then(|(kind, name)| of(kind, name, Place::Within)),
        _ => {
            // `a.b = function`, by its last name.
            let equals = parts.iter().position(|(_, token)| token.text == "=")?;
            let is_member = equals >= begin + 3 && word(parts, equals - 2) == ".";
            let named = name(parts, equals.checked_sub(1)?).filter(|_| is_member && is_function(parts, equals + 1))?;
            of("function", named, Place::Within)
        }
    }
}

/// A method, or a field that holds a function.
fn member<'s>(parts: &[Part<'_, 's>], mut at: usize) -> Option<(&'static str, &'s str)> {
    let follows = |at: usize| word(parts, at + 1);
    if ["get", "set"].contains(&word(parts, at)) && !["(", "=", ":", "?", ""].contains(&follows(at)) {
        at += 1;
    }
    at += usize::from(word(parts, at) == "*");
    let (_, token) = parts.get(at).filter(|(_, token)| matches!(token.kind, Kind::Word | Kind::Text))?;
    let named = Some(token.text).filter(|name| !CONTROL.contains(name))?;
    let is_method = ["(", "<"].contains(&follows(at)) || (follows(at) == "?" && word(parts, at + 2) == "(");
    let equals = parts.iter().position(|(_, token)| token.text == "=");
    match equals {
        _ if is_method && named == "constructor" => Some(("constructor", named)),
        _ if is_method => Some(("method", named)),
        Some(equals) if is_function(parts, equals + 1) => Some(("method", named)),
        _ => None,
    }
}

/// A member of an object that is a function.
fn entry<'s>(parts: &[Part<'_, 's>], at: usize, body: Body) -> Option<(&'static str, &'s str)> {
    let named = name(parts, at).filter(|name| !CONTROL.contains(name))?;
    match word(parts, at + 1) {
        ":" if is_function(parts, at + 2) => Some(("function", named)),
        "(" if body != Body::None => Some(("method", named)),
        _ => None,
    }
}

/// Whether a value begins as a function does.
fn is_function(parts: &[Part<'_, '_>], at: usize) -> bool {
    let at = at + usize::from(word(parts, at) == "async");
    match (word(parts, at), word(parts, at + 1)) {
        ("function", _) => true,
        ("(" | "<", _) => parts.iter().skip(at).any(|(_, token)| token.text == "=>"),
        (_, arrow) => arrow == "=>" && name(parts, at).is_some(),
    }
}

/// The module of an `import`, an `export … from`, a `require("…")` or an `import("…")`.
pub(super) fn import(head: Head<'_, '_>, parts: &[Part<'_, '_>]) -> Option<String> {
    let plain = |text: &str| text.trim_matches(['"', '\'', '`']).to_owned();
    let from = || parts.iter().rfind(|(_, token)| token.kind == Kind::Text).map(|(_, token)| plain(token.text));
    match word(parts, 0) {
        "import" if word(parts, 1) != "(" => return from(),
        "export" if parts.iter().any(|(_, token)| token.text == "from") => return from(),
        _ => {}
    }
    let called = parts.windows(2).find_map(|pair| match pair {
        [(_, callee), bracket] if ["require", "import"].contains(&callee.text) && bracket.1.text == "(" => {
            Some(*bracket)
        }
        _ => None,
    })?;
    head.behind(called).filter(|token| token.kind == Kind::Text).map(|token| plain(token.text))
}
