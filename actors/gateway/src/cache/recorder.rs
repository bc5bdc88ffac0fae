//! Records the events of a stream, to be stored at its proper end.

use muster_providers::{ChatEvent, Delta};

use super::{CachePlace, CachedAnswer, CachedContent};

/// Events of a stream so far. Dropped before the end, it stores nothing.
#[derive(Debug)]
pub(crate) struct Recorder {
    place: CachePlace,
    /// Bytes that may still be recorded.
    left: usize,
    bytes: usize,
    events: Vec<ChatEvent>,
}

impl Recorder {
    pub(super) fn new(place: CachePlace, largest: usize) -> Self {
        Self { place, left: largest, bytes: 0, events: Vec::new() }
    }

    /// Records a delta; returns whether there is room for more.
    pub(crate) fn delta(&mut self, delta: &Delta) -> bool {
        let bytes = std::mem::size_of::<ChatEvent>() + text_bytes(delta);
        match self.left.checked_sub(bytes) {
            Some(left) => {
                (self.left, self.bytes) = (left, self.bytes + bytes);
                self.events.push(ChatEvent::Delta(delta.clone()));
                true
            }
            None => false,
        }
    }

    /// Stores the stream, whose last event is this one, as the answer that `answer` makes of its events.
    pub(crate) fn done(mut self, last: ChatEvent, answer: impl FnOnce(CachedContent) -> CachedAnswer) {
        self.events.push(last);
        self.place.store(answer(CachedContent::Events(self.events)), self.bytes);
    }
}

fn text_bytes(delta: &Delta) -> usize {
    match delta {
        Delta::Text { text, .. } => text.len(),
        Delta::Tool { call, .. } => {
            call.arguments.len() + call.id.as_ref().map_or(0, String::len) + call.name.as_ref().map_or(0, String::len)
        }
        Delta::Finish { .. } => 0,
        Delta::Verbatim(chunk) => chunk.choices.len() + chunk.escaped.len(),
    }
}
