//! Serialised collection: entries, text index, vectors. Derived orders and sets are not written, but rebuilt from the
//! entries.

use std::io::{self, Read, Write};
use std::sync::Arc;

use roaring::RoaringBitmap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Collection;
use super::document::Entry;
use super::entries::at;
use super::names::{Held, Names};
use super::order::Order;
use crate::{DocNo, Language, TextIndex, VectorIndex, text, vector};

const MAGIC: &[u8; 8] = b"mstrcol1";
/// Entries per frame.
const FRAME: usize = 1_024;

/// Why a collection cannot be decoded. No part of it is used: it must be rebuilt from the entries.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The reader failed, or the data is incomplete.
    #[error("the collection cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The data is of another format or version.
    #[error("the data is not a collection of this version: rebuild it from the entries")]
    Version,
    /// A part, named by the value, is damaged.
    #[error("the collection is damaged ({0}): rebuild it from the entries")]
    Damaged(&'static str),
    /// The text index is invalid.
    #[error(transparent)]
    Text(#[from] text::DecodeError),
    /// The vector index is invalid.
    #[error(transparent)]
    Vectors(#[from] vector::DecodeError),
}

impl Collection {
    /// Writes the collection.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        let mut sum = 0;
        let mut frame = |bytes: Vec<u8>| {
            let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
            sum = crc32c::crc32c_append(sum, &bytes);
            out.write_all(&length.to_le_bytes())?;
            out.write_all(&bytes)
        };
        frame(bytes(&self.language)?)?;
        frame(bytes(&self.tags.names().collect::<Vec<_>>())?)?;
        frame(bytes(&self.threads.names().collect::<Vec<_>>())?)?;
        frame(bytes(&self.len())?)?;
        let all: Vec<u32> = self.live.iter().collect();
        for docs in all.chunks(FRAME) {
            let entries: Vec<(u32, &Entry)> =
                docs.iter().filter_map(|doc| Some((*doc, self.entry(DocNo(*doc))?))).collect();
            frame(bytes(&entries)?)?;
        }
        out.write_all(&sum.to_le_bytes())?;
        self.text.encode(out)?;
        self.vectors.encode(out)
    }

    /// Reads what [`Collection::encode`] wrote, including its options, and nothing after it. Memory is only allocated
    /// for data that was read.
    ///
    /// # Errors
    /// Invalid or incomplete data.
    pub fn decode(input: &mut dyn Read) -> Result<Self, DecodeError> {
        let mut magic = [0; 8];
        input.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Err(DecodeError::Version);
        }
        let mut frames = Frames { input, sum: 0 };
        let language: Language = frames.next()?;
        let tags: Vec<Option<String>> = frames.next()?;
        let threads: Vec<Option<String>> = frames.next()?;
        let count: usize = frames.next()?;
        let mut entries: Vec<(u32, Entry)> = Vec::new();
        while entries.len() < count {
            let more: Vec<(u32, Entry)> = frames.next()?;
            if more.is_empty() {
                return Err(DecodeError::Damaged("entries"));
            }
            entries.extend(more);
        }
        frames.check()?;
        let (text, vectors) = (TextIndex::decode(input)?, VectorIndex::decode(input)?);
        let mut all = Self::of(language, text, vectors);
        all.restore(entries, tags, threads).ok_or(DecodeError::Damaged("its parts are inconsistent"))?;
        Ok(all)
    }

    /// Returns `None` if the parts are inconsistent.
    fn restore(
        &mut self,
        entries: Vec<(u32, Entry)>,
        tags: Vec<Option<String>>,
        threads: Vec<Option<String>>,
    ) -> Option<()> {
        let mut tagged: Vec<RoaringBitmap> = vec![RoaringBitmap::new(); tags.len()];
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); threads.len()];
        let mut with_vector = 0;
        for (doc, entry) in &entries {
            let fits = self.text.contains(DocNo(*doc)) && self.live.insert(*doc);
            fits.then_some(())?;
            for tag in &entry.tags {
                tagged.get_mut(*tag as usize)?.insert(*doc);
            }
            if let Some(thread) = entry.thread {
                members.get_mut(thread as usize)?.push(*doc);
            }
            with_vector += usize::from(self.vectors.contains(DocNo(*doc)));
        }
        (self.text.len() == entries.len() && self.vectors.len() == with_vector).then_some(())?;
        for (doc, entry) in entries {
            while self.entries.len() <= doc as usize {
                self.entries.push(None);
            }
            *self.entries.get_mut(doc as usize)? = Some(Arc::new(entry));
        }
        let slots = u32::try_from(self.entries.len()).ok()?;
        self.free = (0..slots).rev().filter(|doc| !self.live.contains(*doc)).collect();
        self.pending = self.live.iter().filter(|doc| !self.vectors.contains(DocNo(*doc))).collect();
        self.tags = Names::restore(tags, tagged)?;
        self.restore_orders(threads, members)
    }

    fn restore_orders(&mut self, threads: Vec<Option<String>>, members: Vec<Vec<u32>>) -> Option<()> {
        let entry = |doc: &u32| at(&self.entries, *doc);
        let id = |doc: &u32| entry(doc).map(|entry| entry.id);
        let mut all: Vec<u32> = self.live.iter().collect();
        all.sort_by_key(id);
        all.windows(2).all(|pair| pair.first().map(id) != pair.last().map(id)).then_some(())?;
        self.by_id = Order::from_sorted(&all);
        let mut orders = Vec::with_capacity(members.len());
        for mut docs in members {
            docs.sort_by_key(id);
            let linked = docs.windows(2).all(|pair| match pair {
                [a, b] => self.text.neighbours(DocNo(*a)).1 == Some(DocNo(*b)),
                _ => true,
            });
            linked.then_some(())?;
            orders.push(Order::from_sorted(&docs));
        }
        all.sort_by_key(|doc| (entry(doc).map(|entry| &*entry.key), *doc));
        self.by_key = Order::from_sorted(&all);
        all.retain(|doc| entry(doc).is_some_and(|entry| entry.expires_at.is_some()));
        all.sort_by_key(|doc| (entry(doc).and_then(|entry| entry.expires_at), *doc));
        self.by_expiry = Order::from_sorted(&all);
        self.threads = Names::restore(threads, orders)?;
        Some(())
    }
}

