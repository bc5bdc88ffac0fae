//! Misspelt words: an unknown word of seven letters or more that is one edit
//! away from lexicon words counts as them. Found by the deletions of both
//! words (symmetric delete), checked by distance.

use super::trie::Extent;
use std::collections::HashSet;

/// The fewest letters of a word that may be misspelt.
const LEAST_LETTERS: usize = 7;

/// The most bytes of a word that is corrected.
const MOST_BYTES: usize = 24;

/// The words of a language that others may be misspellings of.
#[derive(Debug, Clone, Default)]
pub struct Spelling {
    words: String,
    /// Where each word ends in `words`.
    ends: Vec<u32>,
    /// Where the deletions of each bucket begin; the bucket is the beginning of the hash.
    buckets: Vec<u32>,
    /// Hashes of the words without one letter, each with its word in the low half; sorted.
    deletions: Vec<u64>,
}

type Hash = u32;

/// English words that are one edit away from a lexicon word and mean
/// something else.
const OTHER_WORDS: &[&str] = &[
    "smelling",
    "spelling",
    "dwelling",
    "yelling",
    "welling",
    "bleating",
    "blending",
    "breeding",
    "heading",
    "reading",
    "leading",
    "bearing",
    "wearing",
    "hearing",
    "tearing",
    "gearing",
    "fearing",
    "sending",
    "spending",
    "warming",
    "farming",
    "working",
    "walking",
    "talking",
    "taking",
    "turning",
    "burning",
    "learning",
    "morning",
    "warning",
    "winning",
    "running",
    "sinning",
    "signing",
    "singing",
    "ringing",
    "bringing",
    "hanging",
    "changing",
    "charging",
    "chatting",
    "choosing",
    "closing",
    "crossing",
    "drawing",
    "driving",
    "dressing",
    "pressing",
    "painting",
    "pointing",
    "planting",
    "waiting",
    "writing",
    "sitting",
    "hitting",
    "fitting",
    "biting",
    "eating",
    "heating",
    "beating",
    "seating",
    "weather",
    "feather",
    "leather",
    "brother",
    "breather",
    "strange",
    "stroked",
    "stroke",
    "strokes",
    "slacking",
    "smacking",
    "snacking",
    "stocking",
    "sticking",
    "medication",
    "meditation",
    "dedication",
    "operator",
    "infection",
    "injection",
    "inflection",
    "rejection",
    "infected",
    "injected",
    "sneezing",
    "freezing",
    "squeezes",
    "breezing",
    "vacation",
    "location",
    "vocation",
    "mention",
    "tension",
    "pension",
    "section",
    "question",
    "collect",
    "collapse",
    "contract",
    "contrast",
    "content",
    "context",
    "pressure",
    "measure",
    "treasure",
    "leisure",
    "pleasure",
    "picture",
    "mixture",
    "capture",
    "lecture",
    "fracture",
    "texture",
    "nothing",
    "something",
    "anything",
    "everything",
    "clothing",
    "clothes",
    "another",
    "without",
    "within",
    "thought",
    "through",
    "brought",
    "weights",
    "heights",
    "lightly",
    "nightly",
    "tightly",
    "slightly",
    "sighting",
    "lighting",
    "fighting",
    "righting",
    "swallows",
    "shallow",
    "stairs",
    "started",
    "starter",
    "starting",
    "startle",
    "stomachs",
    "bowling",
    "boiling",
    "bottles",
    "battles",
    "cattle",
    "settled",
    "chested",
    "cheated",
    "chasing",
    "chopping",
    "shopping",
    "stopping",
    "dropping",
    "droppings",
    "popping",
    "sleeping",
    "sweeping",
    "weeping",
    "keeping",
    "sleepy",
    "steeping",
    "stepping",
    "slipping",
    "skipping",
    "shipping",
    "chipping",
    "tripping",
    "gripping",
    "dripping",
    "clipping",
    "flipping",
    "whipping",
    "zipping",
    "sealing",
    "dealing",
    "healing",
    "feeling",
    "feelings",
    "peeling",
    "kneeling",
    "dieting",
    "editing",
];

/// Whether a lexicon's word is long enough. A stem is compared as a whole
/// word would be; shorter ones would catch too much.
pub fn is_corrected(word: &str, extent: Extent) -> bool {
    let least = if extent == Extent::Stem { LEAST_LETTERS - 1 } else { LEAST_LETTERS };
    word.chars().count() >= least && word.chars().all(char::is_alphabetic)
}

