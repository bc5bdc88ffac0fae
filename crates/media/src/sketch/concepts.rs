//! Words that are not names of pictures: the table words.txt, and the colour words of CLDR.

use std::collections::BTreeMap;

use super::colour_names;
use super::fold::{Folder, hash, stem_hash};
use super::kinds::Kinds;
use super::scene::{Colour, Place, Setting, TimeOfDay, Weather};
use super::tokens::key;

/// What a word of the table means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Concept {
    Colour(Colour),
    Count(u8),
    Setting(Setting),
    Time(TimeOfDay),
    Weather(Weather),
    Relation(Place),
    /// A picture whose CLDR names miss an everyday word.
    Picture(u16),
    /// Sky or ground, which every scene has.
    Scenery,
    /// What it stands with is not in the picture (without, no).
    Negation,
    /// A word between a number and a noun.
    Measure,
    /// A function word.
    Stop,
    /// A verb or adjective: not drawn, and listed so.
    Vague,
}

/// The concepts of one language, by hash.
#[derive(Debug, Default)]
pub(super) struct Concepts {
    /// Sorted by hash; the first line of the table wins.
    entries: Vec<(u64, Concept)>,
}

impl Concepts {
    /// Reads the rows of one language, then the colours that its names of pictures state.
    pub(super) fn of(language: &str, folder: &Folder, names: &BTreeMap<String, Vec<String>>) -> Self {
        let mut entries = Vec::new();
        for line in include_str!("words.txt").lines().filter(|line| !line.starts_with('#')) {
            let mut cells = line.split('|').map(str::trim);
            let Some(concept) = cells.next().and_then(concept) else { continue };
            for cell in cells {
                let Some((_, words)) = cell.split_once(' ').filter(|(code, _)| *code == language) else { continue };
                for word in words.split(',') {
                    let (word, stem) = key(word, folder);
                    entries.push((hash(word.as_bytes()), concept));
                    // A stem of a function word would swallow nouns.
                    if !matches!(concept, Concept::Stop | Concept::Relation(_) | Concept::Measure | Concept::Negation) {
                        entries.extend(stem.map(|stem| (stem_hash(&stem), concept)));
                    }
                }
            }
        }
        for (colour, word) in colour_names::words(names) {
            let (word, stem) = key(&word, folder);
            entries.push((hash(word.as_bytes()), Concept::Colour(colour)));
            entries.extend(stem.map(|stem| (stem_hash(&stem), Concept::Colour(colour))));
        }
        // The sort is stable: what the table states comes before what the names state.
        entries.sort_by_key(|(hash, _)| *hash);
        entries.dedup_by_key(|(hash, _)| *hash);
        Self { entries }
    }

    pub(super) fn find(&self, hash: u64) -> Option<Concept> {
        let index = self.entries.binary_search_by_key(&hash, |(hash, _)| *hash).ok()?;
        self.entries.get(index).map(|(_, concept)| *concept)
    }
}

fn concept(word: &str) -> Option<Concept> {
    let (family, value) = word.split_once(':').unwrap_or((word, ""));
    match family {
        "colour" => Colour::parse(value).map(Concept::Colour),
        "count" => value.parse().ok().map(Concept::Count),
        "setting" => Setting::parse(value).map(Concept::Setting),
        "time" => TimeOfDay::parse(value).map(Concept::Time),
        "weather" => Weather::parse(value).map(Concept::Weather),
        "relation" => Place::parse(value).map(Concept::Relation),
        "picture" => Kinds::get().find(value).map(Concept::Picture),
        "scenery" => Some(Concept::Scenery),
        "negation" => Some(Concept::Negation),
        "measure" => Some(Concept::Measure),
        "stop" => Some(Concept::Stop),
        "vague" => Some(Concept::Vague),
        _ => None,
    }
}
