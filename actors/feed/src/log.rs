//! Publications as the journal keeps them. A batch is told only after it was written as a whole.

use muster_store::{Journal, MAX_FRAME, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use muster_core::Millis;
use muster_core::event::{DropPolicy, Event, EventAttributes, Priority};

/// The format of what follows it; the low bits of the same byte say which part of a batch a frame is.
const VERSION: u8 = 1 << 2;
const FIRST: u8 = 1;
const LAST: u8 = 2;

/// One event and where it was told.
#[derive(Debug, Serialize, Deserialize)]
struct Line<'a> {
    id: &'a str,
    told: Millis,
    at: Millis,
    name: &'a str,
    traits: EventAttributes,
    priority: Priority,
    data: &'a str,
    #[serde(borrow)]
    places: Vec<(&'a str, u64)>,
}

/// An event that was read back, with its offsets on its channels.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) event: Event,
    pub(super) told: Millis,
    /// In the order of the event's channels.
    pub(super) offsets: Vec<u64>,
}

/// Lines for one batch.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// # Errors
    /// `BadRequest`: the event cannot be written.
    pub(super) fn line<'a>(
        &mut self,
        event: &'a Event,
        told: Millis,
        places: impl Iterator<Item = (&'a str, u64)>,
    ) -> Result<(), StoreError> {
        let line = Line {
            id: &event.id,
            told,
            at: event.at,
            name: &event.name,
            traits: event.traits.clone(),
            priority: event.priority,
            data: event.data.get(),
            places: places.collect(),
        };
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(&line, bytes).map_err(|error| StoreError::BadRequest(error.to_string()))?;
        Ok(())
    }

    /// Appends the batch, one write for each 64 KiB; answers the first number. Blocking, without a sync.
    ///
    /// # Errors
    /// The disk takes nothing: then the batch is not there, whatever part of it was written.
    pub(super) fn append(&self, journal: &Journal) -> Result<u64, StoreError> {
        let parts = self.bytes.chunks(MAX_FRAME - 1);
        let (count, mut number) = (parts.len(), None);
        for (at, part) in parts.enumerate() {
            let first = if at == 0 { FIRST } else { 0 };
            let last = if at + 1 == count { LAST } else { 0 };
            let mut frame = Vec::with_capacity(part.len() + 1);
            frame.push(VERSION | first | last);
            frame.extend_from_slice(part);
            let written = journal.append(&frame)?;
            number.get_or_insert(written);
        }
        number.ok_or_else(|| StoreError::BadRequest("an empty batch".to_owned()))
    }
}

/// Puts batches together from frames.
#[derive(Debug, Default)]
pub(super) struct Reader {
    batch: Vec<u8>,
    open: bool,
    first: u64,
    last: u64,
    broken: bool,
}

impl Reader {
    /// Takes the next frame, and hands on each event of a batch that it ends, with the number of the batch's first frame.
    pub(super) fn frame(&mut self, number: u64, payload: &[u8], each: impl FnMut(u64, Told)) {
        // Numbers leap only from one opening of the journal to the next.
        let same_opening = number >> 32 == self.last >> 32;
        self.broken |= same_opening && number != self.last + 1;
        let follows = number == self.last + 1;
        self.last = number;
        let Some((&tag, part)) = payload.split_first() else { return };
        if tag & !(FIRST | LAST) != VERSION {
            tracing::error!(number, "a frame of the feed's journal is of a newer program");
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

    fn lines(&mut self, mut each: impl FnMut(u64, Told)) {
        let mut rest = self.batch.as_slice();
        while !rest.is_empty() {
            let read = postcard::take_from_bytes::<Line<'_>>(rest).ok();
            let Some((told, left)) = read.and_then(|(line, left)| Some((told(line)?, left))) else {
                tracing::error!(number = self.first, "a line of the feed's journal cannot be read");
                self.broken = true;
                return;
            };
            each(self.first, told);
            rest = left;
        }
    }

    /// Number of the last frame, and whether any are missing between.
    pub(super) fn end(&self) -> (u64, bool) {
        (self.last, self.broken)
    }
}

fn told(line: Line<'_>) -> Option<Told> {
    let (channels, offsets) = line.places.iter().map(|(channel, offset)| ((*channel).to_owned(), *offset)).unzip();
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
    Some(Told { event, told: line.told, offsets })
}
