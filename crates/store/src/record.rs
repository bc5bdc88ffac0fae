//! Typed records with a schema version.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Rec, StoreError, Tree};

/// Encoding of a record's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Compact and fast; the order of the fields is part of the format.
    Postcard,
    /// Human-readable.
    Json,
}

/// A type that can be stored. When its fields change, increase `SCHEMA` and handle the previous version in `upgrade`.
pub trait Record: Serialize + DeserializeOwned {
    /// Tree that contains the records.
    const TREE: Tree;
    /// Schema version that this program writes; the first one is 1.
    const SCHEMA: u16;
    /// Encoding of the bytes.
    const ENCODING: Encoding = Encoding::Postcard;

    /// Reads the bytes of an older schema version.
    fn upgrade(from_schema: u16, _bytes: &[u8]) -> Result<Self, StoreError> {
        Err(StoreError::Corrupt(format!(
            "{}: schema {from_schema} is unknown, or its upgrade is missing",
            Self::TREE.name()
        )))
    }

    /// Encodes the record.
    fn encode(&self) -> Result<Rec, StoreError> {
        let bytes = match Self::ENCODING {
            Encoding::Postcard => postcard::to_stdvec(self).map_err(|e| e.to_string()),
            Encoding::Json => serde_json::to_vec(self).map_err(|e| e.to_string()),
        };
        let bytes = bytes.map_err(|why| StoreError::BadRequest(format!("{}: {why}", Self::TREE.name())))?;
        Ok(Rec { schema: Self::SCHEMA, bytes })
    }

    /// Decodes a record of the current or an older schema version; a newer one is rejected.
    fn decode(rec: &Rec) -> Result<Self, StoreError> {
        if rec.schema > Self::SCHEMA {
            return Err(StoreError::NewerSchema { found: rec.schema, known: Self::SCHEMA });
        }
        if rec.schema < Self::SCHEMA {
            return Self::upgrade(rec.schema, &rec.bytes);
        }
        let read = match Self::ENCODING {
            Encoding::Postcard => postcard::from_bytes(&rec.bytes).map_err(|e| e.to_string()),
            Encoding::Json => serde_json::from_slice(&rec.bytes).map_err(|e| e.to_string()),
        };
        read.map_err(|why| StoreError::Corrupt(format!("{}: {why}", Self::TREE.name())))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Counter {
        used: u64,
        limit: u64,
    }

    impl Record for Counter {
        const TREE: Tree = Tree::Limits;
        const SCHEMA: u16 = 2;

        fn upgrade(from_schema: u16, bytes: &[u8]) -> Result<Self, StoreError> {
            match (from_schema, bytes) {
                (1, &[used]) => Ok(Self { used: used.into(), limit: 10 }),
                _ => Err(StoreError::Corrupt("limits: not a counter of schema 1".into())),
            }
        }
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Note(String);

    impl Record for Note {
        const TREE: Tree = Tree::Meta;
        const SCHEMA: u16 = 1;
        const ENCODING: Encoding = Encoding::Json;
    }

    #[test]
    fn reads_its_own_and_the_previous_version_and_rejects_a_newer_one() {
        let now = Counter { used: 3, limit: 4 };
        assert_eq!(now.encode().unwrap(), Rec { schema: 2, bytes: vec![3, 4] });
        assert_eq!(Counter::decode(&now.encode().unwrap()), Ok(now));
        let before = Rec { schema: 1, bytes: vec![7] };
        assert_eq!(Counter::decode(&before), Ok(Counter { used: 7, limit: 10 }));
        let after = Rec { schema: 3, bytes: vec![1, 2, 3] };
        assert_eq!(Counter::decode(&after), Err(StoreError::NewerSchema { found: 3, known: 2 }));
        let cut = Rec { schema: 2, bytes: vec![3] };
        assert!(matches!(Counter::decode(&cut), Err(StoreError::Corrupt(_))));
    }

    #[test]
    fn a_json_record_is_readable() {
        let note = Note("hello".into());
        assert_eq!(note.encode().unwrap(), Rec { schema: 1, bytes: b"\"hello\"".to_vec() });
        assert_eq!(Note::decode(&note.encode().unwrap()), Ok(note));
        assert!(matches!(Note::decode(&Rec { schema: 0, bytes: vec![] }), Err(StoreError::Corrupt(_))));
    }
}
