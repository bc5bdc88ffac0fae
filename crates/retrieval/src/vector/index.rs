use std::io::{self, Read, Write};

use super::codec::{ChecksumReader, ChecksumWriter};
use super::graph::Graph;
use super::quantized::Quantized;
use super::ranked::Ranked;
use super::scan::{Scan, best, ranked};
use super::vectors::Vectors;
use super::{DecodeError, InvalidVector, VectorOptions};
use crate::{DocNo, Filter};

const MAGIC: u64 = u64::from_le_bytes(*b"mstrvec1");

/// Filters that admit less than one in this many vectors are scanned.
const MIN_SHARE: usize = 20;

/// Unit vectors by document, searched by cosine. Clones share unchanged data.
#[derive(Debug, Clone)]
pub struct VectorIndex {
    options: VectorOptions,
    pub(super) vectors: Vectors,
    /// Present above `exact_below`, until half of that is left.
    pub(super) graph: Option<Graph>,
}

impl VectorIndex {
    /// Creates an index for vectors of this length, with default options.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self::with(VectorOptions::new(dimensions))
    }

    /// Creates an index with these options, clamped to valid ranges.
    #[must_use]
    pub fn with(options: VectorOptions) -> Self {
        let options = options.bounded();
        Self { options, vectors: Vectors::new(options.dimensions), graph: None }
    }

    /// Returns the length of its vectors.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.options.dimensions
    }

    /// Returns the number of documents with a vector.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.vectors.live()
    }

    /// Returns whether no document has a vector.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the approximate size in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.vectors.bytes() + self.graph.as_ref().map_or(0, Graph::bytes)
    }

    /// Sets a document's vector, of any length but zero: only its direction counts. Documents should be numbered
    /// densely: memory is allocated up to the highest number.
    ///
    /// # Errors
    /// A wrong number of dimensions, or a vector without direction; the previous one is kept.
    pub fn insert(&mut self, doc: DocNo, vector: &[f32]) -> Result<(), InvalidVector> {
        let vector = self.vectors.quantize(vector)?;
        // An unchanged vector, as after a restart, does not affect the graph.
        if self.vectors.slot(doc).is_some_and(|slot| self.vectors.get(slot) == vector) {
            return Ok(());
        }
        self.detach(doc);
        let slot = self.vectors.put(doc, &vector);
        if let Some(graph) = &mut self.graph {
            graph.add(slot);
        } else if self.len() > self.options.exact_below {
            self.graph = Some(Graph::new(&self.options, &self.vectors));
        }
        Ok(())
    }

    /// Removes a document's vector, if it has one.
    pub fn remove(&mut self, doc: DocNo) {
        self.detach(doc);
        if self.graph.is_some() && self.len() <= self.options.exact_below / 2 {
            self.graph = None;
            self.vectors.release_all();
        }
    }

    /// Detaches a document's vector; the graph may use its slot as an intermediate node until a sweep releases it.
    fn detach(&mut self, doc: DocNo) {
        let Some(slot) = self.vectors.take(doc) else { return };
        match &mut self.graph {
            Some(graph) => graph.remove(slot, &mut self.vectors),
            None => self.vectors.release(slot),
        }
    }

    /// Returns whether a document has a vector.
    #[must_use]
    pub fn contains(&self, doc: DocNo) -> bool {
        self.vectors.slot(doc).is_some()
    }

    /// Returns the nearest admitted documents and their cosines, best first; nothing for an invalid query.
    #[must_use]
    pub fn search(&self, query: &[f32], filter: Filter<'_>, limit: usize) -> Vec<(DocNo, f32)> {
        let Ok(query) = self.vectors.quantize(query) else { return Vec::new() };
        if limit == 0 || filter.is_empty(self.len()) {
            return Vec::new();
        }
        let found = self.search_graph(&query, filter, limit);
        documents(&found.unwrap_or_else(|| Scan::new(&self.vectors, &query, filter, limit).all()))
    }

    /// Returns the cosines of these documents; `None` for one without a vector, and for all if the query is invalid.
    #[must_use]
    pub fn score(&self, query: &[f32], docs: &[DocNo]) -> Vec<Option<f32>> {
        let Ok(query) = self.vectors.quantize(query) else { return vec![None; docs.len()] };
        let slots: Vec<Option<u32>> = docs.iter().map(|doc| self.vectors.slot(*doc)).collect();
        let known: Vec<u32> = slots.iter().copied().flatten().collect();
        let mut scores = self.vectors.exact(&query, &known).into_iter();
        slots.into_iter().map(|slot| slot.and_then(|_| scores.next())).collect()
    }

    /// Returns a document's vector, of length 1 up to rounding.
    #[must_use]
    pub fn get(&self, doc: DocNo) -> Option<Vec<f32>> {
        let vector = self.vectors.get(self.vectors.slot(doc)?);
        Some(vector.codes.iter().map(|code| f32::from(*code) * vector.step).collect())
    }

    /// Returns the cosine of two documents' vectors.
    #[must_use]
    pub fn similarity(&self, a: DocNo, b: DocNo) -> Option<f32> {
        let (a, b) = (self.vectors.slot(a)?, self.vectors.slot(b)?);
        self.vectors.exact(&self.vectors.get(a), &[b]).first().copied()
    }

    /// Inserts at most `budget` vectors into the graph, and returns how many remain. Vectors outside the graph are
    /// scanned.
    pub fn work(&mut self, budget: usize) -> usize {
        self.graph.as_mut().map_or(0, |graph| graph.work(&mut self.vectors, budget))
    }

    /// Returns the number of vectors outside the graph.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.graph.as_ref().map_or(0, |graph| graph.pending().len() as usize)
    }

    /// Writes the index and the graph, in chunks of about 64 KiB, with a checksum.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = ChecksumWriter::new(out);
        out.write_all(&MAGIC.to_le_bytes())?;
        let options = &self.options;
        let numbers =
            [options.dimensions, options.exact_below, options.links, options.build_breadth, options.search_breadth];
        for number in numbers {
            out.write_all(&(number as u64).to_le_bytes())?;
        }
        self.vectors.encode(&mut out)?;
        out.write_all(&u64::from(self.graph.is_some()).to_le_bytes())?;
        if let Some(graph) = &self.graph {
            graph.encode(&mut out)?;
        }
        out.finish()
    }

    /// Reads what [`VectorIndex::encode`] wrote, including its options.
    ///
    /// # Errors
    /// Invalid or incomplete data. Memory is only allocated for data that was read.
    pub fn decode(input: &mut dyn Read) -> Result<Self, DecodeError> {
        let mut source = ChecksumReader::new(input);
        if source.u64()? != MAGIC {
            return Err(DecodeError::Malformed("its first bytes are not those of an index"));
        }
        let options = VectorOptions {
            dimensions: source.bounded(VectorOptions::MAX_DIMENSIONS)?,
            exact_below: source.bounded(usize::MAX)?,
            links: source.bounded(VectorOptions::MAX_LINKS)?,
            build_breadth: source.bounded(usize::MAX)?,
            search_breadth: source.bounded(usize::MAX)?,
        }
        .bounded();
        let mut vectors = Vectors::decode(options.dimensions, &mut source)?;
        let graph = match source.bounded(1)? {
            0 => None,
            _ => Some(Graph::decode(&options, &mut vectors, &mut source)?),
        };
        source.check_end()?;
        Ok(Self { options, vectors, graph })
    }

    /// Searches the graph, and scans vectors outside it; `None` if a full scan is cheaper, or the graph does not reach
    /// enough admitted vectors.
    fn search_graph(&self, query: &Quantized, filter: Filter<'_>, limit: usize) -> Option<Vec<Ranked>> {
        let graph = self.graph.as_ref()?;
        let (total, admitted) = (self.len(), filter.len(self.len()));
        let pending = graph.pending().len() as usize;
        let breadth = self.options.search_breadth.max(limit.saturating_mul(2));
        // Expected comparisons: about `links` new ones per candidate, more if few are admitted.
        let comparisons = breadth.saturating_mul(self.options.links).saturating_mul(total) / admitted.max(1);
        if admitted * MIN_SHARE < total || admitted <= comparisons || pending > total / 2 {
            return None;
        }
        let max = (4 * comparisons).min(admitted);
        let slots = graph.search(&self.vectors, query, breadth, max, |doc| filter.admits(doc))?;
        if slots.len() + pending < limit {
            return None;
        }
        let mut found = ranked(&self.vectors, query, &slots, limit);
        found.extend(Scan::new(&self.vectors, query, filter, limit).of(graph.pending()));
        best(&mut found, limit);
        Some(found)
    }
}

fn documents(ranked: &[Ranked]) -> Vec<(DocNo, f32)> {
    ranked.iter().map(|one| (DocNo(one.number()), one.score())).collect()
}
