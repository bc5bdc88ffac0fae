//! Replaces the engine in builds without the feature `translate`.

use super::{TranslateError, TranslatedSegment, TranslationPair};

/// A model that never exists in this build.
#[derive(Debug)]
pub struct Translator {
    absent: std::convert::Infallible,
}

impl Translator {
    /// Refuses.
    ///
    /// # Errors
    /// Always [`TranslateError::NoEngine`].
    pub fn load(_: &TranslationPair) -> Result<Self, TranslateError> {
        Err(TranslateError::NoEngine)
    }

    /// The pair.
    pub fn pair(&self) -> &TranslationPair {
        match self.absent {}
    }

    /// Tokens of the vocabulary.
    pub fn tokens(&self, _: &str) -> usize {
        match self.absent {}
    }

    /// Translates segments.
    ///
    /// # Errors
    /// Never: no value of this type exists.
    pub fn translate_batch(&self, _: &[&str], _: &dyn Fn() -> bool) -> Result<Vec<TranslatedSegment>, TranslateError> {
        match self.absent {}
    }

    /// Translates one segment with its alignment.
    ///
    /// # Errors
    /// Never: no value of this type exists.
    pub fn translate_aligned(&self, _: &str) -> Result<TranslatedSegment, TranslateError> {
        match self.absent {}
    }
}
