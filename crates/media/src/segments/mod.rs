//! Translation of a text in segments, by any engine, with what must survive protected.
//!
//! A text is cut into blocks, sentences and, where an engine's limit asks for it, parts of sentences. What must survive
//! ([`crate::marks`]) goes to the engine as `XQ0`, `XQ1` … and must come back once each; else the segment is tried with
//! `QZX0`, and else cut at the marks, so that the engine sees none. Tags around words follow the alignment of words
//! where the engine states one; else the segment is cut at them too. Numbers are left to the engine, and marked in a
//! second try where its digits differ. So the translation holds every mark, tag and line end of the text exactly once,
//! whatever the engine returns.
//!
//! [`Translation`] does no input or output: it hands out requests and takes replies, so that an engine may be a
//! function, a process or a provider. [`translate_text`] drives it with a [`SegmentEngine`].

mod align;
mod blocks;
mod core;
mod digits;
mod inline;
mod job;
mod ladder;
mod restore;
mod sentences;
mod suspects;

pub use job::{Translation, WINDOW};
pub use suspects::{Suspect, SuspectReason};

use crate::marks::{Glossary, TextFormat};

/// Characters of the longest text that is meant; longer ones work, and take their time.
pub const MAX_TEXT_CHARS: usize = 20_000;

/// What an engine is asked to translate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentRequest {
    /// One segment, on one line, with marks written as `XQ0`.
    pub text: String,
    /// Whether an alignment is of use.
    pub alignment: AlignmentUse,
}

/// Whether the alignment of a segment is of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlignmentUse {
    /// Tags follow it. An engine without alignments returns none.
    Wanted,
    /// Nothing depends on it.
    Unused,
}

/// What an engine returned for a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SegmentReply {
    /// The translation.
    pub text: String,
    /// For each word of the translation (separated by white space) the word of the request that it stands for.
    pub alignment: Option<Vec<Option<usize>>>,
}

/// Why a text was not translated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Whoever waited is gone.
    #[error("stopped")]
    Stopped,
    /// The engine failed.
    #[error("{0}")]
    Failed(String),
    /// The engine's replies are not one for each request.
    #[error("the engine returned {found} segments for {expected}; try again or choose another engine")]
    Count {
        /// Segments that were sent.
        expected: usize,
        /// Segments that came back.
        found: usize,
    },
}

/// An engine that translates segments one by one or together.
pub trait SegmentEngine {
    /// Translates segments; the replies are in the order of the requests.
    ///
    /// # Errors
    /// The engine failed or was stopped; nothing of the text is translated then.
    fn translate(&mut self, requests: &[SegmentRequest]) -> Result<Vec<SegmentReply>, SegmentError>;

    /// Whether a segment is within the engine's limit. Longer ones are cut. By default all are.
    fn fits(&self, _segment: &str) -> bool {
        true
    }
}

/// How a text is to be translated.
#[derive(Debug, Clone, Copy)]
pub struct TextOptions<'a> {
    /// Markup of the text.
    pub format: TextFormat,
    /// Code of the language translated to.
    pub to: &'a str,
    /// Terms and their translations.
    pub glossary: &'a Glossary,
}

/// A segment as it stands in the translation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedSegment {
    /// Number of the segment, from 0.
    pub index: usize,
    /// The translation with what stands before it; the last one also with what stands after it. One after the other
    /// they are the translated text.
    pub translation: String,
}

/// A translated text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Translated {
    /// The whole text.
    pub text: String,
    /// Its segments; none where nothing was left to translate.
    pub segments: usize,
    /// Segments that should be looked at.
    pub suspects: Vec<Suspect>,
    /// Codes, each once: `untranslated_segments` (of some nothing usable came back; they stand in the language of the
    /// source), `cut_at_marks` (some were translated in pieces, with less context), `choices_not_translated` (the
    /// texts in
    /// `{n, plural, …}` stand as they were).
    pub warnings: Vec<&'static str>,
}

/// The language of a text, where it is certain: how `suspects` learns of segments in another one.
pub type LanguageOf<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Translates a text with an engine. `each` is called for each segment in order as soon as it stands.
///
/// # Errors
/// What the engine returned.
pub fn translate_text(
    text: &str,
    options: &TextOptions<'_>,
    engine: &mut dyn SegmentEngine,
    language_of: Option<LanguageOf<'_>>,
    each: &mut dyn FnMut(&FinishedSegment),
) -> Result<Translated, SegmentError> {
    let mut translation = Translation::new(text, options, &|segment| engine.fits(segment));
    loop {
        let requests = translation.requests();
        if requests.is_empty() {
            break;
        }
        translation.accept(engine.translate(&requests)?)?;
        while let Some(segment) = translation.next_finished() {
            each(&segment);
        }
    }
    while let Some(segment) = translation.next_finished() {
        each(&segment);
    }
    Ok(translation.finish(language_of))
}

#[cfg(test)]
mod tests;
