//! Records of the ledger in the store.
//!
//! Keys: `h` for the head; `r <day, big-endian> <key> NUL <model>` for a row of a key; `d <day, big-endian> <o, t, p or g>
//! <id> NUL <model>` for a row of an owner, a team, a provider or a tag; `a <month, big-endian> <k, m, o or t> <id>` for the
//! monthly total of a key, a model, an owner or a team. Every record states the last journal line that it includes, so replaying
//! lines changes nothing, whatever part of a checkpoint reached the disk.

use std::collections::HashSet;

use muster_store::{PageRequest, Rec, Record, Store, StoreError, Tree};
use serde::{Deserialize, Serialize};

use super::period::{Day, Month};
use super::row::{Budget, Dimension, Row, RowKey};
use muster_core::Millis;

/// Key of the head.
pub(super) const HEAD: &[u8] = b"h";
pub(super) const ROW: u8 = b'r';
/// Rows that are not those of keys.
pub(super) const GROUP: u8 = b'd';
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
    /// Team whose budget it counts against; empty for none.
    pub(super) team: Box<str>,
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
    const SCHEMA: u16 = 3;

    /// The first version had no owners, the second no teams.
    fn upgrade(from_schema: u16, bytes: &[u8]) -> Result<Self, StoreError> {
        /// Line, time, key, model, amount.
        type HoldV1 = (u64, Millis, Box<str>, Box<str>, u64);
        /// The same and the owner.
        type HoldV2 = (u64, Millis, Box<str>, Box<str>, u64, Box<str>);
        #[derive(Deserialize)]
        struct OldHead<H> {
            line: u64,
            holds: Vec<H>,
        }
        let hold = |(id, at, key, model, nanos, owner): HoldV2| HoldRecord {
            id,
            at,
            key,
            model,
            nanos,
            owner,
            team: Box::default(),
        };
        let first = |(id, at, key, model, nanos): HoldV1| hold((id, at, key, model, nanos, Box::default()));
        match from_schema {
            1 => old(bytes).map(|OldHead { line, holds }| Self { line, holds: holds.into_iter().map(first).collect() }),
            2 => old(bytes).map(|OldHead { line, holds }| Self { line, holds: holds.into_iter().map(hold).collect() }),
            _ => Err(unknown_schema(from_schema)),
        }
    }
}

/// Reads the bytes of an earlier version.
fn old<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, StoreError> {
    postcard::from_bytes(bytes).map_err(|error| StoreError::Corrupt(format!("{}: {error}", Tree::Ledger.name())))
}

fn unknown_schema(schema: u16) -> StoreError {
    StoreError::Corrupt(format!("{}: schema {schema} is unknown", Tree::Ledger.name()))
}

impl Record for RowRecord {
    const TREE: Tree = Tree::Ledger;
    const SCHEMA: u16 = 3;

    /// The first version had no cached answers, the second no pictures; both stand at the end.
    fn upgrade(from_schema: u16, bytes: &[u8]) -> Result<Self, StoreError> {
        let missing: &[u8] = match from_schema {
            1 => &[0, 0],
            2 => &[0],
            _ => return Err(unknown_schema(from_schema)),
        };
        old(&[bytes, missing].concat())
    }
}

impl Record for AccountRecord {
    const TREE: Tree = Tree::Ledger;
    const SCHEMA: u16 = 1;
}

impl RowKey {
    pub(super) fn encode(&self) -> Vec<u8> {
        let prefix = group_prefix(self.day, self.dimension);
        [prefix.as_slice(), self.id.as_bytes(), b"\0", self.model.as_bytes()].concat()
    }

    /// Returns `None` if the key is not that of a row.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (day, mut rest) = rest.split_first_chunk::<4>()?;
        let mut dimension = Dimension::Key;
        match *kind {
            ROW => {}
            GROUP => {
                let (letter, id) = rest.split_first()?;
                dimension = GROUPS.into_iter().find(|(_, known)| known == letter)?.0;
                rest = id;
            }
            _ => return None,
        }
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (id, model) = rest.split_at_checked(end)?;
        let text = |bytes| std::str::from_utf8(bytes).ok().map(Box::from);
        Some(Self { day: Day(u32::from_be_bytes(*day)), dimension, id: text(id)?, model: text(model.get(1..)?)? })
    }
}

/// Letters of the groups of rows, besides that of keys.
const GROUPS: [(Dimension, u8); 4] =
    [(Dimension::Owner, b'o'), (Dimension::Team, b't'), (Dimension::Provider, b'p'), (Dimension::Tag, b'g')];

/// Returns the key prefix of the rows of a day, of keys or of everything else.
pub(super) fn day_prefix(kind: u8, day: Day) -> Vec<u8> {
    [&[kind], day.0.to_be_bytes().as_slice()].concat()
}

