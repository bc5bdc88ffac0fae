use std::sync::Arc;

/// A growable array in chunks of `2^BITS`, shared between clones until written.
#[derive(Debug, Clone)]
pub(super) struct Chunks<T, const BITS: u32> {
    chunks: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T, const BITS: u32> Default for Chunks<T, BITS> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<T: Clone, const BITS: u32> Chunks<T, BITS> {
    const MASK: usize = (1 << BITS) - 1;

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at >> BITS)?.get(at & Self::MASK)
    }

    /// Returns the values of a chunk; empty beyond the last.
    pub(super) fn chunk(&self, index: usize) -> &[T] {
        self.chunks.get(index).map(|chunk| chunk.as_slice()).unwrap_or_default()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        Arc::make_mut(self.chunks.get_mut(at >> BITS)?).get_mut(at & Self::MASK)
    }

    pub(super) fn push(&mut self, value: T) {
        if self.len & Self::MASK == 0 {
            if let Some(full) = self.chunks.last_mut() {
                Arc::make_mut(full).shrink_to_fit();
            }
            self.chunks.push(Arc::default());
        }
        if let Some(last) = self.chunks.last_mut() {
            Arc::make_mut(last).push(value);
            self.len += 1;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Returns the heap size in bytes, without memory that its values point to.
    pub(super) fn bytes(&self) -> usize {
        let held: usize = self.chunks.iter().map(|chunk| chunk.capacity() * size_of::<T>()).sum();
        held + self.chunks.capacity() * size_of::<usize>() + self.chunks.len() * (16 + size_of::<Vec<T>>())
    }
}
