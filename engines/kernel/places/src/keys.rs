//! Places by name: keys are folded names, sorted, in blocks of sixteen that share their beginnings.

use std::collections::BTreeMap;

use any_ascii::any_ascii;

use crate::table::Table;

/// Maximum length of a name that is looked for, in bytes of its key.
const MAX_KEY: usize = 200;
/// Similarity from which a name is returned (the default of PostgreSQL's pg_trgm).
const LEAST: f64 = 0.3;
/// Bit of a record's number that marks an alternative name.
const ALTERNATIVE: u32 = 1 << 23;

/// A place that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Number of the place.
    pub id: u32,
    /// Whether the name is an alternative one: another language, or a former name.
    pub alternative: bool,
}

/// Folds a name: transliterated to ASCII, lower case, one space for each run of other characters.
pub fn fold(name: &str) -> String {
    let mut key = String::with_capacity(name.len());
    for letter in any_ascii(name).chars() {
        match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9') => key.push(letter),
            _ if key.is_empty() || key.ends_with(' ') => {}
            _ => key.push(' '),
        }
    }
    key.truncate(key.trim_end().len());
    key
}

/// Reads the keys from the start of a block, across the following ones.
struct Cursor {
    rest: &'static [u8],
    key: Vec<u8>,
}

impl Cursor {
    fn at(table: &Table, block: usize) -> Option<Self> {
        let start = table.blocks.as_chunks::<4>().0.get(block).map(|offset| u32::from_le_bytes(*offset) as usize)?;
        Some(Self { rest: table.keys.get(start..)?, key: Vec::new() })
    }

    /// Moves to the next key and returns the place that has it.
    fn next(&mut self) -> Option<Named> {
        let [shared, length, rest @ ..] = self.rest else { return None };
        let (own, rest) = rest.split_at_checked(usize::from(*length))?;
        let ([low, middle, high], rest) = rest.split_first_chunk::<3>()?;
        self.key.truncate(usize::from(*shared));
        self.key.extend_from_slice(own);
        self.rest = rest;
        let number = u32::from_le_bytes([*low, *middle, *high, 0]);
        Some(Named { id: number & !ALTERNATIVE, alternative: number & ALTERNATIVE != 0 })
    }
}

/// Returns the places whose key is `key`: those whose own name it is first, then by population.
pub fn named(key: &str) -> Vec<Named> {
    let Some(table) = Table::get() else { return Vec::new() };
    if key.is_empty() || key.len() > MAX_KEY {
        return Vec::new();
    }
    let first = |block: usize| {
        let mut cursor = Cursor::at(table, block)?;
        cursor.next()?;
        Some(cursor.key)
    };
    let (mut low, mut high) = (0, table.blocks.len() / 4);
    while low < high {
        let middle = low + (high - low) / 2;
        if first(middle).is_some_and(|first| first.as_slice() < key.as_bytes()) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    // The key may stand in the block before, behind its first one.
    let mut found = Vec::new();
    let Some(mut cursor) = Cursor::at(table, low.saturating_sub(1)) else { return found };
    while let Some(named) = cursor.next() {
        match cursor.key.as_slice().cmp(key.as_bytes()) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => found.push(named),
            std::cmp::Ordering::Greater => break,
        }
    }
    found
}

/// Returns the places whose keys have at least 0.3 of their trigrams in common with `key` (Jaccard, trigrams of words with
/// two blanks before and one behind, as in pg_trgm), with their similarities. Looks at each key.
pub fn similar(key: &str) -> Vec<(u32, f64)> {
    let Some(table) = Table::get() else { return Vec::new() };
    if key.is_empty() || key.len() > MAX_KEY {
        return Vec::new();
    }
    let (mut wanted, mut own) = (Vec::new(), Vec::new());
    trigrams(key.as_bytes(), &mut wanted);
    let filter = Filter::of(&wanted);
    let enough = (LEAST * wanted.len() as f64).ceil() as usize;
    let mut found: BTreeMap<u32, f64> = BTreeMap::new();
    let Some(mut cursor) = Cursor::at(table, 0) else { return Vec::new() };
    while let Some(named) = cursor.next() {
        // No more trigrams are shared than pass the filter, and the union has all that are wanted.
        if filter.passed(&cursor.key) < enough {
            continue;
        }
        trigrams(&cursor.key, &mut own);
        let shared = own.iter().filter(|trigram| wanted.binary_search(trigram).is_ok()).count();
        let similarity = shared as f64 / (own.len() + wanted.len() - shared) as f64;
        if similarity >= LEAST {
            let best = found.entry(named.id).or_default();
            *best = best.max(similarity);
        }
    }
    found.into_iter().collect()
}

