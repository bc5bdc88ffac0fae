//! A translation in progress.

use std::collections::VecDeque;

use super::core::{self, Section, Spelling};
use super::ladder::{Ladder, Outcome, Target};
use super::{FinishedSegment, LanguageOf, SegmentError, SegmentReply, SegmentRequest, Suspect, SuspectReason};
use super::{TextOptions, Translated, blocks, inline, sentences, suspects};

/// Segments that are in work at a time, so that the first ones stand before the last are begun.
pub const WINDOW: usize = 48;
/// Attempts at a segment: two spellings and pieces, without and with marked numbers, and one to spare.
const MAX_ROUNDS: usize = 8;

#[derive(Debug)]
struct Slot {
    /// What stands before the segment.
    lead: String,
    ladder: Ladder,
    outcome: Option<Outcome>,
}

/// A translation in progress: hands out requests, takes replies, returns segments in order. It asks nothing twice at
/// once and ends after a bounded number of rounds.
#[derive(Debug)]
pub struct Translation {
    target: Target,
    slots: Vec<Slot>,
    /// What stands after the last segment.
    tail: String,
    /// Choices by number or word, whose texts are not translated, are in the text.
    choices: bool,
    /// First segment of the window, and how often it was asked about.
    first: usize,
    rounds: usize,
    /// Segment and number of its requests, of those that were handed out last.
    pending: Vec<(usize, usize)>,
    finished: VecDeque<FinishedSegment>,
}

impl Translation {
    /// Cuts a text into segments, each of which `fits` holds for.
    pub fn new(text: &str, options: &TextOptions<'_>, fits: &dyn Fn(&str) -> bool) -> Self {
        let (mut slots, mut lead, mut at, mut choices) = (Vec::new(), String::new(), 0, false);
        // The longer spelling and a full stop must fit too.
        let fits = |plain: &str| fits(&format!("{}.", core::masked(plain, Spelling::Second)));
        for block in blocks::find(text, options.format) {
            lead.push_str(text.get(at..block.range.start).unwrap_or_default());
            at = block.range.end;
            let inline = inline::read(text, &block, options.format, options.glossary);
            choices |= inline.marks.iter().any(|mark| is_choice(mark));
            let ranges = sentences::split(&inline.plain).into_iter();
            let ranges: Vec<_> = ranges.flat_map(|range| sentences::fit(&inline.plain, range, &fits)).collect();
            for section in core::sections(&inline, &ranges) {
                match section {
                    Section::Kept(text) => lead.push_str(&text),
                    Section::Segment(core) => {
                        slots.push(Slot { lead: std::mem::take(&mut lead), ladder: Ladder::new(core), outcome: None });
                    }
                }
            }
        }
        lead.push_str(text.get(at..).unwrap_or_default());
        let target = Target { format: options.format, to: options.to.to_owned() };
        Self { target, slots, tail: lead, choices, first: 0, rounds: 0, pending: Vec::new(), finished: VecDeque::new() }
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.slots.len()
    }

    /// What the engine is to translate next; empty at the end. Replies are due before it is called again.
    pub fn requests(&mut self) -> Vec<SegmentRequest> {
        loop {
            let (mut requests, mut pending) = (Vec::new(), Vec::new());
            let window = self.slots.iter_mut().enumerate().skip(self.first).take(WINDOW);
            for (index, slot) in window.filter(|(_, slot)| slot.outcome.is_none()) {
                let wanted = slot.ladder.requests();
                // A segment of marks and endings only has nothing to ask.
                if wanted.is_empty() {
                    slot.outcome = slot.ladder.accept(&[], &self.target).or_else(|| Some(slot.ladder.give_up()));
                    continue;
                }
                pending.push((index, wanted.len()));
                requests.extend(wanted);
            }
            self.pending = pending;
            if !requests.is_empty() || self.first >= self.slots.len() {
                return requests;
            }
            self.advance();
        }
    }

    /// Takes the replies to the last requests, in their order.
    ///
    /// # Errors
    /// There are more or fewer replies than requests.
    pub fn accept(&mut self, replies: Vec<SegmentReply>) -> Result<(), SegmentError> {
        let expected = self.pending.iter().map(|(_, count)| count).sum();
        if replies.len() != expected {
            return Err(SegmentError::Count { expected, found: replies.len() });
        }
        self.rounds += 1;
        let mut rest = replies.as_slice();
        for (index, count) in std::mem::take(&mut self.pending) {
            let (own, others) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            rest = others;
            if let Some(slot) = self.slots.get_mut(index) {
                slot.outcome = slot.ladder.accept(own, &self.target);
                if slot.outcome.is_none() && self.rounds >= MAX_ROUNDS {
                    slot.outcome = Some(slot.ladder.give_up());
                }
            }
        }
        self.advance();
        Ok(())
    }

    /// Segments that stand leave the window in order; a window that is done makes place for the next.
    fn advance(&mut self) {
        let last = self.slots.len();
        let mut left = 0;
        while let Some(slot) = self.slots.get(self.first) {
            let Some(outcome) = &slot.outcome else { break };
            let tail = if self.first + 1 == last { self.tail.as_str() } else { "" };
            let translation = format!("{}{}{tail}", slot.lead, outcome.text);
            self.finished.push_back(FinishedSegment { index: self.first, translation });
            self.first += 1;
            left += 1;
        }
        if left > 0 {
            self.rounds = 0;
        }
    }

    /// The next segment that stands, in order.
    pub fn next_finished(&mut self) -> Option<FinishedSegment> {
        self.finished.pop_front()
    }

    /// The whole text, once no request is left; segments without replies stand as they were.
    pub fn finish(self, language_of: Option<LanguageOf<'_>>) -> Translated {
        let mut translated = Translated { segments: self.slots.len(), ..Translated::default() };
        let (mut in_pieces, mut untranslated) = (false, false);
        for (index, slot) in self.slots.into_iter().enumerate() {
            let outcome = slot.outcome.unwrap_or_else(|| slot.ladder.give_up());
            translated.text.push_str(&slot.lead);
            translated.text.push_str(&outcome.text);
            in_pieces |= outcome.in_pieces;
            untranslated |= outcome.untranslated;
            let source = core::source(slot.ladder.core());
            let mut reasons = suspects::reasons(&source, &outcome.text, &self.target.to, language_of);
            if outcome.untranslated {
                reasons.push(SuspectReason::Untranslated);
            }
            if !reasons.is_empty() {
                translated.suspects.push(Suspect { index, reasons });
            }
        }
        translated.text.push_str(&self.tail);
        let codes = [
            (untranslated, "untranslated_segments"),
            (in_pieces, "cut_at_marks"),
            (self.choices, "choices_not_translated"),
        ];
        translated.warnings = codes.into_iter().filter(|(given, _)| *given).map(|(_, code)| code).collect();
        translated
    }
}

/// Whether a mark is a choice of texts, as ICU writes it.
fn is_choice(mark: &str) -> bool {
    let inner = mark.split('{').nth(2);
    inner.is_some() && ["plural", "select"].iter().any(|word| mark.contains(word))
}