impl Spelling {
    /// Of several words that may be meant, the first of these is.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut spelling = Self::default();
        let mut seen = HashSet::new();
        for word in words {
            let Ok(id) = u32::try_from(spelling.ends.len()) else { break };
            if seen.insert(word) {
                spelling.words.push_str(word);
                spelling.ends.push(u32::try_from(spelling.words.len()).unwrap_or(u32::MAX));
                spelling.deletions.extend(hashes(word).map(|hash| u64::from(hash) << Hash::BITS | u64::from(id)));
            }
        }
        spelling.deletions.sort_unstable();
        spelling.deletions.dedup();
        spelling.deletions.shrink_to_fit();
        let buckets = (spelling.deletions.len() / 2).next_power_of_two();
        let start = |bucket: usize| spelling.deletions.partition_point(|&d| bucket_of(hash_of(d), buckets) < bucket);
        spelling.buckets = (0..=buckets).map(|bucket| u32::try_from(start(bucket)).unwrap_or(u32::MAX)).collect();
        spelling
    }

    /// The word meant, if an unknown word is misspelt.
    pub fn correct(&self, word: &str, readings: &[Deletion]) -> Option<&str> {
        let meant = readings.iter().find_map(|deletion| {
            let base = word.get(..usize::from(deletion.bytes))?;
            self.without_a_letter(deletion.hash).find(|known| one_edit(base, known))
        });
        meant.filter(|_| !OTHER_WORDS.contains(&word))
    }

    fn without_a_letter(&self, hash: Hash) -> impl Iterator<Item = &str> {
        let bucket = bucket_of(hash, self.buckets.len().saturating_sub(1));
        let place = |bucket: usize| self.buckets.get(bucket).map_or(0, |&at| at as usize);
        let bucket = self.deletions.get(place(bucket)..place(bucket + 1)).unwrap_or(&[]);
        bucket
            .iter()
            .filter(move |&&d| hash_of(d) == hash)
            .filter_map(|&d| self.word((d & u64::from(u32::MAX)) as usize))
    }

    fn word(&self, id: usize) -> Option<&str> {
        let end = |id: usize| self.ends.get(id).map(|&end| end as usize);
        let start = if id == 0 { 0 } else { end(id - 1)? };
        self.words.get(start..end(id)?)
    }
}

fn hash_of(deletion: u64) -> Hash {
    (deletion >> Hash::BITS) as Hash
}

/// The hash scaled to the number of buckets, so that buckets are in the order of hashes.
fn bucket_of(hash: Hash, buckets: usize) -> usize {
    ((u64::from(hash) * buckets as u64) >> Hash::BITS) as usize
}

/// A reading of a word that may be misspelt: its first bytes without one letter.
#[derive(Debug, Clone, Copy)]
pub struct Deletion {
    hash: Hash,
    bytes: u8,
}

/// Appends the readings of a word, likelier ones first; none if it is too short or too long to be corrected.
pub fn deletions_of(word: &str, into: &mut Vec<Deletion>) {
    // "brethless": the stem "breathless" without its ending.
    const ENDINGS: [&str; 8] = ["", "s", "ing", "ed", "ness", "al", "ly", "ia"];
    if word.len() < LEAST_LETTERS || word.len() > MOST_BYTES || !word.chars().all(char::is_alphabetic) {
        return;
    }
    for base in ENDINGS.iter().filter_map(|ending| word.strip_suffix(ending)) {
        if base.chars().count() >= LEAST_LETTERS
            && let Ok(bytes) = u8::try_from(base.len())
        {
            into.extend(hashes(base).map(|hash| Deletion { hash, bytes }));
        }
    }
}

/// Hashes of the word and of the word without each of its letters.
fn hashes(word: &str) -> impl Iterator<Item = Hash> + '_ {
    // FNV-1a: the keys are our own words, not a stranger's.
    let step = |hash: u64, c: char| (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3);
    let mut before = 0xcbf2_9ce4_8422_2325_u64;
    let whole = word.chars().fold(before, step);
    let without = word.char_indices().map(move |(at, c)| {
        let after = word.get(at + c.len_utf8()..).unwrap_or_default();
        let hash = after.chars().fold(before, step);
        before = step(before, c);
        hash
    });
    // The high half is the better mixed one.
    std::iter::once(whole).chain(without).map(|hash| (hash >> Hash::BITS) as Hash)
}

/// Whether two words differ by one insertion, deletion, substitution or
/// exchange of neighbours.
fn one_edit(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let tail = |i: usize, j: usize| a.get(i..) == b.get(j..);
    match a.len().cmp(&b.len()) {
        std::cmp::Ordering::Equal => {
            let swapped = a.get(same) == b.get(same + 1) && a.get(same + 1) == b.get(same) && tail(same + 2, same + 2);
            a == b || tail(same + 1, same + 1) || swapped
        }
        std::cmp::Ordering::Less => a.len() + 1 == b.len() && tail(same, same + 1),
        std::cmp::Ordering::Greater => b.len() + 1 == a.len() && tail(same + 1, same),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_of_each_kind() {
        for (word, meant) in
            [("diarrhea", "diarrhoea"), ("headahce", "headache"), ("brethless", "breathless"), ("swollenn", "swollen")]
        {
            assert!(one_edit(word, meant), "{word}");
        }
        assert!(!one_edit("headacs", "headache"));
    }

    fn corrected<'a>(spelling: &'a Spelling, word: &str) -> Option<&'a str> {
        let mut readings = Vec::new();
        deletions_of(word, &mut readings);
        spelling.correct(word, &readings)
    }

    #[test]
    fn a_word_one_edit_away_is_the_first_one_of_the_lexicon() {
        let spelling = Spelling::new(["breathless", "diarrhoea", "одышка", "swelling", "headaches", "headached"]);
        assert_eq!(corrected(&spelling, "diarrhea"), Some("diarrhoea"));
        assert_eq!(corrected(&spelling, "brethlessness"), Some("breathless"));
        assert_eq!(corrected(&spelling, "одышкаа"), Some("одышка"));
        assert_eq!(corrected(&spelling, "headachex"), Some("headaches"));
        assert_eq!(corrected(&spelling, "smelling"), None, "another English word");
        assert_eq!(corrected(&spelling, "diarea"), None, "fewer than seven letters");
        assert_eq!(corrected(&spelling, "dirrhea"), None, "two edits");
        assert_eq!(corrected(&Spelling::new([]), "diarrhea"), None);
    }
}