/// A set of hashed trigrams, without false negatives.
struct Filter(Vec<bool>);

impl Filter {
    const SLOTS: usize = 4_096;

    fn slot([first, second, third]: [u8; 3]) -> usize {
        (usize::from(first) * 961 + usize::from(second) * 31 + usize::from(third)) % Self::SLOTS
    }

    fn of(trigrams: &[[u8; 3]]) -> Self {
        let mut slots = vec![false; Self::SLOTS];
        for trigram in trigrams {
            if let Some(slot) = slots.get_mut(Self::slot(*trigram)) {
                *slot = true;
            }
        }
        Self(slots)
    }

    /// Counts the trigrams of a key that may be in the set.
    fn passed(&self, key: &[u8]) -> usize {
        let mut window = [b' '; 3];
        let mut count = 0;
        for byte in key.iter().chain(std::iter::once(&b' ')) {
            // A word begins with two blanks.
            let [_, second, third] = window;
            window = if third == b' ' { [b' ', b' ', *byte] } else { [second, third, *byte] };
            count += usize::from(self.0.get(Self::slot(window)).is_some_and(|set| *set));
        }
        count
    }
}

/// Replaces `into` by the sorted trigrams of a key.
fn trigrams(key: &[u8], into: &mut Vec<[u8; 3]>) {
    into.clear();
    for word in key.split(|byte| *byte == b' ').filter(|word| !word.is_empty()) {
        let mut window = [b' ', b' ', b' '];
        for byte in word.iter().chain(std::iter::once(&b' ')) {
            let [_, second, third] = window;
            window = [second, third, *byte];
            into.push(window);
        }
    }
    into.sort_unstable();
    into.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place;

    fn names(key: &str) -> Vec<(&'static str, &'static str)> {
        named(key).iter().filter_map(|named| place(named.id)).map(|place| (place.name, place.country)).collect()
    }

    /// The table's maker folds with another program: each place is found by its own name.
    #[test]
    fn every_place_is_found_by_its_folded_name() {
        for id in (0..crate::count() as u32).step_by(7) {
            let place = place(id).unwrap();
            let key = fold(place.name);
            assert!(key.is_empty() || named(&key).contains(&Named { id, alternative: false }), "{}", place.name);
        }
    }

    #[test]
    fn names_in_other_scripts_and_languages_lead_to_the_place() {
        for (name, of, country) in [
            ("München", "Munich", "DE"),
            ("Москва", "Moscow", "RU"),
            ("Saint-Denis", "Saint-Denis", "FR"),
            ("Antananarivo", "Antananarivo", "MG"),
            ("東京", "Tokyo", "JP"),
        ] {
            assert!(names(&fold(name)).contains(&(of, country)), "{name}: {:?}", names(&fold(name)));
        }
        assert_eq!(names("no place has this name"), []);
        assert_eq!(names(""), []);
    }

    #[test]
    fn a_misspelt_name_is_similar() {
        let found = similar("antananrivo");
        let best = found.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(place(best.0).unwrap().name, "Antananarivo");
        // "word" has the trigrams `  w`, ` wo`, `wor`, `ord`, `rd `.
        let mut of = Vec::new();
        trigrams(b"word", &mut of);
        assert_eq!(of.len(), 5);
    }
}
