//! Records of the ledger in the store.
//!
//! Keys: `h` for the head; `r <day, big-endian> <key> NUL <model>` for a row; `a <month, big-endian> <k, m or o> <id>`
//! for the monthly total of a key, a model or an owner. Every record states the last journal line that it includes, so replaying
//! lines changes nothing, whatever part of a checkpoint reached the disk.

use muster_store::{Rec, Record, Store, StoreError, Tree};
use serde::{Deserialize, Serialize};

use super::period::{Day, Month};
use super::row::{Budget, Row, RowKey};
use muster_core::Millis;

/// Key of the head.
pub(super) const HEAD: &[u8] = b"h";
pub(super) const ROW: u8 = b'r';
pub(super) const ACCOUNT: u8 = b'a';

/// The last line up to which everything is in the store, and the holds open at that point.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) line: u64,
    pub(super) holds: Vec<HoldRecord>,
}

/// An open hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HoldRecord {
    pub(super) id: u64,
    pub(super) at: Millis,
    pub(super) key: Box<str>,
    pub(super) model: Box<str>,
    pub(super) nanos: u64,
    /// Owner whose budget it counts against; empty for none.
    pub(super) owner: Box<str>,
}

/// A row, and the last line that it includes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RowRecord {
    pub(super) line: u64,
    pub(super) row: Row,
}

/// Identifies a monthly total.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AccountKey {
    pub(super) month: Month,
    pub(super) budget: Budget,
    pub(super) id: Box<str>,
}

/// A monthly total, in billionths of a US dollar, and the last line that it includes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AccountRecord {
    pub(super) line: u64,
    pub(super) spent_nanos: u64,
}

impl Record for Head {
    const TREE: Tree = Tree::Ledger;
    const SCHEMA: u16 = 2;

    /// The first version had no owners.
    fn upgrade(from_schema: u16, bytes: &[u8]) -> Result<Self, StoreError> {
        /// Line, time, key, model, amount.
        type HoldV1 = (u64, Millis, Box<str>, Box<str>, u64);
        #[derive(Deserialize)]
        struct HeadV1 {
            line: u64,
            holds: Vec<HoldV1>,
        }
        let corrupt = |why: String| StoreError::Corrupt(format!("{}: {why}", Self::TREE.name()));
        if from_schema != 1 {
            return Err(corrupt(format!("schema {from_schema} is unknown")));
        }
        let old: HeadV1 = postcard::from_bytes(bytes).map_err(|error| corrupt(error.to_string()))?;
        let hold = |(id, at, key, model, nanos)| HoldRecord { id, at, key, model, nanos, owner: Box::default() };
        Ok(Self { line: old.line, holds: old.holds.into_iter().map(hold).collect() })
    }
}

impl Record for RowRecord {
    const TREE: Tree = Tree::Ledger;
    const SCHEMA: u16 = 1;
}

impl Record for AccountRecord {
    const TREE: Tree = Tree::Ledger;
    const SCHEMA: u16 = 1;
}

impl RowKey {
    pub(super) fn encode(&self) -> Vec<u8> {
        [row_prefix(self.day, &self.key).as_slice(), self.model.as_bytes()].concat()
    }

    /// Returns `None` if the key is not that of a row.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (day, rest) = bytes.strip_prefix(&[ROW])?.split_first_chunk::<4>()?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (key, model) = rest.split_at_checked(end)?;
        let text = |bytes| std::str::from_utf8(bytes).ok().map(Box::from);
        Some(Self { day: Day(u32::from_be_bytes(*day)), key: text(key)?, model: text(model.get(1..)?)? })
    }
}

/// Returns the key prefix of the rows of a day.
pub(super) fn day_prefix(day: Day) -> Vec<u8> {
    [&[ROW], day.0.to_be_bytes().as_slice()].concat()
}

/// Returns the key prefix of the rows of a key and day.
pub(super) fn row_prefix(day: Day, key: &str) -> Vec<u8> {
    [day_prefix(day).as_slice(), key.as_bytes(), b"\0"].concat()
}

impl AccountKey {
    pub(super) fn encode(&self) -> Vec<u8> {
        let kind = match self.budget {
            Budget::Key => b"k",
            Budget::Model => b"m",
            Budget::Owner => b"o",
        };
        [account_prefix(self.month).as_slice(), kind, self.id.as_bytes()].concat()
    }
}

/// Returns the key prefix of the totals of a month.
pub(super) fn account_prefix(month: Month) -> Vec<u8> {
    [&[ACCOUNT], month.0.to_be_bytes().as_slice()].concat()
}

/// Reads records that are not in memory. Blocking, but short.
#[derive(Clone, Copy)]
pub(super) struct RecordReader<'a>(pub(super) &'a dyn Store);

impl RecordReader<'_> {
    pub(super) fn row(self, key: &RowKey) -> Result<Option<RowRecord>, StoreError> {
        found(self.0, &key.encode())
    }

    pub(super) fn account(self, key: &AccountKey) -> Result<Option<AccountRecord>, StoreError> {
        found(self.0, &key.encode())
    }
}

/// A single corrupt record must not prevent the others from being counted: it starts from zero, and an error is logged.
fn found<R: Record>(store: &dyn Store, key: &[u8]) -> Result<Option<R>, StoreError> {
    match read(store, key) {
        Err(StoreError::Corrupt(why)) => {
            tracing::error!(why, "a record of the ledger is corrupt and starts from zero: run `muster doctor`");
            Ok(None)
        }
        found => found,
    }
}

/// Reads one record.
pub(super) fn read<R: Record>(store: &dyn Store, key: &[u8]) -> Result<Option<R>, StoreError> {
    store.get(Tree::Ledger, key)?.as_ref().map(|rec: &Rec| R::decode(rec)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of the first version: a struct and a tuple are encoded alike.
    #[test]
    fn a_head_of_the_first_version_is_read() {
        let held = (7_u64, Millis(1_767_225_600_000), "key_1", "m", 90_u64);
        let bytes = postcard::to_stdvec(&(41_u64, vec![held])).unwrap();
        let hold = HoldRecord {
            id: 7,
            at: Millis(1_767_225_600_000),
            key: "key_1".into(),
            model: "m".into(),
            nanos: 90,
            owner: "".into(),
        };
        assert_eq!(Head::decode(&Rec { schema: 1, bytes }), Ok(Head { line: 41, holds: vec![hold] }));
    }

    #[test]
    fn row_keys_round_trip_and_sort_by_day() {
        let key = |day, model: &str| RowKey { day: Day(day), key: "key_1".into(), model: model.into() };
        for key in [key(0, ""), key(20_454, "openai/gpt-4o"), key(u32::MAX, "ü")] {
            assert_eq!(RowKey::decode(&key.encode()), Some(key));
        }
        assert!(key(255, "z").encode() < key(256, "a").encode());
        for bad in [&b""[..], b"h", b"r\0\0\0\0", b"a\0\0\0\0k\0m"] {
            assert_eq!(RowKey::decode(bad), None);
        }
    }
}
