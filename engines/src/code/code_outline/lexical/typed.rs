//! Heads of Java and C, whose functions are named between their type and their brackets.

use super::heads::{Body, Define, Head, Part, Place, name, simple, skipping, word};
use super::lex::Kind;

const JAVA_MODIFIERS: [&str; 14] = [
    "public",
    "protected",
    "private",
    "static",
    "final",
    "abstract",
    "native",
    "synchronized",
    "transient",
    "volatile",
    "strictfp",
    "default",
    "sealed",
    "non",
];

pub(super) fn java<'s>(parts: &[Part<'_, 's>], place: Place<'s>, around: &str, body: Body) -> Option<Define<'s>> {
    let first = parts.first()?.0;
    let mut at = 0;
    loop {
        match (word(parts, at), word(parts, at + 1)) {
            ("@", "interface") => break,
            ("@", _) => {
                at += 2;
                while word(parts, at) == "." {
                    at += 2;
                }
                at += usize::from(word(parts, at) == "(");
            }
            (modifier, _) if JAVA_MODIFIERS.contains(&modifier) => at += 1,
            _ => break,
        }
    }
    let named = |kind, at: usize| Some(simple(kind, name(parts, at)?, first, Place::Type));
    match (word(parts, at), word(parts, at + 1)) {
        ("class", _) => return named("class", at + 1),
        ("interface", _) => return named("interface", at + 1),
        ("enum", _) => return named("enum", at + 1),
        ("@", "interface") => return named("interface", at + 2),
        ("record", _) if ["(", "<"].contains(&word(parts, at + 2)) => return named("class", at + 1),
        _ => {}
    }
    if place != Place::Type {
        return None;
    }
    let member = |kind, name| Some(simple(kind, name, first, Place::Within));
    // A record's compact constructor.
    if body != Body::None && parts.len() == at + 1 && word(parts, at) == around {
        return member("constructor", name(parts, at)?);
    }
    let bracket = parts.iter().position(|(_, token)| token.text == "(" || token.text == "=")?;
    let called = name(parts, bracket.checked_sub(1)?).filter(|_| word(parts, bracket) == "(")?;
    match bracket - 1 {
        own if own < at => None,
        own if own == at => {
            if called == around {
                member("constructor", called)
            } else {
                None
            }
        }
        own => member(
            if called == around && word(parts, own - 1) == ">" && word(parts, at) == "<" {
                "constructor"
            } else {
                "method"
            },
            called,
        ),
    }
}

pub(super) fn c<'s>(head: Head<'_, 's>, parts: &[Part<'_, 's>], place: Place<'s>, body: Body) -> Option<Define<'s>> {
    let first = parts.first()?.0;
    if let (Body::At(_), Some(last)) = (body, parts.len().checked_sub(2)) {
        let kind = match word(parts, last) {
            "struct" | "union" => Some("struct"),
            "enum" => Some("enum"),
            _ => None,
        };
        if let Some(kind) = kind {
            return Some(skipping(kind, name(parts, last + 1)?, parts.get(last)?.0));
        }
    }
    if !place.is_top() {
        return None;
    }
    let bracket = parts.iter().position(|(_, token)| token.text == "(" || token.text == "=");
    let opening = bracket.and_then(|at| parts.get(at)).filter(|(_, token)| token.text == "(");
    let pointed = opening.and_then(|part| head.behind(*part)).is_some_and(|token| token.text == "*");
    if word(parts, 0) == "typedef" {
        if body != Body::None {
            // Without a name of its own: the type's name is behind the body.
            return Some(Define { kind: "scope", ..skipping("scope", "", first) });
        }
        let inside = opening.filter(|_| pointed).and_then(|part| head.tokens.get((part.0 + 2).checked_sub(head.from)?));
        let last = || parts.iter().rfind(|(_, token)| token.kind == Kind::Word).map(|(_, token)| *token);
        let named = inside.copied().or_else(|| last().copied()).filter(|token| token.kind == Kind::Word)?;
        return Some(skipping("type", named.text, first));
    }
    let at = bracket.filter(|_| opening.is_some() && !pointed)?;
    let called = name(parts, at.checked_sub(1)?).filter(|_| at > 1)?;
    Some(skipping("function", called, first))
}
