//! What a statement's head defines or imports, by the language's keywords.

use super::lex::{Kind, Token};
use super::{scripts, typed};
use crate::code::language::Language;

/// The longest head that is looked at, in tokens outside of brackets.
const MAX_HEAD: usize = 256;

/// What statements stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place<'s> {
    Top,
    Module,
    /// Functions in it are methods.
    Type,
    /// An object of a script, whose members commas part.
    Object,
    /// Go's brackets behind this keyword.
    Group(&'s str),
    /// A function or a block.
    Within,
}

impl Place<'_> {
    pub fn is_object(self) -> bool {
        self == Self::Object
    }

    pub fn is_top(self) -> bool {
        matches!(self, Self::Top | Self::Module)
    }
}

/// Whether a body follows, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    At(usize),
    None,
}

/// A definition.
pub(super) struct Define<'s> {
    /// As in the outline, or `scope`: no symbol, but something that functions belong to.
    pub kind: &'static str,
    pub name: &'s str,
    /// Whom it belongs to, where that is not what stands around it.
    pub parent: Option<&'s str>,
    /// Its first token.
    pub first: usize,
    /// What its body is to the statements in it.
    pub place: Place<'s>,
    /// Nothing is defined in its body.
    pub skips: bool,
}

/// The tokens of a statement up to its body or its end.
#[derive(Clone, Copy)]
pub(super) struct Head<'l, 's> {
    pub tokens: &'l [Token<'s>],
    pub partners: &'l [Option<usize>],
    /// The number of the first.
    pub from: usize,
    pub source: &'s str,
    pub language: Language,
}

/// A token outside of brackets, with its number; of brackets the opening one.
pub(super) type Part<'l, 's> = (usize, &'l Token<'s>);

impl<'l, 's> Head<'l, 's> {
    pub fn parts(&self) -> Vec<Part<'l, 's>> {
        let (mut parts, mut at) = (Vec::new(), 0);
        while let Some(token) = self.tokens.get(at)
            && parts.len() < MAX_HEAD
        {
            parts.push((self.from + at, token));
            let closing = self.partners.get(self.from + at).copied().flatten();
            at = closing
                .and_then(|closing| closing.checked_sub(self.from))
                .filter(|&closing| closing > at)
                .unwrap_or(at)
                + 1;
        }
        parts
    }

    /// Whether the braces behind it are a list of names, and the statement goes on behind them.
    pub fn lists(&self) -> bool {
        let word = |at: usize| self.tokens.get(at).map_or("", |token| token.text);
        let last = self.tokens.last().map_or("", |token| token.text);
        match self.language {
            Language::Rust => self.parts().iter().take(6).any(|(_, token)| token.text == "use"),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                word(0) == "import" || (self.tokens.len() <= 3 && ["export", "const", "let", "var"].contains(&last))
            }
            _ => false,
        }
    }

    /// The token behind one, in brackets where that opens them.
    pub fn behind(&self, (at, _): Part<'l, 's>) -> Option<&'l Token<'s>> {
        self.tokens.get((at + 1).checked_sub(self.from)?)
    }

    /// What stands from there to the end, without its semicolon.
    fn text(&self, from: Part<'l, 's>) -> String {
        let end = self.tokens.last().map_or(from.1.start, |last| last.start + last.text.len());
        let text = self.source.get(from.1.start..end).unwrap_or_default();
        text.trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The text of a part; empty behind the last.
pub(super) fn word<'s>(parts: &[Part<'_, 's>], at: usize) -> &'s str {
    parts.get(at).map_or("", |(_, token)| token.text)
}

/// The word of a part.
pub(super) fn name<'s>(parts: &[Part<'_, 's>], at: usize) -> Option<&'s str> {
    parts.get(at).filter(|(_, token)| token.kind == Kind::Word).map(|(_, token)| token.text)
}

/// What a head defines.
pub(super) fn define<'s>(head: Head<'_, 's>, place: Place<'s>, around: &str, body: Body) -> Option<Define<'s>> {
    let parts = head.parts();
    let mut define = match head.language {
        Language::Rust => rust(&parts, body),
        Language::Go => go(head, &parts, place, body),
        Language::Java => typed::java(&parts, place, around, body),
        Language::C => typed::c(head, &parts, place, body),
        Language::JavaScript | Language::TypeScript | Language::Tsx => scripts::define(&parts, place, body),
        Language::Python => None,
    }?;
    if define.kind == "function" && place == Place::Type {
        define.kind = "method";
    }
    Some(define)
}

/// What a head imports.
pub(super) fn import(head: Head<'_, '_>, place: Place<'_>) -> Option<String> {
    let parts = head.parts();
    match head.language {
        Language::Rust => {
            let at = after_attributes(&parts);
            let at = at + if word(&parts, at) == "pub" { 1 + usize::from(word(&parts, at + 1) == "(") } else { 0 };
            match word(&parts, at) {
                "use" => Some(head.text(*parts.get(at + 1)?)),
                "extern" if word(&parts, at + 1) == "crate" => name(&parts, at + 2).map(str::to_owned),
                _ => None,
            }
        }
        Language::Go if place == Place::Group("import") || word(&parts, 0) == "import" => {
            let path = parts.iter().find(|(_, token)| token.kind == Kind::Text)?;
            Some(path.1.text.trim_matches(['"', '`']).to_owned())
        }
        Language::Java if word(&parts, 0) == "import" => {
            let at = if word(&parts, 1) == "static" { 2 } else { 1 };
            Some(head.text(*parts.get(at)?).replace(' ', ""))
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => scripts::import(head, &parts),
        _ => None,
    }
}

pub(super) fn simple<'s>(kind: &'static str, name: &'s str, first: usize, place: Place<'s>) -> Define<'s> {
    Define { kind, name, parent: None, first, place, skips: false }
}

