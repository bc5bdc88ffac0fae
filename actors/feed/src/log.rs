//! Encoding of publications in the journal. A batch is published only after it was written completely.

use muster_store::{Journal, MAX_FRAME, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use muster_core::Millis;
use muster_core::event::{DropPolicy, Event, EventAttributes, Priority};

/// Format version; the low bits of the same byte mark the first and the last frame of a batch.
const VERSION: u8 = 1 << 2;
const FIRST: u8 = 1;
const LAST: u8 = 2;

/// An event and its positions, as written to the journal.
#[derive(Debug, Serialize, Deserialize)]
struct JournalLine<'a> {
    id: &'a str,
    published_at: Millis,
    at: Millis,
    name: &'a str,
    traits: EventAttributes,
    priority: Priority,
    data: &'a str,
    #[serde(borrow)]
    positions: Vec<(&'a str, u64)>,
}

/// An event read from the journal, with its offsets on its channels.
#[derive(Debug)]
pub(super) struct LoggedEvent {
    pub(super) event: Event,
    pub(super) published_at: Millis,
    /// In the order of the event's channels.
    pub(super) offsets: Vec<u64>,
}

/// Collects the lines of a batch.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends an event.
    ///
    /// # Errors
    ///
    /// `BadRequest` if the event cannot be encoded.
    pub(super) fn line<'a>(
        &mut self,
        event: &'a Event,
        published_at: Millis,
        positions: impl Iterator<Item = (&'a str, u64)>,
    ) -> Result<(), StoreError> {
        let line = JournalLine {
            id: &event.id,
            published_at,
            at: event.at,
            name: &event.name,
            traits: event.traits.clone(),
            priority: event.priority,
            data: event.data.get(),
            positions: positions.collect(),
        };
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(&line, bytes).map_err(|error| StoreError::BadRequest(error.to_string()))?;
        Ok(())
    }

    /// Appends the batch to the journal, with one write per 64 KiB; returns the number of the first frame. Blocking,
    /// without a sync.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written: the batch is then absent, whatever part of it was written.
    pub(super) fn append(&self, journal: &Journal) -> Result<u64, StoreError> {
        let parts = self.bytes.chunks(MAX_FRAME - 1);
        let (count, mut number) = (parts.len(), None);
        for (index, part) in parts.enumerate() {
            let first = if index == 0 { FIRST } else { 0 };
            let last = if index + 1 == count { LAST } else { 0 };
            let mut frame = Vec::with_capacity(part.len() + 1);
            frame.push(VERSION | first | last);
            frame.extend_from_slice(part);
            let written = journal.append(&frame)?;
            number.get_or_insert(written);
        }
        number.ok_or_else(|| StoreError::BadRequest("an empty batch".to_owned()))
    }
}

/// Reassembles batches from frames.
#[derive(Debug, Default)]
pub(super) struct Reader {
    batch: Vec<u8>,
    open: bool,
    first: u64,
    last: u64,
    broken: bool,
}

impl Reader {
    /// Processes the next frame. If it completes a batch, passes each event to `each` with the number of the batch's
    /// first frame.
    pub(super) fn frame(&mut self, number: u64, payload: &[u8], each: impl FnMut(u64, LoggedEvent)) {
        // Numbers skip only between two openings of the journal.
        let same_opening = number >> 32 == self.last >> 32;
        self.broken |= same_opening && number != self.last + 1;
        let follows = number == self.last + 1;
        self.last = number;
        let Some((&tag, part)) = payload.split_first() else { return };
        if tag & !(FIRST | LAST) != VERSION {
            tracing::error!(number, "a frame of the feed's journal was written by a newer version");
            self.broken = true;
            return;
        }
        if tag & FIRST != 0 {
            self.batch.clear();
            (self.open, self.first) = (true, number);
        } else if !follows {
            self.open = false;
        }
        if !self.open {
            return;
        }
        self.batch.extend_from_slice(part);
        if tag & LAST != 0 {
            self.open = false;
            self.lines(each);
        }
    }

    fn lines(&mut self, mut each: impl FnMut(u64, LoggedEvent)) {
        let mut rest = self.batch.as_slice();
        while !rest.is_empty() {
            let read = postcard::take_from_bytes::<JournalLine<'_>>(rest).ok();
            let Some((logged, left)) = read.and_then(|(line, left)| Some((logged_event(line)?, left))) else {
                tracing::error!(number = self.first, "a line of the feed's journal cannot be read");
                self.broken = true;
                return;
            };
            each(self.first, logged);
            rest = left;
        }
    }

    /// Returns the number of the last frame, and whether frames are missing in between.
    pub(super) fn end(&self) -> (u64, bool) {
        (self.last, self.broken)
    }
}

fn logged_event(line: JournalLine<'_>) -> Option<LoggedEvent> {
    let (channels, offsets) = line.positions.iter().map(|(channel, offset)| ((*channel).to_owned(), *offset)).unzip();
    let event = Event {
        id: line.id.to_owned(),
        at: line.at,
        name: line.name.to_owned(),
        channels,
        data: RawValue::from_string(line.data.to_owned()).ok()?,
        traits: line.traits,
        priority: line.priority,
        loss: DropPolicy::Never,
    };
    Some(LoggedEvent { event, published_at: line.published_at, offsets })
}
