//! Words of a text with their positions.

use unicode_segmentation::UnicodeSegmentation;

use super::MAX_WORD;
use super::script::Script;

/// A segment of text processed as a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// Byte offset in the text.
    pub start: usize,
    pub text: &'a str,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A word by UAX #29.
    Spaced,
    /// A run of a script without spaces.
    Unspaced,
    /// Several words joined by single characters to a name: `a@b.c`, `src/main.rs`, `AB-12`. Its words precede it.
    Joined,
}

/// Calls `each` for every word of a text, in order.
pub(crate) fn each_word<'a>(text: &'a str, each: &mut impl FnMut(Word<'a>)) {
    let mut start = 0;
    // No word crosses a space, and most segments between spaces are ASCII, which is faster to split.
    for stretch in text.split(|c: char| c.is_ascii_whitespace()) {
        let mut open = Open { text, joined: None, run: None };
        for (at, word) in stretch.unicode_word_indices() {
            if word.is_ascii() {
                open.spaced(start + at, word, each);
            } else {
                open.mixed(start + at, word, each);
            }
        }
        open.end(each);
        start += stretch.len() + 1;
    }
}

/// Pending word that the next one may extend.
struct Open<'a> {
    text: &'a str,
    joined: Option<Joined>,
    run: Option<(usize, usize)>,
}

struct Joined {
    start: usize,
    end: usize,
    words: usize,
    /// Whether one of its characters identifies it as a name rather than hyphenated words.
    named: Named,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    No,
    Yes,
}

impl<'a> Open<'a> {
    /// A word that may contain several scripts.
    fn mixed(&mut self, start: usize, word: &'a str, each: &mut impl FnMut(Word<'a>)) {
        let mut from = 0;
        let mut unspaced = None;
        for (at, c) in word.char_indices() {
            // Marks and similar characters belong to the preceding character.
            if !c.is_alphanumeric() && Script::of(c) != Script::Unspaced {
                continue;
            }
            let now = Script::of(c) == Script::Unspaced;
            if unspaced.is_some_and(|before| before != now) {
                self.piece(start + from, word.get(from..at).unwrap_or_default(), unspaced, each);
                from = at;
            }
            unspaced = Some(now);
        }
        self.piece(start + from, word.get(from..).unwrap_or_default(), unspaced, each);
    }

    fn piece(&mut self, start: usize, word: &'a str, unspaced: Option<bool>, each: &mut impl FnMut(Word<'a>)) {
        match unspaced {
            Some(true) => self.unspaced(start, word, each),
            Some(false) => self.spaced(start, word, each),
            None => {}
        }
    }

    fn unspaced(&mut self, start: usize, word: &'a str, each: &mut impl FnMut(Word<'a>)) {
        self.end_joined(each);
        let end = start + word.len();
        self.run = match self.run.take() {
            Some((first, last)) if last == start => Some((first, end)),
            before => {
                self.run = before;
                self.end_run(each);
                Some((start, end))
            }
        };
    }

    fn spaced(&mut self, start: usize, word: &'a str, each: &mut impl FnMut(Word<'a>)) {
        self.end_run(each);
        let end = start + word.len();
        let sign = self.joined.as_ref().and_then(|joined| self.text.get(joined.end..start)).map(str::as_bytes);
        match (&mut self.joined, sign) {
            (Some(joined), Some([sign @ (b'@' | b'/' | b'\\' | b'#' | b'&' | b'+' | b'-' | b'.' | b':')])) => {
                joined.end = end;
                joined.words += 1;
                if !matches!(sign, b'-' | b'.' | b':') {
                    joined.named = Named::Yes;
                }
            }
            _ => {
                self.end_joined(each);
                self.joined = Some(Joined { start, end, words: 1, named: Named::No });
            }
        }
        each(Word { start, text: word, kind: Kind::Spaced });
    }

    fn end(&mut self, each: &mut impl FnMut(Word<'a>)) {
        self.end_run(each);
        self.end_joined(each);
    }

    fn end_run(&mut self, each: &mut impl FnMut(Word<'a>)) {
        if let Some((start, end)) = self.run.take() {
            each(Word { start, text: self.text.get(start..end).unwrap_or_default(), kind: Kind::Unspaced });
        }
    }

    /// A name longer than the limit is only indexed by its words: truncated, it could match another one.
    fn end_joined(&mut self, each: &mut impl FnMut(Word<'a>)) {
        let Some(joined) = self.joined.take() else { return };
        if joined.words < 2 || joined.end - joined.start > MAX_WORD {
            return;
        }
        let text = self.text.get(joined.start..joined.end).unwrap_or_default();
        if joined.named == Named::Yes || text.bytes().any(|byte| byte.is_ascii_digit()) {
            each(Word { start: joined.start, text, kind: Kind::Joined });
        }
    }
}
