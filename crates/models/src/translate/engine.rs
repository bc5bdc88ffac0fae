//! The engine: one loaded pair.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fxtranslate::engine::{Aligned, Engine, Token};

use super::words::{source_words, strongest, target_words};
use super::{BATCH, MAX_SEGMENT_TOKENS, TranslateError, TranslatedSegment, TranslationPair};

/// A loaded pair of languages. Deterministic; holds some 50 MB for the small models.
pub struct Translator {
    engine: Engine,
    pair: TranslationPair,
}

impl fmt::Debug for Translator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Translator").field("pair", &self.pair).finish_non_exhaustive()
    }
}

impl Translator {
    /// Verifies and loads a pair. Blocks.
    ///
    /// # Errors
    /// A file is absent, differs from the manifest or is no such model; the processor lacks an instruction set.
    pub fn load(pair: &TranslationPair) -> Result<Self, TranslateError> {
        check_processor()?;
        pair.verify()?;
        let (source, target) = pair.vocabularies();
        // The parser trusts a file's own lengths and panics on some that no published model has. The weights are
        // copied, not mapped: a mapped file that is cut short kills the process.
        let loaded = catch_unwind(|| Engine::load(pair.weights(), source, target));
        let unusable = |why: String| TranslateError::Unusable { pair: pair.id(), why };
        let engine = match loaded {
            Ok(Ok(engine)) => engine,
            Ok(Err(why)) => return Err(unusable(why)),
            Err(_) => return Err(unusable("a file is damaged".to_owned())),
        };
        let translator = Self { engine, pair: pair.clone() };
        // A model with too few or differently named tensors loads, and fails at its first use.
        translator.guarded(|engine| engine.translate("1")).map_err(|_| unusable("tensors are missing".to_owned()))?;
        Ok(translator)
    }

    /// The pair.
    pub fn pair(&self) -> &TranslationPair {
        &self.pair
    }

    /// Tokens of a text in the vocabulary of the source, without the one that ends it.
    pub fn tokens(&self, text: &str) -> usize {
        self.guarded(|engine| engine.src_ids(text).len().saturating_sub(1)).unwrap_or(usize::MAX)
    }

    /// Translates segments in batches of [`BATCH`] of like length; the results are in the order of the segments.
    /// `stop` is called before each batch. A segment of over [`MAX_SEGMENT_TOKENS`] is cut at white space, or else
    /// between characters, and its parts are joined by the same.
    ///
    /// # Errors
    /// [`TranslateError::Stopped`], or the engine failed.
    pub fn translate_batch(
        &self,
        texts: &[&str],
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<TranslatedSegment>, TranslateError> {
        let mut parts: Vec<Part<'_>> = Vec::new();
        for (segment, text) in texts.iter().enumerate() {
            self.cut(segment, text, &mut parts);
        }
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|index| parts.get(*index).map_or(0, |part| part.tokens));
        let mut results = vec![String::new(); parts.len()];
        for batch in order.chunks(BATCH) {
            if stop() {
                return Err(TranslateError::Stopped);
            }
            let sources: Vec<&str> = batch.iter().filter_map(|index| parts.get(*index)).map(|part| part.text).collect();
            let translated = self.guarded(|engine| engine.translate_batch(&sources))?;
            for (index, text) in batch.iter().zip(translated) {
                if let Some(result) = results.get_mut(*index) {
                    *result = text;
                }
            }
        }
        Ok(join(texts.len(), &parts, &results))
    }

    /// Translates one segment and aligns its words. Without alignment where the segment is over [`MAX_SEGMENT_TOKENS`].
    ///
    /// # Errors
    /// The engine failed.
    pub fn translate_aligned(&self, text: &str) -> Result<TranslatedSegment, TranslateError> {
        if self.tokens(text) > MAX_SEGMENT_TOKENS {
            let mut translated = self.translate_batch(&[text], &|| false)?;
            return translated.pop().ok_or_else(|| self.failed());
        }
        let aligned = self.guarded(|engine| engine.translate_aligned(text))?;
        let alignment = align(text, &aligned);
        Ok(TranslatedSegment { text: aligned.target_text, alignment })
    }

