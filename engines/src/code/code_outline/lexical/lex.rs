//! Words, strings, signs and comments of a source, with where they stand.

use super::pair::pair;
use crate::code::language::Language;

/// The longest regular expression that is looked for, in characters.
const MAX_EXPRESSION: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Text,
    Sign,
    /// A line of C's preprocessor, with the lines that it goes on in.
    Directive,
    /// The end of a line that ends a statement.
    Break,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'s> {
    pub kind: Kind,
    pub text: &'s str,
    /// In bytes.
    pub start: usize,
    /// From 0.
    pub row: usize,
    pub last_row: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Comment<'s> {
    pub text: &'s str,
    pub row: usize,
    pub last_row: usize,
    /// How many tokens stand before it.
    pub before: usize,
}

#[derive(Debug, Default)]
pub(super) struct Lexed<'s> {
    pub tokens: Vec<Token<'s>>,
    pub comments: Vec<Comment<'s>>,
    /// Of an opening bracket its closing one, and the other way round.
    pub partners: Vec<Option<usize>>,
    /// Brackets without their partner, strings and comments without an end.
    pub errors: usize,
}

impl Lexed<'_> {
    pub fn partner(&self, at: usize) -> Option<usize> {
        self.partners.get(at).copied().flatten()
    }
}

pub(super) fn lex(source: &str, language: Language) -> Lexed<'_> {
    let mut lexer = Lexer { source, language, at: 0, row: 0, templates: Vec::new(), lexed: Lexed::default() };
    while lexer.step().is_some() {}
    pair(&mut lexer.lexed);
    lexer.lexed
}

struct Lexer<'s> {
    source: &'s str,
    language: Language,
    at: usize,
    row: usize,
    /// Of each template that is open, the braces that are open within its `${`.
    templates: Vec<usize>,
    lexed: Lexed<'s>,
}