fn bytes<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

struct Frames<'a> {
    input: &'a mut dyn Read,
    sum: u32,
}

impl Frames<'_> {
    fn next<T: DeserializeOwned>(&mut self) -> Result<T, DecodeError> {
        let length = self.number()?;
        let mut bytes = Vec::new();
        (&mut *self.input).take(u64::from(length)).read_to_end(&mut bytes)?;
        self.sum = crc32c::crc32c_append(self.sum, &bytes);
        match postcard::take_from_bytes(&bytes) {
            Ok((value, [])) if bytes.len() == length as usize => Ok(value),
            _ => Err(DecodeError::Damaged("a frame")),
        }
    }

    fn check(mut self) -> Result<(), DecodeError> {
        let sum = self.sum;
        if self.number()? == sum { Ok(()) } else { Err(DecodeError::Damaged("its checksum")) }
    }

    fn number(&mut self) -> Result<u32, DecodeError> {
        let mut bytes = [0; 4];
        self.input.read_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

impl<T: Held> Names<T> {
    /// Names by number, `None` for free numbers, and the value of each.
    fn restore(names: Vec<Option<String>>, held: Vec<T>) -> Option<Self> {
        let mut all = Self::default();
        for (name, held) in names.into_iter().zip(held) {
            let valid = match &name {
                Some(name) => !held.is_empty() && all.find(name).is_none(),
                None => held.is_empty(),
            };
            valid.then_some(())?;
            all.push(name, held);
        }
        Some(all)
    }
}
