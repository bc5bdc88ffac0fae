//! The attempts at one segment: marks as `XQ0`, as `QZX0`, then in pieces; once more with numbers marked.

use super::core::{self, Piece, Spelling};
use super::inline::Inline;
use super::restore::{clean, has_mark, plain, restore, words_of};
use super::{AlignmentUse, SegmentReply, SegmentRequest, digits};
use crate::marks::TextFormat;

/// Letters from which a piece that touches a mark is a word, and no ending such as the `th` of `{}th`.
const ENDING: usize = 4;

/// What depends on the whole text, not on the segment.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) format: TextFormat,
    pub(super) to: String,
}

/// A finished segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) in_pieces: bool,
    pub(super) untranslated: bool,
}

#[derive(Debug)]
enum Attempt {
    Masked(Spelling),
    Pieces { pieces: Vec<Piece>, asked: Vec<usize> },
}

/// A segment that is being translated.
#[derive(Debug)]
pub(super) struct Ladder {
    core: Inline,
    source: String,
    attempt: Attempt,
    numbers_marked: bool,
}

impl Ladder {
    pub(super) fn new(core: Inline) -> Self {
        let source = core::source(&core);
        let mut ladder = Self { core, source, attempt: Attempt::Masked(Spelling::First), numbers_marked: false };
        ladder.begin();
        ladder
    }

    /// The segment's own words, without marks.
    pub(super) fn words(&self) -> String {
        self.core.plain.replace(super::inline::MARK, " ")
    }

    /// The segment as it is asked about.
    pub(super) fn core(&self) -> &Inline {
        &self.core
    }

    /// The first attempt: in pieces at once where marks cannot be spelled out.
    fn begin(&mut self) {
        self.attempt = Attempt::Masked(Spelling::First);
        if !core::can_mask(&self.core.plain) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let pieces = core::pieces(&self.core);
        let touches = |at: usize| {
            let (before, after) = (at.checked_sub(1).and_then(|at| pieces.get(at)), pieces.get(at + 1));
            let Some(Piece::Text(text)) = pieces.get(at) else { return false };
            let before = matches!(before, Some(Piece::Kept(mark)) if !mark.ends_with(char::is_whitespace));
            let after = matches!(after, Some(Piece::Kept(mark)) if !mark.starts_with(char::is_whitespace));
            (before && text.starts_with(char::is_alphanumeric)) || (after && text.ends_with(char::is_alphanumeric))
        };
        let letters = |text: &str| text.chars().filter(|it| it.is_alphabetic()).count();
        let is_word = |at: &usize| match pieces.get(*at) {
            Some(Piece::Text(text)) => letters(text) > 0 && (letters(text) >= ENDING || !touches(*at)),
            _ => false,
        };
        let asked = (0..pieces.len()).filter(is_word).collect();
        self.attempt = Attempt::Pieces { pieces, asked };
    }

    /// What to ask the engine now; empty where nothing is left to ask.
    pub(super) fn requests(&self) -> Vec<SegmentRequest> {
        match &self.attempt {
            Attempt::Masked(spelling) => {
                let aligned = if self.core.tags.is_empty() { AlignmentUse::Unused } else { AlignmentUse::Wanted };
                vec![SegmentRequest { text: ended(&core::masked(&self.core.plain, *spelling)), alignment: aligned }]
            }
            Attempt::Pieces { pieces, asked } => {
                let text = |at: &usize| match pieces.get(*at) {
                    Some(Piece::Text(text)) => ended(core_of(text).1),
                    _ => String::new(),
                };
                asked.iter().map(|at| SegmentRequest { text: text(at), alignment: AlignmentUse::Unused }).collect()
            }
        }
    }

    /// Takes the replies to [`Self::requests`]; the outcome, or `None` for a further attempt.
    pub(super) fn accept(&mut self, replies: &[SegmentReply], target: &Target) -> Option<Outcome> {
        match &self.attempt {
            Attempt::Masked(spelling) => self.accept_masked(replies.first()?, *spelling, target),
            Attempt::Pieces { .. } => self.accept_pieces(replies, target),
        }
    }

