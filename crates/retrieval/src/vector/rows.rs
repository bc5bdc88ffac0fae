use std::io::{self, Write};
use std::sync::Arc;

use super::DecodeError;
use super::codec::{ChecksumReader, Element};

/// Rows of equal width in chunks shared between clones: a clone copies pointers, a write copies its chunk if shared.
/// The last chunk grows by doubling, so that few rows take little memory.
#[derive(Debug, Clone)]
pub(super) struct Rows<T> {
    width: usize,
    /// Binary logarithm of the rows per chunk.
    shift: u32,
    len: usize,
    chunks: Vec<Arc<[T]>>,
}

impl<T: Element> Rows<T> {
    /// A chunk has the power of two of rows that is nearest to 64 KiB.
    pub fn new(width: usize) -> Self {
        let width = width.max(1);
        let rows = ((64 << 10) / (width * T::SIZE)).clamp(16, 4096);
        Self { width, shift: rows.next_power_of_two().ilog2(), len: 0, chunks: Vec::new() }
    }

    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns a row; empty if there is none.
    #[inline(always)]
    pub fn row(&self, at: usize) -> &[T] {
        if at >= self.len {
            return &[];
        }
        let start = (at & (self.chunk_rows() - 1)) * self.width;
        self.chunks.get(at >> self.shift).and_then(|chunk| chunk.get(start..start + self.width)).unwrap_or_default()
    }

    /// The number of a row of width one.
    #[inline(always)]
    pub fn value(&self, at: usize) -> Option<T> {
        self.row(at).first().copied()
    }

    pub fn row_mut(&mut self, at: usize) -> &mut [T] {
        let start = (at & (self.chunk_rows() - 1)) * self.width;
        let width = self.width;
        let chunk = self.chunks.get_mut(at >> self.shift).map(Arc::make_mut);
        chunk.and_then(|chunk| chunk.get_mut(start..start + width)).unwrap_or_default()
    }

    pub fn set(&mut self, at: usize, row: &[T]) {
        let place = self.row_mut(at);
        if place.len() == row.len() {
            place.copy_from_slice(row);
        }
    }

    /// Adds default rows up to `len`.
    pub fn grow(&mut self, len: usize) {
        while self.len < len {
            let begun = self.len & (self.chunk_rows() - 1);
            let last = if begun == 0 { None } else { self.chunks.pop() };
            let held = last.as_ref().map_or(0, |chunk| chunk.len() / self.width);
            let target = (begun + (len - self.len)).min(self.chunk_rows());
            let chunk = match last {
                Some(chunk) if held >= target => chunk,
                last => self.larger(last.as_deref().unwrap_or_default(), target),
            };
            self.chunks.push(chunk);
            self.len += target - begun;
        }
    }

    /// Consecutive rows, chunk by chunk, with the index of the first.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, &[T])> + Clone {
        self.chunks.iter().enumerate().map(|(at, chunk)| {
            let first = at << self.shift;
            let rows = self.len.saturating_sub(first).min(self.chunk_rows());
            (first, chunk.get(..rows * self.width).unwrap_or_default())
        })
    }

    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len() * T::SIZE + 16 + size_of::<Arc<[T]>>()).sum()
    }

    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&(self.len as u64).to_le_bytes())?;
        let mut bytes = Vec::new();
        for (_, rows) in self.blocks() {
            bytes.clear();
            T::put(rows, &mut bytes);
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Reads what [`Rows::encode`] wrote. Memory is only allocated for data that was read.
    pub fn decode(width: usize, source: &mut ChecksumReader<'_>) -> Result<Self, DecodeError> {
        let mut rows = Self::new(width);
        let len = source.u64()?;
        let len = usize::try_from(len).ok().filter(|len| u32::try_from(*len).is_ok());
        let len = len.ok_or(DecodeError::Malformed("more rows than documents can be numbered"))?;
        while rows.len < len {
            let count = (len - rows.len).min(rows.chunk_rows());
            let chunk = T::take(source.bytes(count * rows.width * T::SIZE)?);
            let chunk = if count == rows.chunk_rows() { Arc::from(chunk) } else { rows.larger(&chunk, count) };
            rows.chunks.push(chunk);
            rows.len += count;
        }
        Ok(rows)
    }

    const fn chunk_rows(&self) -> usize {
        1 << self.shift
    }

    fn larger(&self, old: &[T], target: usize) -> Arc<[T]> {
        let rows = target.next_power_of_two().max(4).min(self.chunk_rows());
        let mut chunk = Vec::with_capacity(rows * self.width);
        chunk.extend_from_slice(old);
        chunk.resize(rows * self.width, T::default());
        Arc::from(chunk)
    }
}
