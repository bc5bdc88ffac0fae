//! Converts words to index terms.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::compose;

use super::normal::{fold, normalize};
use super::parts::{abbreviation, each_part};
use super::script::{Script, is_ideograph};
use super::stem::each_form;
use super::words::Kind;
pub(crate) use super::words::{Word, each_word};
use super::{Language, Languages, MAX_WORD};

/// Whether terms are for an entry or for a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Entry,
    Query,
}

/// A part of a word before stemming.
#[derive(Clone, Copy)]
enum Atom<'a> {
    /// Letters, indexed by their stem.
    Letters(&'a str),
    /// Indexed as it is.
    Exact(&'a str),
}

/// Position of a term.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TermPosition {
    /// Byte range of the text that it represents.
    pub start: usize,
    pub end: usize,
    /// Position in words; the second word of a name has the next one.
    pub position: u32,
}

/// Progress through a text, in words: the unit of lengths and positions.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub length: u32,
    pub position: u32,
    normal: String,
}

impl Reading {
    /// Calls `each` for the terms of a word in an entry of a language. Words must be passed in order.
    pub(crate) fn each_term(&mut self, word: &Word<'_>, language: Language, each: &mut impl FnMut(&str, TermPosition)) {
        self.each_atom(word, Purpose::Entry, &mut |atom, place| match atom {
            Atom::Letters(letters) => each_form(letters, language, &mut |form| each(form, place)),
            Atom::Exact(term) => each(term, place),
        });
    }

    fn each_atom(&mut self, word: &Word<'_>, purpose: Purpose, each: &mut impl FnMut(Atom<'_>, TermPosition)) {
        let (start, end) = (word.start, word.start + word.text.len());
        let first = self.position;
        match word.kind {
            Kind::Unspaced => {
                let characters = each_pair(word, first, purpose, each);
                self.length = self.length.saturating_add(characters);
                self.position = first.saturating_add(characters);
            }
            // Its words precede it: it has the position of the last of them.
            Kind::Joined => {
                exact(word.text, &mut |term| {
                    each(Atom::Exact(term), TermPosition { start, end, position: first.saturating_sub(1) });
                });
            }
            Kind::Spaced => {
                let words = spaced(word.text, &mut self.normal, &mut |atom, nth| {
                    each(atom, TermPosition { start, end, position: first.saturating_add(nth) });
                });
                self.length = self.length.saturating_add(1);
                self.position = first.saturating_add(words);
            }
        }
    }
}

/// A query word: its normalised form, and the part from which its terms are derived.
pub(crate) struct AnalyzedQueryWord<'a> {
    pub word: &'a str,
    pub position: u32,
    atom: Atom<'a>,
}

impl AnalyzedQueryWord<'_> {
    /// Returns the terms that it may have in entries of these languages.
    pub(crate) fn alternatives(&self, languages: Languages) -> Vec<Box<str>> {
        let mut forms: Vec<Box<str>> = Vec::new();
        match self.atom {
            Atom::Exact(term) => forms.push(term.into()),
            Atom::Letters(word) => {
                for language in languages.iter() {
                    each_form(word, language, &mut |form| {
                        if !form.is_empty() && !forms.iter().any(|known| **known == *form) {
                            forms.push(form.into());
                        }
                    });
                }
            }
        }
        forms
    }
}