    fn cut<'a>(&self, segment: usize, text: &'a str, parts: &mut Vec<Part<'a>>) {
        let tokens = self.tokens(text);
        match middle(text).filter(|_| tokens > MAX_SEGMENT_TOKENS) {
            Some((first, rest)) => {
                self.cut(segment, first, parts);
                self.cut(segment, rest, parts);
            }
            None => parts.push(Part { segment, text, tokens }),
        }
    }

    fn failed(&self) -> TranslateError {
        TranslateError::Failed { pair: self.pair.id() }
    }

    /// Runs the engine; a panic inside it (a damaged model of an operator) is an error. It has no state that a panic
    /// could leave half changed.
    fn guarded<T>(&self, run: impl FnOnce(&Engine) -> T) -> Result<T, TranslateError> {
        catch_unwind(AssertUnwindSafe(|| run(&self.engine))).map_err(|_| self.failed())
    }
}

/// What is translated at once: a segment or a part of one.
struct Part<'a> {
    segment: usize,
    text: &'a str,
    tokens: usize,
}

/// Halves a text at the white space nearest to its middle, which stays with the first half, else between characters. Of
/// two that are equally near the first counts.
fn middle(text: &str) -> Option<(&str, &str)> {
    let distance = |at: usize| at.abs_diff(text.len() / 2);
    let spaces = text.char_indices().filter(|(_, character)| character.is_whitespace());
    let after = spaces.map(|(at, space)| at + space.len_utf8()).filter(|at| *at < text.len());
    let characters = text.char_indices().map(|(at, _)| at).skip(1);
    let at = after.min_by_key(|at| distance(*at)).or_else(|| characters.min_by_key(|at| distance(*at)))?;
    text.split_at_checked(at)
}

fn join(segments: usize, parts: &[Part<'_>], results: &[String]) -> Vec<TranslatedSegment> {
    let mut joined = vec![TranslatedSegment { text: String::new(), alignment: None }; segments];
    let mut spaced = false;
    let mut last = None;
    for (part, result) in parts.iter().zip(results) {
        let Some(segment) = joined.get_mut(part.segment) else { continue };
        if spaced && last == Some(part.segment) && !segment.text.is_empty() && !result.is_empty() {
            segment.text.push(' ');
        }
        segment.text.push_str(result);
        spaced = part.text.ends_with(char::is_whitespace);
        last = Some(part.segment);
    }
    joined
}

/// Aligns words by the attention of their tokens; `None` if normalisation changed the number of words.
fn align(text: &str, aligned: &Aligned) -> Option<Vec<Option<usize>>> {
    let (source, target) = (source_words(&aligned.source_normalized), target_words(&aligned.target_text));
    if source.last().map_or(0, |word| word + 1) != text.split_whitespace().count() {
        return None;
    }
    // A token that ends text, with an empty span, belongs to no word.
    let word = |token: &Token, words: &[usize]| {
        (token.begin < token.end).then(|| words.get(token.end.saturating_sub(1)).copied()).flatten()
    };
    let columns: Vec<Option<usize>> = aligned.source_tokens.iter().map(|token| word(token, &source)).collect();
    let rows = aligned.target_tokens.iter().zip(&aligned.alignments);
    let rows = rows.filter_map(|(token, row)| Some((word(token, &target)?, row.as_slice())));
    Some(strongest(aligned.target_text.split_whitespace().count(), rows, &columns))
}

#[cfg(target_arch = "x86_64")]
fn check_processor() -> Result<(), TranslateError> {
    if std::is_x86_feature_detected!("avx2") { Ok(()) } else { Err(TranslateError::Processor("AVX2")) }
}

#[cfg(target_arch = "aarch64")]
fn check_processor() -> Result<(), TranslateError> {
    if std::arch::is_aarch64_feature_detected!("i8mm") { Ok(()) } else { Err(TranslateError::Processor("I8MM")) }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn check_processor() -> Result<(), TranslateError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_halved_at_white_space_and_else_between_characters() {
        assert_eq!(middle("one two fourteen"), Some(("one two ", "fourteen")));
        // 13 bytes: white space ends at 4 and at 8, both 2 from the middle.
        assert_eq!(middle("one two three"), Some(("one ", "two three")));
        assert_eq!(middle("ação"), Some(("aç", "ão")));
        assert_eq!(middle("a"), None);
        assert_eq!(middle(""), None);
    }

    #[test]
    fn parts_are_joined_as_they_were_separated() {
        let part = |segment, text| Part { segment, text, tokens: 1 };
        let parts = [part(0, "a "), part(0, "b"), part(0, "c"), part(2, "d")];
        let joined = join(3, &parts, &["1".into(), "2".into(), "3".into(), "4".into()]);
        let texts: Vec<&str> = joined.iter().map(|segment| segment.text.as_str()).collect();
        assert_eq!(texts, ["1 23", "", "4"]);
    }
}
