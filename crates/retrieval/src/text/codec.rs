//! Serialised index: options, terms with their encoded postings, entries with their terms. A checksum is the caller's
//! responsibility; data is validated nevertheless.

use std::io::{self, Read, Write};

use crate::analysis::Language;

use super::documents::Document;
use super::frame::{DecodeError, Reader, Writer, read_bytes, read_f32, write_bytes};
use super::index::Term;
use super::postings::Postings;
use super::{Bm25, Neighbours, TextIndex, TextOptions, varint};

const MAGIC: &[u8] = b"muster text";
const VERSION: u64 = 1;

impl TextIndex {
    /// Writes the index.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = Writer::new(out);
        out.record(|bytes| {
            write_bytes(MAGIC, bytes);
            varint::write(VERSION, bytes);
        })?;
        out.record(|bytes| write_options(&self.options, bytes))?;
        let mut names = vec![""; self.terms.len()];
        for (term, number) in self.dictionary.iter() {
            if let Some(name) = names.get_mut(number as usize) {
                *name = term;
            }
        }
        out.record(|bytes| varint::write(self.terms.len() as u64, bytes))?;
        for (name, term) in names.into_iter().zip(self.terms.iter()) {
            let blocks = term.postings.views();
            out.record(|bytes| {
                write_bytes(name.as_bytes(), bytes);
                varint::write(blocks.len() as u64, bytes);
            })?;
            for block in blocks {
                out.record(|bytes| {
                    write_bytes(block.heads, bytes);
                    write_bytes(block.places, bytes);
                })?;
            }
        }
        out.record(|bytes| varint::write(self.documents.slots() as u64, bytes))?;
        for (doc, document) in (0..).zip(self.documents.iter()) {
            out.record(|bytes| {
                write_document(document, bytes);
                write_bytes(self.forward.bytes_of(doc), bytes);
            })?;
        }
        out.end()
    }

    /// Reads what [`TextIndex::encode`] wrote, and nothing after it.
    ///
    /// # Errors
    /// Unreadable, incompatible or inconsistent data: rebuild the index.
    pub fn decode(input: &mut dyn Read) -> Result<Self, DecodeError> {
        let mut input = Reader::new(input);
        let magic = input.record("its mark", |bytes| Some((read_bytes(bytes)? == MAGIC, varint::read(bytes)?)));
        match magic? {
            (true, VERSION) => {}
            (_, version) => return Err(DecodeError::Version(version)),
        }
        let mut index = Self::new(input.record("options", read_options)?);
        let postings = index.read_terms(&mut input)?;
        let listed = index.read_documents(&mut input)?;
        input.end()?;
        // Both directions must have the same occurrences.
        if postings != listed {
            return Err(DecodeError::Damaged("postings and entries differ"));
        }
        Ok(index)
    }

    fn read_terms(&mut self, input: &mut Reader<'_>) -> Result<Seen, DecodeError> {
        let mut seen = Seen::default();
        let count = input.record("number of terms", varint::read_u32)?;
        for number in 0..count {
            let (name, blocks) = input.record("a term", |bytes| {
                let name = std::str::from_utf8(read_bytes(bytes)?).ok()?;
                Some((Box::<str>::from(name), varint::read_u32(bytes)?))
            })?;
            let mut read = Vec::new();
            for _ in 0..blocks {
                let block = |bytes: &mut &[u8]| Some((read_bytes(bytes)?.to_vec(), read_bytes(bytes)?.to_vec()));
                read.push(input.record("postings", block)?);
            }
            let postings = Postings::from_blocks(read, |item| seen.add(item.doc, number, item.count));
            let postings = postings.ok_or(DecodeError::Damaged("postings"))?;
            let hash = self.dictionary.hash(&name);
            let known = self.dictionary.get(hash, &name).is_some();
            if known || name.is_empty() != postings.is_empty() || u16::try_from(name.len()).is_err() {
                return Err(DecodeError::Damaged("terms"));
            }
            if name.is_empty() {
                self.free.push(number);
            } else {
                self.dictionary.insert(hash, &name, number);
            }
            self.terms.push(Term { hash, postings });
        }
        Ok(seen)
    }

    fn read_documents(&mut self, input: &mut Reader<'_>) -> Result<Seen, DecodeError> {
        let mut seen = Seen::default();
        let count = input.record("number of entries", varint::read_u32)?;
        for doc in 0..count {
            let document = input.record("an entry", |bytes| {
                let document = read_document(bytes)?;
                let list = read_bytes(bytes)?;
                let mut terms = super::forward::Terms::new(list);
                let mut last = None;
                for (term, count) in terms.by_ref() {
                    let rising = last.replace(term).is_none_or(|last| term > last);
                    if !rising {
                        return None;
                    }
                    seen.add(doc, term, count);
                }
                let sound = terms.rest().is_empty() && (document.language.is_some() || list.is_empty());
                self.forward.set(doc, list);
                sound.then_some(document)
            })?;
            self.documents.push(document);
        }
        if self.documents.finish() { Ok(seen) } else { Err(DecodeError::Damaged("threads")) }
    }
}

/// Order-independent checksum of occurrences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Seen {
    count: u64,
    sum: u64,
}

impl Seen {
    fn add(&mut self, doc: u32, term: u32, count: u32) {
        let place = u64::from(doc) << 32 | u64::from(term);
        // The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
        let mix = (place ^ u64::from(count).rotate_left(48)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.sum = self.sum.wrapping_add((mix ^ (mix >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb));
        self.count += 1;
    }
}

fn write_options(options: &TextOptions, out: &mut Vec<u8>) {
    let TextOptions { bm25, neighbours, pairs } = options;
    let own = [bm25.k1, bm25.b, bm25.prior, *pairs];
    for value in own.iter().chain(&neighbours.before).chain(&neighbours.after) {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

fn read_options(bytes: &mut &[u8]) -> Option<TextOptions> {
    let mut next = || read_f32(bytes);
    let bm25 = Bm25 { k1: next()?, b: next()?, prior: next()? };
    let pairs = next()?;
    let neighbours = Neighbours { before: [next()?, next()?, next()?], after: [next()?, next()?, next()?] };
    Some(TextOptions { bm25, neighbours, pairs })
}

/// 0 for none, otherwise its language from 1, its length and its neighbours from 1.
fn write_document(document: &Document, out: &mut Vec<u8>) {
    let Some(language) = document.language else { return varint::write(0, out) };
    varint::write(u64::from(language.number()) + 1, out);
    varint::write(u64::from(document.length), out);
    for neighbour in [document.previous(), document.next()] {
        varint::write(neighbour.map_or(0, |doc| u64::from(doc) + 1), out);
    }
}

fn read_document(bytes: &mut &[u8]) -> Option<Document> {
    let Some(language) = varint::read(bytes)?.checked_sub(1) else { return Some(Document::ABSENT) };
    let language = Language::from_number(u8::try_from(language).ok()?)?;
    let length = varint::read_u32(bytes)?;
    let mut neighbour = || varint::read(bytes)?.checked_sub(1).map(u32::try_from).transpose().ok();
    Some(Document::new(language, length, neighbour()?, neighbour()?))
}