/// Calls `each` for the words of a query, including those within names.
pub(crate) fn each_query_word(text: &str, each: &mut impl FnMut(&AnalyzedQueryWord<'_>)) {
    let mut reading = Reading::default();
    each_word(text, &mut |word| {
        reading.each_atom(&word, Purpose::Query, &mut |atom, place| {
            let (Atom::Exact(word) | Atom::Letters(word)) = atom;
            each(&AnalyzedQueryWord { word, position: place.position, atom });
        });
    });
}

/// Calls `each` for the atoms of a word with the index of their sub-word; returns the number of sub-words.
fn spaced(word: &str, normal: &mut String, each: &mut impl FnMut(Atom<'_>, u32)) -> u32 {
    normalize(word, normal);
    // Most words are lower-case ASCII letters only.
    if word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase()) && word.bytes().all(|byte| byte.is_ascii_alphabetic())
    {
        each(Atom::Letters(normal), 0);
        return 1;
    }
    if normal.chars().all(|c| !is_inner_sign(c) && !c.is_numeric()) {
        each(Atom::Letters(normal), 0);
    } else {
        exact(word, &mut |term| each(Atom::Exact(term), 0));
        if let Some(letters) = abbreviation(normal) {
            each(Atom::Letters(&letters), 0);
            return 1;
        }
    }
    let cut = word.char_indices().nth(MAX_WORD).map_or(word, |(end, _)| word.get(..end).unwrap_or(word));
    let mut parts = 0;
    each_part(cut, &mut |part| {
        normalize(part.trim_matches(is_inner_sign), normal);
        match normal.chars().any(|c| is_inner_sign(c) || c.is_numeric()) {
            _ if normal.is_empty() => return,
            true => each(Atom::Exact(normal), parts),
            false => each(Atom::Letters(normal), parts),
        }
        parts += 1;
    });
    parts.max(1)
}

/// Characters other than letters, digits and apostrophes that UAX #29 keeps within a word.
const fn is_inner_sign(c: char) -> bool {
    matches!(c, '_' | '.' | ':' | ',' | ';' | '·' | '‿' | '⁀' | '⁔' | '．' | '，' | '：' | '；' | '＿')
}

/// A name as written; digits without thousands separators.
fn exact(name: &str, each: &mut impl FnMut(&str)) {
    let (mut normal, mut folded) = (String::new(), String::new());
    normalize(name, &mut normal);
    if normal.contains(',') && normal.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'.')) {
        normal.retain(|c| c != ',');
    }
    fold(&normal, &mut folded);
    if !folded.is_empty() {
        each(&folded);
    }
}

/// Bigrams of a script without spaces, as Lucene's `CJKBigramFilter`; an ideograph also alone, since it can be a word.
/// A query's characters alone only if there is no second one. Returns the number of characters.
fn each_pair(run: &Word<'_>, first: u32, purpose: Purpose, each: &mut impl FnMut(Atom<'_>, TermPosition)) -> u32 {
    let mut term = String::with_capacity(8);
    let mut last: Option<(usize, usize, char)> = None;
    let mut count = 0_u32;
    let alone = |(start, end, c): (usize, usize, char), count: u32, each: &mut dyn FnMut(Atom<'_>, TermPosition)| {
        let position = first.saturating_add(count);
        each(Atom::Exact(c.encode_utf8(&mut [0; 4])), TermPosition { start, end, position });
    };
    each_character(run, &mut |start, end, c| {
        if let Some((from, _, before)) = last {
            term.clear();
            term.extend([before, c]);
            let position = first.saturating_add(count.saturating_sub(1));
            each(Atom::Exact(&term), TermPosition { start: from, end, position });
        }
        if purpose == Purpose::Entry && is_ideograph(c) {
            alone((start, end, c), count, each);
        }
        last = Some((start, end, c));
        count = count.saturating_add(1);
    });
    if let (1, Some(only)) = (count, last)
        && !(purpose == Purpose::Entry && is_ideograph(only.2))
    {
        alone(only, 0, each);
    }
    count
}

/// Its characters in NFKC. Marks and invisible characters are skipped.
fn each_character(run: &Word<'_>, each: &mut impl FnMut(usize, usize, char)) {
    let mut held: Option<(usize, usize, char)> = None;
    for (at, c) in run.text.char_indices() {
        let (start, end) = (run.start + at, run.start + at + c.len_utf8());
        for part in std::iter::once(c).nfkc() {
            match held {
                // Half-width kana have their voicing mark as a separate character.
                Some((first, _, before)) if let Some(whole) = compose(before, part) => held = Some((first, end, whole)),
                _ if Script::of(part) != Script::Unspaced => {}
                _ => {
                    if let Some((from, to, before)) = held.replace((start, end, part)) {
                        each(from, to, before);
                    }
                }
            }
        }
    }
    if let Some((from, to, last)) = held {
        each(from, to, last);
    }
}
