//! Misspelt words: an unknown word of seven letters or more that is one edit
//! away from lexicon words counts as them. Found by the deletions of both
//! words (symmetric delete), checked by distance.

use super::trie::{ElementId, Trie};
use std::collections::HashMap;

const LEAST_LETTERS: usize = 7;

#[derive(Debug, Clone, Default)]
pub struct Spelling {
    words: Vec<(String, Vec<ElementId>)>,
    index: HashMap<String, usize>,
    by_deletion: HashMap<u64, Vec<u32>>,
}

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

impl Spelling {
    pub fn add(&mut self, word: &str, stem: bool, element: ElementId) {
        // A stem is compared as a whole word would be; shorter ones would
        // catch too much.
        let least = if stem { LEAST_LETTERS - 1 } else { LEAST_LETTERS };
        if word.chars().count() < least || !word.chars().all(char::is_alphabetic) {
            return;
        }
        let at = *self.index.entry(word.to_owned()).or_insert_with(|| {
            self.words.push((word.to_owned(), Vec::new()));
            self.words.len() - 1
        });
        if let Some((_, elements)) = self.words.get_mut(at)
            && !elements.contains(&element)
        {
            elements.push(element);
        }
    }

    /// Builds the deletions, and lets each word stand for all the elements
    /// that it satisfies.
    pub fn finish(&mut self, trie: &Trie) {
        for (i, (word, elements)) in self.words.iter_mut().enumerate() {
            trie.walk(word, |e| {
                if !elements.contains(&e) {
                    elements.push(e);
                }
            });
            let Ok(i) = u32::try_from(i) else { break };
            for key in deletions(word) {
                let list = self.by_deletion.entry(key).or_default();
                if !list.contains(&i) {
                    list.push(i);
                }
            }
        }
        self.index = HashMap::new();
    }

    /// What an unknown word satisfies if it is misspelt, and the word meant.
    pub fn correct(&self, word: &str) -> Option<(&[ElementId], &str)> {
        if word.len() < LEAST_LETTERS || word.len() > 24 || !word.chars().all(char::is_alphabetic) {
            return None;
        }
        if word.chars().count() < LEAST_LETTERS || OTHER_WORDS.contains(&word) {
            return None;
        }
        self.whole(word).or_else(|| {
            // "brethless": the stem "breathless" without its ending.
            let endings = ["s", "ing", "ed", "ness", "al", "ly", "ia"];
            endings.iter().find_map(|ending| {
                let base = word.strip_suffix(ending)?;
                (base.chars().count() >= LEAST_LETTERS).then(|| self.whole(base))?
            })
        })
    }

    fn whole(&self, word: &str) -> Option<(&[ElementId], &str)> {
        for key in deletions(word) {
            for &i in self.by_deletion.get(&key).into_iter().flatten() {
                if let Some((known, elements)) = self.words.get(i as usize)
                    && one_edit(word, known)
                {
                    return Some((elements, known));
                }
            }
        }
        None
    }
}

/// Hashes of the word and of the word without each of its letters.
fn deletions(word: &str) -> impl Iterator<Item = u64> + '_ {
    let skips = std::iter::once(usize::MAX).chain(word.char_indices().map(|(i, _)| i));
    skips.map(|skip| {
        // FNV-1a: the keys are our own words, not a stranger's.
        word.char_indices().filter(|&(i, _)| i != skip).fold(0xcbf2_9ce4_8422_2325_u64, |hash, (_, c)| {
            (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3)
        })
    })
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
}
