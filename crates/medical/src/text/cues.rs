//! The words of a language that say what is denied, how, when and of whom.

use super::normal::{Sentence, words};
use super::trie::{ElementId, Entry, Trie};

/// What a word, or a row of words, says of those beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cue {
    /// Denies what follows.
    Before,
    /// Ends the reach of a denial.
    Ends,
    /// Denies the item before it.
    Behind,
    /// Denies the next two words.
    Near,
    /// Has a denial in it and denies nothing.
    Skips,
    /// Joins the items of a denied list.
    Closes,
    Sudden,
    Severe,
    Mild,
    /// The clause is of the past.
    Past,
    /// What follows is asked about or supposed.
    Asked,
    /// What follows is of a relative.
    Family,
    Relatives,
    /// Of a relative, with the word before.
    Had,
    /// It is of today, whoever has it.
    Now,
}

impl Cue {
    const COUNT: usize = Self::Now as usize + 1;
}

/// The cues of a language: rows of normalised words, found by their first
/// word. A word may be a stem, and after the first `_` stands for any one
/// word ("hace _ años").
#[derive(Debug, Clone)]
pub struct Cues {
    firsts: Trie,
    /// The words after the first, parted by blanks.
    rows: Vec<(Cue, Box<str>)>,
}

impl Cues {
    pub fn new<'a>(lists: impl IntoIterator<Item = (Cue, &'a Vec<String>)>) -> Result<Self, String> {
        let (mut firsts, mut rows) = (Vec::new(), Vec::new());
        for (cue, phrase) in lists.into_iter().flat_map(|(cue, list)| list.iter().map(move |phrase| (cue, phrase))) {
            let row: Vec<String> = phrase.split_whitespace().flat_map(starred).collect();
            let Some((first, rest)) = row.split_first() else { continue };
            let id = ElementId::try_from(rows.len()).map_err(|_| "too many cues".to_owned())?;
            firsts.push(Entry::new(first, id));
            rows.push((cue, rest.join(" ").into_boxed_str()));
        }
        Ok(Self { firsts: Trie::new(firsts), rows })
    }

    /// The cues of a sentence.
    pub fn read(&self, s: &Sentence) -> SentenceCues {
        let mut lengths = vec![[0; Cue::COUNT]; s.tokens.len()];
        for (at, (token, lengths)) in s.tokens.iter().zip(&mut lengths).enumerate() {
            self.firsts.walk(&token.word, |id| {
                let Some((cue, rest)) = self.rows.get(usize::from(id)) else { return };
                let mut length: u8 = 1;
                for pattern in rest.split_whitespace() {
                    if !is_word(pattern, s.word(at + usize::from(length))) {
                        return;
                    }
                    length += 1;
                }
                if let Some(longest) = lengths.get_mut(*cue as usize) {
                    *longest = length.max(*longest);
                }
            });
        }
        SentenceCues { lengths }
    }
}

/// For each word of a sentence the length of the longest cue of each kind
/// that begins there, or 0.
#[derive(Debug, Default)]
pub struct SentenceCues {
    lengths: Vec<[u8; Cue::COUNT]>,
}

impl SentenceCues {
    /// The length of the longest cue that begins at this word.
    pub fn at(&self, cue: Cue, at: usize) -> Option<usize> {
        let length = *self.lengths.get(at)?.get(cue as usize)?;
        (length > 0).then_some(usize::from(length))
    }

    /// The first word at which a cue begins.
    pub fn first(&self, cue: Cue) -> Option<usize> {
        (0..self.lengths.len()).find(|&at| self.at(cue, at).is_some())
    }

    /// How many words begin a denial.
    pub fn denials(&self) -> usize {
        let denies = |&at: &usize| [Cue::Before, Cue::Behind, Cue::Near].iter().any(|&cue| self.at(cue, at).is_some());
        (0..self.lengths.len()).filter(denies).count()
    }
}

/// The normalised words of a blank-free part; a star stays at the last.
pub fn starred(part: &str) -> Vec<String> {
    if part == "_" {
        return vec![part.to_owned()];
    }
    let mut row = words(part.trim_end_matches('*'));
    if part.ends_with('*')
        && let Some(last) = row.last_mut()
    {
        last.push('*');
    }
    row
}

fn is_word(pattern: &str, word: &str) -> bool {
    if pattern == "_" {
        return !word.is_empty();
    }
    match pattern.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => pattern == word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::normal::sentences;

    #[test]
    fn the_longest_cue_of_each_kind_counts_at_the_word_where_it_begins() {
        let list = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let (before, past) = (list(&["no", "no hay", "sin"]), list(&["hace _ años", "hace años", "ayer"]));
        let cues = Cues::new([(Cue::Before, &before), (Cue::Past, &past), (Cue::Severe, &list(&["muy fuert*"]))]);
        let sentence = sentences("No hay fiebre, hace dos años tos muy fuertes").remove(0);
        let cues = cues.map(|cues| cues.read(&sentence)).unwrap_or_default();
        assert_eq!(cues.at(Cue::Before, 0), Some(2));
        assert_eq!(cues.at(Cue::Before, 1), None);
        assert_eq!(cues.at(Cue::Past, 3), Some(3));
        assert_eq!(cues.first(Cue::Severe), Some(7));
        assert_eq!(cues.first(Cue::Mild), None);
        assert_eq!(cues.denials(), 1);
        assert_eq!(cues.at(Cue::Before, 99), None);
    }
}