/// Returns the key prefix of the rows of a day and group.
pub(super) fn group_prefix(day: Day, dimension: Dimension) -> Vec<u8> {
    match GROUPS.into_iter().find(|(known, _)| *known == dimension) {
        Some((_, letter)) => [day_prefix(GROUP, day).as_slice(), &[letter]].concat(),
        None => day_prefix(ROW, day),
    }
}

impl AccountKey {
    pub(super) fn encode(&self) -> Vec<u8> {
        let kind = match self.budget {
            Budget::Key => b"k",
            Budget::Model => b"m",
            Budget::Owner => b"o",
            Budget::Team => b"t",
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

    /// Returns the tags that the store has of a key and day.
    pub(super) fn tags(self, day: Day, key: &str) -> Result<HashSet<Box<str>>, StoreError> {
        let prefix = [group_prefix(day, Dimension::Tag), RowKey::of_tag(key, "").as_bytes().to_vec()].concat();
        let entries = self.0.entries(Tree::Ledger, prefix, PageRequest::default());
        let tag = |entry: Result<(Vec<u8>, Rec), StoreError>| {
            let key = entry.map(|(key, _)| RowKey::decode(&key));
            key.map(|key| key.map(|key| Box::from(key.subject().1))).transpose()
        };
        entries.filter_map(tag).collect()
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
    fn heads_of_earlier_versions_are_read() {
        let held = (7_u64, Millis(1_767_225_600_000), "key_1", "m", 90_u64);
        let bytes = postcard::to_stdvec(&(41_u64, vec![held])).unwrap();
        let hold = HoldRecord {
            id: 7,
            at: Millis(1_767_225_600_000),
            key: "key_1".into(),
            model: "m".into(),
            nanos: 90,
            owner: "".into(),
            team: "".into(),
        };
        assert_eq!(Head::decode(&Rec { schema: 1, bytes }), Ok(Head { line: 41, holds: vec![hold.clone()] }));
        let held = (7_u64, Millis(1_767_225_600_000), "key_1", "m", 90_u64, "ann");
        let bytes = postcard::to_stdvec(&(41_u64, vec![held])).unwrap();
        let hold = HoldRecord { owner: "ann".into(), ..hold };
        assert_eq!(Head::decode(&Rec { schema: 2, bytes }), Ok(Head { line: 41, holds: vec![hold] }));
    }

    #[test]
    fn a_row_of_the_first_version_is_read() {
        let old = (9_u64, [1_u64, 2, 3, 4, 5, 6, 7, 8, 300]);
        let rec = Rec { schema: 1, bytes: postcard::to_stdvec(&old).unwrap() };
        let row = Row {
            requests: 1,
            failed: 2,
            cancelled: 3,
            prompt_tokens: 4,
            completion_tokens: 5,
            estimated_requests: 6,
            cost_nanos: 7,
            unpriced_requests: 8,
            unsettled_nanos: 300,
            cached_requests: 0,
            images: 0,
        };
        assert_eq!(RowRecord::decode(&rec), Ok(RowRecord { line: 9, row }));
        let second = (9_u64, [1_u64, 2, 3, 4, 5, 6, 7, 8, 300, 10]);
        let rec = Rec { schema: 2, bytes: postcard::to_stdvec(&second).unwrap() };
        let row = Row { cached_requests: 10, ..row };
        assert_eq!(RowRecord::decode(&rec), Ok(RowRecord { line: 9, row }));
    }

    #[test]
    fn row_keys_round_trip_and_sort_by_day() {
        let key = |day, model: &str| RowKey {
            day: Day(day),
            dimension: Dimension::Key,
            id: "key_1".into(),
            model: model.into(),
        };
        for key in [key(0, ""), key(20_454, "openai/gpt-4o"), key(u32::MAX, "ü")] {
            assert_eq!(RowKey::decode(&key.encode()), Some(key.clone()));
            for dimension in [Dimension::Owner, Dimension::Team, Dimension::Provider, Dimension::Tag] {
                let key = RowKey { dimension, ..key.clone() };
                assert_eq!(RowKey::decode(&key.encode()), Some(key));
            }
        }
        let tag = RowKey { dimension: Dimension::Tag, id: RowKey::of_tag("key_1", "a b"), ..key(1, "m") };
        assert_eq!(tag.subject(), (Some("key_1"), "a b"));
        assert!(key(255, "z").encode() < key(256, "a").encode());
        for bad in [&b""[..], b"h", b"r\0\0\0\0", b"a\0\0\0\0k\0m", b"d\0\0\0\0", b"d\0\0\0\0xk\0m"] {
            assert_eq!(RowKey::decode(bad), None);
        }
    }
}
