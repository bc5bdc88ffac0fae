//! Languages with braces: a statement's head says what its body is.

use super::super::{MAX_SYMBOLS, Symbol, doc, one_line};
use super::Found;
use super::heads::{Body, Define, Head, Place, define, import};
use super::lex::{Kind, Lexed};
use crate::code::language::Language;

/// Braces, or Go's brackets of a group, that are open.
struct Scope<'s> {
    closing: usize,
    place: Place<'s>,
    /// The nearest definition around, itself included: its name.
    name: &'s str,
    /// Its own symbol, where it has one.
    symbol: Option<usize>,
}

struct Reader<'l, 's> {
    source: &'s str,
    lexed: &'l Lexed<'s>,
    language: Language,
    scopes: Vec<Scope<'s>>,
    found: Found,
}

pub(super) fn read(source: &str, lexed: &Lexed<'_>, language: Language) -> Found {
    let mut reader = Reader { source, lexed, language, scopes: Vec::new(), found: Found::default() };
    reader.all();
    reader.found
}

impl<'s> Reader<'_, 's> {
    fn all(&mut self) {
        let (mut head, mut at) = (0, 0);
        while let Some(token) = self.lexed.tokens.get(at) {
            if self.found.symbols.len() > MAX_SYMBOLS {
                return;
            }
            let next = at + 1;
            match (token.kind, token.text) {
                (Kind::Sign, "{") => {
                    (head, at) = self.enter(head, at);
                    continue;
                }
                (Kind::Sign, "(") if self.is_group(head, at) => {
                    let keyword = self.lexed.tokens.get(head).map_or("", |token| token.text);
                    self.open(at, Place::Group(keyword), None);
                    head = next;
                }
                // What stands in them defines nothing of its own.
                (Kind::Sign, "(" | "[") => {
                    at = self.lexed.partner(at).filter(|&closing| closing > at).unwrap_or(at) + 1;
                    continue;
                }
                (Kind::Sign, "}" | ")") => {
                    self.statement(head, at);
                    head = self.close(at);
                }
                (Kind::Sign, ";") | (Kind::Break, _) => {
                    self.statement(head, next);
                    head = next;
                }
                (Kind::Sign, ",") if self.place().is_object() => {
                    self.statement(head, at);
                    head = next;
                }
                (Kind::Directive, text) => {
                    self.directive(at, text);
                    head = next;
                }
                _ => {}
            }
            at = next;
        }
        self.statement(head, at);
    }

    fn place(&self) -> Place<'s> {
        self.scopes.last().map_or(Place::Top, |scope| scope.place)
    }

    fn name(&self) -> &'s str {
        self.scopes.last().map_or("", |scope| scope.name)
    }

    /// Go's `import (`, `const (`, `var (` and `type (`.
    fn is_group(&self, head: usize, at: usize) -> bool {
        let keyword = self.lexed.tokens.get(head).map_or("", |token| token.text);
        self.language == Language::Go && at == head + 1 && ["import", "const", "var", "type"].contains(&keyword)
    }

    /// A body begins: where the next statement does, and what is looked at next.
    fn enter(&mut self, head: usize, at: usize) -> (usize, usize) {
        let closing = self.lexed.partner(at).filter(|&closing| closing > at);
        if let Some(closing) = closing.filter(|_| self.head(head, at).lists()) {
            return (head, closing + 1);
        }
        let defined = define(self.head(head, at), self.place(), self.name(), Body::At(at));
        let symbol = defined.as_ref().and_then(|define| self.tell(define, (head, at), Body::At(at)));
        let skips = defined.as_ref().is_some_and(|define| define.skips) || self.is_macro(at);
        if let (true, Some(closing)) = (skips, closing) {
            return (self.behind(head, closing), closing + 1);
        }
        let place = defined.as_ref().map_or_else(|| self.unnamed(head, at), |define| define.place);
        let name = defined.map_or_else(|| self.name(), |define| define.name);
        self.open(at, place, Some((name, symbol)));
        (at + 1, at + 1)
    }

    /// Braces that define nothing: those of a function stay within it.
    fn unnamed(&self, head: usize, at: usize) -> Place<'s> {
        let tokens = self.lexed.tokens.get(head..at).unwrap_or_default();
        match (tokens.first().map(|token| token.text), tokens.last().map(|token| token.text)) {
            (_, Some("=" | ":" | "return")) => Place::Object,
            // C++ lets C's declarations stand in `extern "C" {}`.
            (Some("extern"), _) => self.place(),
            _ => Place::Within,
        }
    }

    fn is_macro(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.lexed.tokens.get(before));
        self.language == Language::Rust && before.is_some_and(|token| token.text == "!")
    }

    fn open(&mut self, at: usize, place: Place<'s>, named: Option<(&'s str, Option<usize>)>) {
        let closing = self.lexed.partner(at).filter(|&closing| closing > at).unwrap_or(usize::MAX);
        let (name, symbol) = named.unwrap_or((self.name(), None));
        self.scopes.push(Scope { closing, place, name, symbol });
    }

    /// Where the next statement begins.
    fn close(&mut self, at: usize) -> usize {
        // What closes nothing ends nothing.
        if self.scopes.last().is_some_and(|scope| scope.closing == at)
            && let Some(scope) = self.scopes.pop()
            && let Some(symbol) = scope.symbol.and_then(|symbol| self.found.symbols.get_mut(symbol))
            && let Some(token) = self.lexed.tokens.get(at)
        {
            symbol.end = token.last_row + 1;
        }
        at + 1
    }

    /// Behind a body that was skipped: in C a type's name may follow.
    fn behind(&self, head: usize, closing: usize) -> usize {
        let first = self.lexed.tokens.get(head).map_or("", |token| token.text);
        if self.language == Language::C && first == "typedef" { head } else { closing + 1 }
    }

    fn head(&self, from: usize, to: usize) -> Head<'_, 's> {
        let tokens = self.lexed.tokens.get(from..to).unwrap_or_default();
        Head { tokens, partners: &self.lexed.partners, from, source: self.source, language: self.language }
    }

    /// A statement without a body.
    fn statement(&mut self, from: usize, to: usize) {
        if let Some(path) = import(self.head(from, to), self.place()) {
            self.found.imports.push(path);
        }
        if let Some(define) = define(self.head(from, to), self.place(), self.name(), Body::None) {
            self.tell(&define, (from, to), Body::None);
        }
    }

    fn directive(&mut self, at: usize, text: &'s str) {
        let body = text.trim_start_matches('#').trim_start();
        if let Some(path) = body.strip_prefix("include") {
            self.found.imports.push(path.trim().trim_matches(['<', '>', '"']).to_owned());
        }
        let name = body.strip_prefix("define").map(str::trim_start).unwrap_or_default();
        let end = name.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).unwrap_or(name.len());
        if let Some(name) = name.get(..end).filter(|name| !name.is_empty()) {
            let define = Define { kind: "macro", name, parent: None, first: at, place: Place::Within, skips: true };
            self.tell(&define, (at, at + 1), Body::None);
        }
    }

    /// Its symbol, where it has one.
    fn tell(&mut self, define: &Define<'s>, (from, to): (usize, usize), body: Body) -> Option<usize> {
        if define.kind == "scope" {
            return None;
        }
        let first = self.lexed.tokens.get(define.first)?;
        let skipped = match body {
            Body::At(at) => self.lexed.partner(at).filter(|&closing| closing > at),
            Body::None => None,
        };
        // Without an end it goes on to the last.
        let last = match (body, skipped) {
            (Body::At(_), Some(closing)) => self.lexed.tokens.get(closing),
            (Body::At(_), None) => self.lexed.tokens.last(),
            (Body::None, _) => self.lexed.tokens.get(from..to)?.iter().rfind(|token| token.kind != Kind::Break),
        }?;
        let end = match body {
            Body::At(at) => self.lexed.tokens.get(at).map(|token| token.start),
            Body::None => self.lexed.tokens.get(to.checked_sub(1)?).map(|token| token.start + token.text.len()),
        };
        let text = self.source.get(first.start..end?).unwrap_or_default();
        let (row, signature) = (first.row, one_line(text.split_once('{').map_or(text, |(head, _)| head)));
        self.found.symbols.push(Symbol {
            name: define.name.trim_matches(['"', '\'']).to_owned(),
            kind: define.kind,
            start: row + 1,
            end: last.last_row + 1,
            signature,
            doc: self.doc(from, define.first),
            parent: define.parent.unwrap_or_else(|| self.name()).to_owned(),
        });
        Some(self.found.symbols.len() - 1)
    }

    /// What the comments before a definition say: those that stand right before it, with nothing but attributes between.
    fn doc(&self, from: usize, first: usize) -> String {
        let tokens = &self.lexed.tokens;
        let is_code = |at: &usize| tokens.get(*at).is_some_and(|token| token.kind != Kind::Break);
        let before = (0..from).rev().find(is_code);
        let (from, code_row) =
            (before.map_or(0, |at| at + 1), before.and_then(|at| tokens.get(at)).map(|it| it.last_row));
        let begin = self.lexed.comments.partition_point(|comment| comment.before < from);
        let comments = self.lexed.comments.get(begin..).unwrap_or_default();
        let mut pending: Vec<&str> = Vec::new();
        // The last row of what was met.
        let mut met = 0;
        let mut comments = comments.iter().take_while(|comment| comment.before <= first).peekable();
        while let Some(comment) = comments.next() {
            // Behind code on its line it tells of that.
            if code_row == Some(comment.row) {
                continue;
            }
            let between = (from..comment.before).rev().find(is_code).and_then(|at| tokens.get(at));
            met = between.map_or(met, |token| token.last_row.max(met));
            if met + 1 < comment.row {
                pending.clear();
            }
            pending.push(comment.text);
            met = comment.last_row;
            // What it tells of, an attribute of that, or another comment begins on the next line.
            let next =
                (comment.before..=first).find(is_code).and_then(|at| tokens.get(at)).map_or(0, |token| token.row);
            let next = comments.peek().map_or(next, |other| other.row.min(next));
            if met + 1 < next {
                pending.clear();
            }
        }
        doc::of_comments(pending.into_iter(), self.language)
    }
}
