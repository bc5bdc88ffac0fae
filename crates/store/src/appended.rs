//! Trees whose records have consecutive numbers: the keys are 0, 1, 2 …, eight bytes in big-endian order.

use tokio::sync::watch;

use crate::port::Tree;
use crate::{Op, StoreError};

/// Bytes of a number.
const KEY: usize = 8;
/// Number of the trees.
const TREES: usize = Tree::APPENDED.len();

/// Returns the key of a number.
#[must_use]
pub const fn number_key(number: u64) -> [u8; KEY] {
    number.to_be_bytes()
}

/// Returns the number whose key this is.
#[must_use]
pub fn key_number(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_be_bytes)
}

/// How many records each of the trees has: the number that the next record gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lengths([u64; TREES]);

impl Lengths {
    /// Reads the lengths; `last` returns the last key of a tree.
    pub(crate) fn read(mut last: impl FnMut(Tree) -> Result<Option<Vec<u8>>, StoreError>) -> Result<Self, StoreError> {
        let mut lengths = Self::default();
        for (tree, length) in Tree::APPENDED.into_iter().zip(&mut lengths.0) {
            let Some(key) = last(tree)? else { continue };
            let wrong = || StoreError::Corrupt(format!("{}: the last key is no number", tree.name()));
            *length = key_number(&key).and_then(|number| number.checked_add(1)).ok_or_else(wrong)?;
        }
        Ok(lengths)
    }

    /// Takes the next number of a tree.
    pub(crate) fn take(&mut self, tree: Tree) -> Result<u64, StoreError> {
        let length = self.of(tree).ok_or_else(|| not_appended(tree))?;
        let number = *length;
        *length = number.checked_add(1).ok_or_else(|| StoreError::BadRequest("the tree is full".into()))?;
        Ok(number)
    }

    /// Accounts for a put: it replaces a record or, when records are restored, is the next one.
    pub(crate) fn put(&mut self, tree: Tree, key: &[u8]) -> Result<(), StoreError> {
        let Some(length) = self.of(tree) else { return Ok(()) };
        match key_number(key) {
            Some(number) if number < *length => Ok(()),
            Some(number) if number == *length => self.take(tree).map(drop),
            _ => Err(StoreError::BadRequest(format!("{}: the record would leave a gap", tree.name()))),
        }
    }

    fn of(&mut self, tree: Tree) -> Option<&mut u64> {
        Tree::APPENDED.into_iter().zip(&mut self.0).find(|(name, _)| *name == tree).map(|(_, length)| length)
    }
}

/// Publishes the durable lengths.
#[derive(Debug)]
pub(crate) struct DurableLengths([watch::Sender<u64>; TREES]);

impl DurableLengths {
    pub(crate) fn new(lengths: Lengths) -> Self {
        Self(lengths.0.map(watch::Sender::new))
    }

    pub(crate) fn publish(&self, lengths: Lengths) {
        for (sender, length) in self.0.iter().zip(lengths.0) {
            sender.send_if_modified(|durable| std::mem::replace(durable, length) != length);
        }
    }

    /// Subscribes to the length of a tree; 0 for ever for another tree.
    pub(crate) fn of(&self, tree: Tree) -> watch::Receiver<u64> {
        let found = Tree::APPENDED.into_iter().zip(&self.0).find(|(name, _)| *name == tree);
        found.map_or_else(|| watch::Sender::new(0).subscribe(), |(_, sender)| sender.subscribe())
    }
}

/// Rejects a write that a tree of numbered records does not take, whatever is stored.
pub(crate) fn check_op(op: &Op) -> Result<(), StoreError> {
    match op {
        Op::Append { tree, .. } if !tree.is_appended() => Err(not_appended(*tree)),
        Op::Delete { tree, .. } if tree.is_appended() => {
            Err(StoreError::BadRequest(format!("{}: records are never deleted", tree.name())))
        }
        _ => Ok(()),
    }
}

fn not_appended(tree: Tree) -> StoreError {
    StoreError::BadRequest(format!("{}: its records have no numbers", tree.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_consecutive_and_a_put_leaves_no_gap() {
        let mut lengths = Lengths::read(|_| Ok(None)).unwrap();
        assert_eq!((lengths.take(Tree::AuditLog), lengths.take(Tree::AuditLog)), (Ok(0), Ok(1)));
        assert_eq!(lengths.put(Tree::AuditLog, &number_key(0)), Ok(()));
        assert_eq!(lengths.put(Tree::AuditLog, &number_key(2)), Ok(()));
        for key in [number_key(4).as_slice(), b"name"] {
            assert!(matches!(lengths.put(Tree::AuditLog, key), Err(StoreError::BadRequest(_))));
        }
        assert_eq!(lengths.put(Tree::Keys, b"name"), Ok(()));
        assert_eq!(lengths.take(Tree::AuditLog), Ok(3));
        assert!(matches!(lengths.take(Tree::Keys), Err(StoreError::BadRequest(_))));
        assert_eq!(Lengths::read(|_| Ok(Some(number_key(3).to_vec()))), Ok(lengths));
        assert!(matches!(Lengths::read(|_| Ok(Some(b"name".to_vec()))), Err(StoreError::Corrupt(_))));
    }
}