pub(super) fn skipping<'s>(kind: &'static str, name: &'s str, first: usize) -> Define<'s> {
    Define { skips: true, ..simple(kind, name, first, Place::Within) }
}

/// Behind Rust's `#[…]` and `#![…]`.
fn after_attributes(parts: &[Part<'_, '_>]) -> usize {
    let mut at = 0;
    while word(parts, at) == "#" {
        at += 1 + usize::from(word(parts, at + 1) == "!");
        at += usize::from(word(parts, at) == "[");
    }
    at
}

fn rust<'s>(parts: &[Part<'_, 's>], body: Body) -> Option<Define<'s>> {
    let mut at = after_attributes(parts);
    let first = parts.get(at)?.0;
    loop {
        at += match (word(parts, at), word(parts, at + 1)) {
            ("pub", "(") => 2,
            ("pub" | "default" | "unsafe" | "async", _) => 1,
            ("const", "fn" | "unsafe" | "async" | "extern") => 1,
            ("extern", text) if text.starts_with('"') => 2,
            ("extern", "fn") => 1,
            _ => break,
        };
    }
    let named = |kind, place| Some(simple(kind, name(parts, at + 1)?, first, place));
    match word(parts, at) {
        "fn" => named("function", Place::Within),
        "struct" => Some(skipping("struct", name(parts, at + 1)?, first)),
        "union" if body != Body::None => Some(skipping("struct", name(parts, at + 1)?, first)),
        "enum" => Some(skipping("enum", name(parts, at + 1)?, first)),
        "trait" => named("interface", Place::Type),
        "mod" => named("module", Place::Module),
        "type" => named("type", Place::Within),
        "const" => named("constant", Place::Within).filter(|define| define.name != "_"),
        "static" => {
            let at = at + 1 + usize::from(word(parts, at + 1) == "mut");
            Some(simple("constant", name(parts, at)?, first, Place::Within))
        }
        "macro_rules" => Some(skipping("macro", name(parts, at + 2)?, first)),
        "impl" => Some(simple("scope", implementor(parts.get(at + 1..)?)?, first, Place::Type)),
        _ => None,
    }
}

/// The type of an `impl`: behind its last `for`, without its path and arguments.
fn implementor<'s>(parts: &[Part<'_, 's>]) -> Option<&'s str> {
    let (mut depth, mut name, mut before) = (0_usize, None, "");
    for (at, (_, token)) in parts.iter().enumerate() {
        match token.text {
            "<" => depth += 1,
            ">" if before != "-" => depth = depth.saturating_sub(1),
            "where" if depth == 0 => break,
            "for" if depth == 0 && word(parts, at + 1) != "<" => name = None,
            "dyn" | "mut" | "const" => {}
            _ if depth == 0 && token.kind == Kind::Word => name = Some(token.text),
            _ => {}
        }
        before = token.text;
    }
    name
}

fn go<'s>(head: Head<'_, 's>, parts: &[Part<'_, 's>], place: Place<'s>, body: Body) -> Option<Define<'s>> {
    let keyword = match place {
        Place::Group(keyword) => keyword,
        _ => word(parts, 0),
    };
    let at = usize::from(!matches!(place, Place::Group(_)));
    let start = |at: usize| parts.get(at).map(|part| part.0);
    match keyword {
        "func" if word(parts, 1) == "(" => {
            let receiver = head.tokens.get((parts.get(1)?.0 + 1).checked_sub(head.from)?..)?;
            let inside = receiver.iter().take_while(|token| ![")", "["].contains(&token.text));
            let parent = inside.filter(|token| token.kind == Kind::Word).last().map(|token| token.text);
            Some(Define { parent, ..simple("method", name(parts, 2)?, start(0)?, Place::Within) })
        }
        "func" => Some(simple("function", name(parts, 1)?, start(0)?, Place::Within)),
        "type" => {
            let (name, first) = (name(parts, at)?, start(at)?);
            let at = at + 1 + usize::from(word(parts, at + 1) == "[");
            match word(parts, at) {
                "struct" => Some(skipping("struct", name, first)),
                "interface" => Some(simple("interface", name, first, Place::Type)),
                _ => Some(skipping("type", name, first)),
            }
        }
        "const" if place != Place::Within => Some(skipping("constant", name(parts, at)?, start(at)?)),
        "var" if place != Place::Within => Some(skipping("variable", name(parts, at)?, start(at)?)),
        _ if place == Place::Type && body == Body::None && word(parts, 1) == "(" => {
            Some(simple("method", name(parts, 0)?, start(0)?, Place::Within))
        }
        _ => None,
    }
}
