use std::sync::Arc;

/// A growable array in chunks of `2^BITS`, shared between clones until written.
#[derive(Debug, Clone)]
pub(super) struct Pieces<T, const BITS: u32> {
    pieces: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T, const BITS: u32> Default for Pieces<T, BITS> {
    fn default() -> Self {
        Self { pieces: Vec::new(), len: 0 }
    }
}

impl<T: Clone, const BITS: u32> Pieces<T, BITS> {
    const MASK: usize = (1 << BITS) - 1;

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.pieces.get(at >> BITS)?.get(at & Self::MASK)
    }

    /// All of a piece.
    pub(super) fn piece(&self, nth: usize) -> &[T] {
        self.pieces.get(nth).map(|piece| piece.as_slice()).unwrap_or_default()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        Arc::make_mut(self.pieces.get_mut(at >> BITS)?).get_mut(at & Self::MASK)
    }

    pub(super) fn push(&mut self, value: T) {
        if self.len & Self::MASK == 0 {
            if let Some(full) = self.pieces.last_mut() {
                Arc::make_mut(full).shrink_to_fit();
            }
            self.pieces.push(Arc::default());
        }
        if let Some(last) = self.pieces.last_mut() {
            Arc::make_mut(last).push(value);
            self.len += 1;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flat_map(|piece| piece.iter())
    }

    /// Heap size in bytes, without what its values point to.
    pub(super) fn bytes(&self) -> usize {
        let held: usize = self.pieces.iter().map(|piece| piece.capacity() * size_of::<T>()).sum();
        held + self.pieces.capacity() * size_of::<usize>() + self.pieces.len() * (16 + size_of::<Vec<T>>())
    }
}
