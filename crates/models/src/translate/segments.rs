//! The embedded translator as an engine of segments.

use std::fmt;

use muster_media::segments::{AlignmentUse, SegmentEngine, SegmentError, SegmentReply, SegmentRequest};

use super::{MAX_SEGMENT_TOKENS, TranslateError, TranslatedSegment, Translator};

/// A loaded pair, and whether to go on.
pub struct NeuralSegments<'a> {
    translator: &'a Translator,
    stop: &'a dyn Fn() -> bool,
}

impl fmt::Debug for NeuralSegments<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NeuralSegments").field("translator", self.translator).finish_non_exhaustive()
    }
}

impl<'a> NeuralSegments<'a> {
    /// An engine that calls `stop` before each batch.
    pub fn new(translator: &'a Translator, stop: &'a dyn Fn() -> bool) -> Self {
        Self { translator, stop }
    }
}

impl SegmentEngine for NeuralSegments<'_> {
    fn translate(&mut self, requests: &[SegmentRequest]) -> Result<Vec<SegmentReply>, SegmentError> {
        let plain = requests.iter().filter(|request| request.alignment == AlignmentUse::Unused);
        let plain: Vec<&str> = plain.map(|request| request.text.as_str()).collect();
        let mut translated = self.translator.translate_batch(&plain, self.stop).map_err(refused)?.into_iter();
        let mut replies = Vec::with_capacity(requests.len());
        for request in requests {
            let segment = match request.alignment {
                AlignmentUse::Unused => {
                    translated.next().unwrap_or(TranslatedSegment { text: String::new(), alignment: None })
                }
                AlignmentUse::Wanted if (self.stop)() => return Err(SegmentError::Stopped),
                AlignmentUse::Wanted => self.translator.translate_aligned(&request.text).map_err(refused)?,
            };
            replies.push(SegmentReply { text: segment.text, alignment: segment.alignment });
        }
        Ok(replies)
    }

    fn fits(&self, segment: &str) -> bool {
        self.translator.tokens(segment) <= MAX_SEGMENT_TOKENS
    }
}

fn refused(error: TranslateError) -> SegmentError {
    match error {
        TranslateError::Stopped => SegmentError::Stopped,
        other => SegmentError::Failed(other.to_string()),
    }
}