fn is_script(language: Language) -> bool {
    matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx)
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> (&'s str, usize) {
        let (text, row) = (self.rest().get(..length).unwrap_or(self.rest()), self.row);
        self.at += text.len();
        self.row += text.bytes().filter(|&byte| byte == b'\n').count();
        (text, row)
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let start = self.at;
        let (text, row) = self.take(length);
        // What ends in a line break ends on the line that it breaks.
        let last_row = if text.ends_with('\n') { self.row.saturating_sub(1).max(row) } else { self.row };
        self.lexed.tokens.push(Token { kind, text, start, row, last_row });
    }

    fn step(&mut self) -> Option<()> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        if first.is_whitespace() {
            let blank = rest.len() - rest.trim_start().len();
            if rest.get(..blank).is_some_and(|blank| blank.contains('\n')) && self.breaks(blank) {
                self.push(Kind::Break, blank);
            } else {
                self.take(blank);
            }
            return Some(());
        }
        if let Some(length) = self.comment() {
            let before = self.lexed.tokens.len();
            let (text, row) = self.take(length);
            let last_row = self.row;
            self.lexed.comments.push(Comment { text, row, last_row, before });
        } else if let Some(length) = self.directive() {
            self.push(Kind::Directive, length);
        } else if let Some(length) = self.string() {
            self.push(Kind::Text, length);
        } else if is_word(first, self.language) {
            let language = self.language;
            let length = rest.find(|letter: char| !is_word(letter, language)).unwrap_or(rest.len());
            self.push(Kind::Word, length);
        } else {
            self.sign(first);
        }
        Some(())
    }

    fn sign(&mut self, first: char) {
        let arrow = self.rest().starts_with("=>") || self.rest().starts_with("==");
        self.push(Kind::Sign, if arrow { 2 } else { first.len_utf8() });
        match (first, self.templates.last_mut()) {
            ('{', Some(open)) => *open += 1,
            ('}', Some(0)) => {
                // The template goes on behind its `${…}`.
                self.templates.pop();
                let length = self.template(self.rest());
                self.push(Kind::Text, length);
            }
            ('}', Some(open)) => *open -= 1,
            _ => {}
        }
    }

    /// Whether a line break ends a statement here: in Go as its specification says, in scripts where neither side of it
    /// goes on (in brief, ECMA-262, 12.10).
    fn breaks(&self, blank: usize) -> bool {
        let Some(last) = self.lexed.tokens.last() else { return false };
        let ends = matches!(last.kind, Kind::Word | Kind::Text) || [")", "]", "}"].contains(&last.text);
        match self.language {
            Language::Go => ends,
            language if is_script(language) => {
                let next = self.rest().get(blank..).and_then(|rest| rest.chars().next()).unwrap_or(' ');
                ends && !".,;:?=+-*/%&|<>)]{(".contains(next) && !["extends", "implements"].contains(&last.text)
            }
            _ => false,
        }
    }

    fn comment(&mut self) -> Option<usize> {
        let rest = self.rest();
        let line = |mark: &str| rest.starts_with(mark).then(|| rest.find('\n').unwrap_or(rest.len()));
        if self.language == Language::Python {
            return line("#");
        }
        if let Some(length) = line("//") {
            return Some(length);
        }
        rest.strip_prefix("/*")?;
        let (mut depth, mut at) = (0_usize, 0);
        loop {
            let left = rest.get(at..).unwrap_or_default();
            if left.starts_with("/*") && (depth == 0 || self.language == Language::Rust) {
                depth += 1;
                at += 2;
            } else if left.starts_with("*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            } else if let Some(letter) = left.chars().next() {
                at += letter.len_utf8();
            } else {
                self.lexed.errors += 1;
                return Some(rest.len());
            }
        }
    }

    fn directive(&self) -> Option<usize> {
        let begins =
            self.lexed.tokens.last().is_none_or(|last| last.last_row < self.row || last.kind == Kind::Directive);
        if self.language != Language::C || !begins || !self.rest().starts_with('#') {
            return None;
        }
        let rest = self.rest();
        let mut ends = rest.match_indices('\n').map(|(at, _)| at);
        ends.find(|&at| !rest.get(..at).is_some_and(|line| line.trim_end_matches('\r').ends_with('\\')))
            .or(Some(rest.len()))
    }

    /// The length of a string, a character, a template or a regular expression here.
    fn string(&mut self) -> Option<usize> {
        let rest = self.rest();
        let prefix = match self.language {
            Language::Rust => ["br", "cr", "r", "b", "c"].as_slice(),
            Language::Python => ["rb", "br", "fr", "rf", "r", "b", "f", "u"].as_slice(),
            Language::C => ["u8", "u", "U", "L"].as_slice(),
            _ => &[],
        };
        let quoted = |mark: &&&str| {
            let head = rest.get(..mark.len()).is_some_and(|head| head.eq_ignore_ascii_case(mark));
            head && rest.get(mark.len()..).is_some_and(|rest| rest.starts_with(['"', '\'', '#']))
        };
        let mark = prefix.iter().find(quoted).copied().unwrap_or_default();
        let body = rest.get(mark.len()..).unwrap_or_default();
        let length = match body.chars().next()? {
            '#' | '"' if self.language == Language::Rust && mark.ends_with('r') => raw(body)?,
            '"' | '\'' if self.language == Language::Python => self.python(body),
            '"' if self.language == Language::Java && body.starts_with("\"\"\"") => self.until(body, 3, "\"\"\""),
            '\'' if self.language == Language::Rust => character(body)?,
            quote @ ('"' | '\'') => self.quoted(body, quote),
            '`' if self.language == Language::Go => self.until(body, 1, "`"),
            '`' if is_script(self.language) => {
                self.push(Kind::Text, 1);
                let length = self.template(self.rest());
                return Some(length);
            }
            '/' if is_script(self.language) && self.may_match() => expression(body)?,
            _ => return None,
        };
        Some(mark.len() + length)
    }

    fn python(&mut self, body: &str) -> usize {
        for triple in ["\"\"\"", "'''"] {
            if body.starts_with(triple) {
                return self.until(body, 3, triple);
            }
        }
        self.quoted(body, if body.starts_with('"') { '"' } else { '\'' })
    }

    /// Up to and with an end that no backslash stands before.
    fn until(&mut self, body: &str, from: usize, end: &str) -> usize {
        let escapes = self.language != Language::Go;
        let mut letters = body.char_indices().skip(from);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' if escapes => drop(letters.next()),
                _ if body.get(at..).is_some_and(|rest| rest.starts_with(end)) => return at + end.len(),
                _ => {}
            }
        }
        self.lexed.errors += 1;
        body.len()
    }

    /// One that ends on its line, or where it is broken off; Rust's go on.
    fn quoted(&mut self, body: &str, quote: char) -> usize {
        let mut letters = body.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                '\n' if self.language != Language::Rust => {
                    self.lexed.errors += 1;
                    return at;
                }
                letter if letter == quote => return at + 1,
                _ => {}
            }
        }
        self.lexed.errors += 1;
        body.len()
    }

    /// The part of a template up to its end, or with the `${` that code follows.
    fn template(&mut self, body: &str) -> usize {
        let mut letters = body.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                '`' => return at + 1,
                '$' if body.get(at + 1..).is_some_and(|rest| rest.starts_with('{')) => {
                    self.templates.push(0);
                    return at + 2;
                }
                _ => {}
            }
        }
        self.lexed.errors += 1;
        body.len()
    }

    /// Whether a slash begins a regular expression: where no value stands before it.
    fn may_match(&self) -> bool {
        self.lexed.tokens.last().is_none_or(|last| match last.kind {
            Kind::Word => ["return", "typeof", "case", "in", "of", "delete", "void", "throw"].contains(&last.text),
            Kind::Text | Kind::Directive => false,
            Kind::Break => true,
            Kind::Sign => ![")", "]", "}"].contains(&last.text),
        })
    }
}

/// Rust's raw strings: as many hashes at the end as at the beginning.
fn raw(body: &str) -> Option<usize> {
    let hashes = body.len() - body.trim_start_matches('#').len();
    let inner = body.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(inner.find(&end).map_or(body.len(), |at| hashes + 1 + at + end.len()))
}

/// Rust's character literals; a lifetime is none.
fn character(body: &str) -> Option<usize> {
    let mut letters = body.char_indices().skip(1);
    let (_, first) = letters.next()?;
    if first == '\\' {
        letters.next();
        return letters.find(|(_, letter)| *letter == '\'').map(|(at, _)| at + 1);
    }
    letters.next().filter(|(_, letter)| *letter == '\'').map(|(at, _)| at + 1)
}

fn expression(body: &str) -> Option<usize> {
    let (mut in_class, mut letters) = (false, body.char_indices().take(MAX_EXPRESSION).skip(1));
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '\n' => return None,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn is_word(letter: char, language: Language) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$' || (letter == '#' && is_script(language))
}
