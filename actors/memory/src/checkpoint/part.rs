//! Content of the files.

use std::io::{self, Read, Write};

use muster_retrieval::Collection;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::blocks::{SectionReader, SectionWriter};
use super::identity::Identity;
use super::partition::SlotNumber;
use crate::record::Space;

/// Maximum bytes before the collections.
const MAX_HEAD: u64 = 64 << 20;

/// Identifies one of a slot's files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum PartKey {
    /// Small collections, by a hash of their space.
    Pack(u8),
    /// A large collection.
    Own(Space),
}

/// A file named in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) name: String,
    /// In bytes.
    pub(crate) length: u64,
}

/// List of a slot's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct List {
    pub(super) store: Identity,
    pub(super) slot: SlotNumber,
    /// Last change contained in the files.
    pub(super) through: u64,
    /// Model of their vectors.
    pub(super) model: String,
    pub(super) files: Vec<(PartKey, FileEntry)>,
}

/// Header before the collections of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartHead {
    pub(super) store: Identity,
    pub(super) slot: SlotNumber,
    pub(super) part: PartKey,
    pub(super) spaces: Vec<Space>,
}

impl List {
    pub(super) fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut file = SectionWriter::begin(to)?;
        file.section(|to| put(to, self))?;
        file.finish().map(drop)
    }

    /// # Errors
    /// It is damaged.
    pub(super) fn read(from: impl Read) -> io::Result<Self> {
        let mut file = SectionReader::begin(from)?;
        let list = file.section(take)?;
        file.finish()?;
        Ok(list)
    }
}

/// Writes a file of collections.
pub(super) fn write(to: &mut dyn Write, head: &PartHead, collections: &[(Space, Collection)]) -> io::Result<()> {
    let mut file = SectionWriter::begin(to)?;
    file.section(|to| put(to, head))?;
    for (_, collection) in collections {
        file.section(|to| collection.encode(to))?;
    }
    file.finish().map(drop)
}

/// # Errors
/// It is damaged.
pub(super) fn read(from: impl Read) -> io::Result<(PartHead, Vec<(Space, Collection)>)> {
    let mut file = SectionReader::begin(from)?;
    let head: PartHead = file.section(take)?;
    let mut collections = Vec::new();
    for space in &head.spaces {
        let collection = file.section(|from| Collection::decode(from).map_err(no_data))?;
        collections.push((space.clone(), collection));
    }
    file.finish()?;
    Ok((head, collections))
}

fn put<T: Serialize>(to: &mut dyn Write, value: &T) -> io::Result<()> {
    to.write_all(&postcard::to_stdvec(value).map_err(no_data)?)
}

fn take<T: DeserializeOwned>(from: &mut dyn Read) -> io::Result<T> {
    let mut bytes = Vec::new();
    from.take(MAX_HEAD).read_to_end(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(no_data)
}

fn no_data(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
