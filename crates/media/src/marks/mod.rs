//! What must survive a translation unchanged: URLs, e-mail addresses, code, placeholders, tags, mentions, emoji and
//! terms of a glossary.

mod glossary;
pub(crate) mod markdown;
mod patterns;
pub(crate) mod tags;

use std::ops::Range;

pub use glossary::{Glossary, GlossaryError, MAX_TERM_CHARS, MAX_TERMS};

/// Markup of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TextFormat {
    /// Plain text; tags and placeholders in it are still recognised.
    #[default]
    Text,
    /// CommonMark with tables.
    Markdown,
    /// A document or fragment of HTML.
    Html,
}

/// Kind of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkKind {
    /// Inline code in backticks, an identifier or a path.
    Code,
    /// A tag, comment or instruction of HTML or XML.
    Tag,
    /// A character reference of HTML.
    Entity,
    /// A URL, domain name or IP address.
    Url,
    /// An e-mail address.
    Email,
    /// A place where a program puts a value.
    Placeholder,
    /// `@name`.
    Mention,
    /// `#word`.
    Hashtag,
    /// An emoji, with its modifiers.
    Emoji,
    /// A term of the glossary.
    Term,
    /// A number, where they are asked for.
    Number,
    /// Another text that would be changed: a long code, a character of private use, an escaped character.
    Other,
}

/// A place in a text that must survive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Its bytes.
    pub range: Range<usize>,
    /// What it is.
    pub kind: MarkKind,
    /// What stands for it in the translation, if not itself: the glossary's translation of a term.
    pub replacement: Option<String>,
}

/// Finds all marks of a text, in order, without overlap: of two that overlap the earlier one counts, of those that
/// begin together the one whose kind comes first. Takes time in proportion to the text.
pub fn find(text: &str, format: TextFormat, glossary: &Glossary) -> Vec<Mark> {
    let mut found = patterns::find(text, format);
    found.extend(glossary.find(text));
    found.sort_by(|one, other| {
        let key = |mark: &Mark| (mark.range.start, mark.kind);
        key(one).cmp(&key(other)).then(other.range.end.cmp(&one.range.end))
    });
    let mut end = 0;
    found.retain(|mark| {
        let free = mark.range.start >= end && !mark.range.is_empty();
        if free {
            end = mark.range.end;
        }
        free
    });
    tags::extend_opaque(text, &mut found);
    found
}

/// Finds the numbers of a text.
pub fn find_numbers(text: &str) -> Vec<Range<usize>> {
    patterns::numbers(text)
}

/// The character before a position.
pub(crate) fn before(text: &str, at: usize) -> Option<char> {
    text.get(..at).and_then(|text| text.chars().next_back())
}

/// The character at a position.
pub(crate) fn after(text: &str, at: usize) -> Option<char> {
    text.get(at..).and_then(|text| text.chars().next())
}

/// Whether a character is part of a word.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests;