    fn accept_masked(&mut self, reply: &SegmentReply, spelling: Spelling, target: &Target) -> Option<Outcome> {
        let sent = core::masked(&self.core.plain, spelling);
        let output = unended(&sent, &clean(&reply.text));
        if output == clean(&sent) {
            // Unchanged: so are its line ends and the width of its spaces.
            return Some(Outcome { text: self.source.clone(), ..Outcome::default() });
        }
        let output = cased(&self.core.plain, &output, &target.to);
        let restored = if output.is_empty() {
            None
        } else {
            let alignment =
                reply.alignment.as_deref().map(|it| it.get(..output.split_whitespace().count()).unwrap_or(it));
            restore(&self.core, &output, spelling, alignment, target.format)
        };
        let Some(text) = restored else {
            match spelling {
                Spelling::First if has_mark(&self.core.plain) => self.attempt = Attempt::Masked(Spelling::Second),
                _ => self.cut(),
            }
            return None;
        };
        if !digits::same(&self.words(), &words_of(&output, spelling)) && !self.numbers_marked {
            return self.mark_numbers();
        }
        if self.numbers_marked && !digits::same(&self.words(), &words_of(&output, spelling)) {
            self.cut();
            return None;
        }
        Some(Outcome { text, ..Outcome::default() })
    }

    fn mark_numbers(&mut self) -> Option<Outcome> {
        self.core = core::with_numbers_marked(&self.core);
        self.numbers_marked = true;
        self.begin();
        None
    }

    fn accept_pieces(&mut self, replies: &[SegmentReply], target: &Target) -> Option<Outcome> {
        let Attempt::Pieces { pieces, asked } = &self.attempt else { return None };
        let mut texts: Vec<String> = pieces.iter().cloned().map(Piece::into_text).collect();
        let mut missed = 0;
        for (at, reply) in asked.iter().zip(replies) {
            let Some(slot) = texts.get_mut(*at) else { continue };
            let (lead, words, tail) = core_of(slot);
            let output = unended(words, &clean(&reply.text));
            if output == clean(words) {
                continue;
            }
            let output = cased(words, &output, &target.to);
            let Some(output) = plain(words, &output, target.format) else {
                missed += 1;
                continue;
            };
            if !digits::same(words, &output) {
                if !self.numbers_marked {
                    return self.mark_numbers();
                }
                missed += 1;
                continue;
            }
            let whole = format!("{lead}{output}{tail}");
            *slot = whole;
        }
        let whole = self.core.marks.is_empty() && self.core.tags.is_empty() && self.core.breaks.is_empty();
        Some(Outcome { text: texts.concat(), in_pieces: !whole, untranslated: missed > 0 })
    }

    /// The segment as it was.
    pub(super) fn give_up(&self) -> Outcome {
        Outcome { text: self.source.clone(), in_pieces: false, untranslated: true }
    }
}

/// A piece without what is no word at its ends.
fn core_of(text: &str) -> (&str, &str, &str) {
    let start = text.find(char::is_alphanumeric).unwrap_or(text.len());
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.char_indices().rfind(|(_, it)| it.is_alphanumeric()).map_or(0, |(at, it)| at + it.len_utf8());
    // The punctuation of a sentence goes along: an engine reads it.
    let tail = rest.get(end..).unwrap_or_default();
    let more = tail.len() - tail.trim_start_matches(['.', '!', '?', ',', ';', ':', '…', '。', '、', '，']).len();
    let (words, tail) = rest.split_at_checked(end + more).unwrap_or((rest, ""));
    (text.get(..start).unwrap_or_default(), words, tail)
}

/// Whether a text is so short that engines take it for a fragment of a sentence, and add to it.
fn is_short(text: &str) -> bool {
    text.split_whitespace().count() < 3 && text.ends_with(char::is_alphanumeric)
}

/// Short texts with a full stop.
fn ended(text: &str) -> String {
    if is_short(text) { format!("{text}.") } else { text.to_owned() }
}

/// The translation without the full stop that was added to its source.
fn unended(source: &str, output: &str) -> String {
    if !is_short(source) {
        return output.to_owned();
    }
    let output = output.trim_end();
    output.strip_suffix(['.', '。', '।', '۔', '።', '。']).unwrap_or(output).trim_end().to_owned()
}

/// The translation in lower case at its beginning where its source is. German writes nouns with a capital letter
/// anywhere.
fn cased(source: &str, output: &str, to: &str) -> String {
    let (mut letters, lower) = (output.chars(), source.starts_with(char::is_lowercase));
    match (letters.next(), letters.clone().next()) {
        (Some(first), second)
            if lower
                && !matches!(to, "de" | "lb")
                && first.is_uppercase()
                && second.is_none_or(|it| it.is_lowercase() || it == ' ') =>
        {
            first.to_lowercase().chain(letters).collect()
        }
        _ => output.to_owned(),
    }
}
