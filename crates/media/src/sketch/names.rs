//! CLDR's names and keywords of pictures, indexed by language when a prompt first needs it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::value::RawValue;

use super::concepts::Concepts;
use super::fold::{Folder, hash, stem_hash};
use super::kinds::Kinds;
use super::tokens::key;

/// Pictures that may share a keyword; one that more have (`animal`) says nothing.
const MAX_SHARED: usize = 10;

/// How a word was found; the smaller the surer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Name,
    NameStem,
    Keyword,
    KeywordStem,
}

/// Everything that reading a prompt in one language needs.
#[derive(Debug)]
pub(super) struct Language {
    pub(super) code: String,
    pub(super) folder: Folder,
    pub(super) concepts: Concepts,
    /// Hash, rank, picture: sorted.
    entries: Vec<(u64, Rank, u16)>,
}

impl Language {
    fn build(code: &str, names: &BTreeMap<String, Vec<String>>) -> Self {
        let folder = Folder::new(code);
        let mut entries = Vec::new();
        for (index, picture) in Kinds::get().all() {
            let Some(names) = names.get(picture.emoji) else { continue };
            for (position, name) in names.iter().enumerate() {
                if position > 0 && picture.by_name_only {
                    break;
                }
                let (rank, stem_rank) =
                    if position == 0 { (Rank::Name, Rank::NameStem) } else { (Rank::Keyword, Rank::KeywordStem) };
                let (word, stem) = key(name, &folder);
                entries.push((hash(word.as_bytes()), rank, index));
                entries.extend(stem.map(|stem| (stem_hash(&stem), stem_rank, index)));
            }
        }
        entries.sort_unstable();
        entries.dedup();
        let concepts = Concepts::of(code, &folder, names);
        Self { code: code.to_owned(), folder, concepts, entries }
    }

    /// The best picture of a hash: names before keywords, then the order of the table of kinds.
    pub(super) fn find(&self, hash: u64) -> Option<(Rank, u16)> {
        let start = self.entries.partition_point(|entry| entry.0 < hash);
        let (_, rank, picture) = *self.entries.get(start).filter(|entry| entry.0 == hash)?;
        let same = self.entries.iter().skip(start).take_while(|entry| entry.0 == hash && entry.1 == rank);
        // Variants by gender are one picture here.
        let plain =
            |picture: u16| Kinds::get().picture(picture).is_some_and(|picture| !picture.emoji.contains('\u{200d}'));
        let shared = same.filter(|entry| plain(entry.2)).count();
        (rank < Rank::Keyword || shared <= MAX_SHARED).then_some((rank, picture))
    }
}

/// The names of all languages.
#[derive(Debug)]
pub(super) struct Names {
    languages: Vec<(String, Box<RawValue>, OnceLock<Language>)>,
}

impl Names {
    /// Splits the file by language; a language is parsed when it is first needed.
    pub(super) fn open(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let raw: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(bytes)?;
        // The first language is parsed at once, so that a file of another shape is refused when it is opened.
        if let Some(first) = raw.values().next() {
            serde_json::from_str::<BTreeMap<String, Vec<String>>>(first.get())?;
        }
        Ok(Self { languages: raw.into_iter().map(|(code, raw)| (code, raw, OnceLock::new())).collect() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.languages.is_empty()
    }

    pub(super) fn codes(&self) -> impl Iterator<Item = &str> {
        self.languages.iter().map(|(code, ..)| code.as_str())
    }

    /// The language of a code (or of its part before the first hyphen).
    pub(super) fn language(&self, code: &str) -> Option<&Language> {
        let base = code.split(['-', '_']).next().unwrap_or(code).to_ascii_lowercase();
        let (code, raw, cell) = self.languages.iter().find(|(known, ..)| *known == base)?;
        // A language whose part of the file is broken has no names; the rest is read.
        Some(cell.get_or_init(|| Language::build(code, &serde_json::from_str(raw.get()).unwrap_or_default())))
    }

    /// English names of pictures, as `revised_prompt` gives them.
    pub(super) fn english(&self) -> Result<BTreeMap<u16, String>, serde_json::Error> {
        let Some((_, raw, _)) = self.languages.iter().find(|(code, ..)| code == "en") else {
            return Ok(BTreeMap::new());
        };
        let names: BTreeMap<String, Vec<String>> = serde_json::from_str(raw.get())?;
        let mut english = BTreeMap::new();
        for (index, picture) in Kinds::get().all() {
            if let Some(name) = names.get(picture.emoji).and_then(|names| names.first()) {
                english.insert(index, name.clone());
            }
        }
        Ok(english)
    }
}
