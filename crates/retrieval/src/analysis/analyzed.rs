use super::Language;
use super::terms::{Reading, each_word};

/// Gap in positions between two texts of an entry, so that their words are not adjacent.
const GAP: u32 = 8;

/// Terms of an entry, for [`TextIndex::insert`](crate::TextIndex::insert).
#[derive(Debug, Clone, Default)]
pub struct Analyzed {
    language: Language,
    length: u32,
    /// All terms, concatenated.
    text: String,
    /// Sorted by the term's bytes, then by position; without duplicates.
    occurrences: Vec<Occurrence>,
}

#[derive(Debug, Clone, Copy)]
struct Occurrence {
    start: u32,
    length: u16,
    position: u32,
}

/// Analyses an entry's texts (key, tags, value) in a language. Time and memory are linear in the texts, except for
/// sorting the terms.
#[must_use]
pub fn analyze(texts: &[&str], language: Language) -> Analyzed {
    let mut all = Analyzed { language, ..Analyzed::default() };
    let mut reading = Reading::default();
    for text in texts {
        each_word(text, &mut |word| {
            reading.each_term(&word, language, &mut |term, place| all.push(term, place.position));
        });
        reading.position = reading.position.saturating_add(GAP);
    }
    all.length = reading.length;
    all.order();
    all
}

impl Analyzed {
    /// Returns the language in which the texts were analysed.
    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

    /// Returns the length in words; in characters for scripts without spaces.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Iterates over the distinct terms in byte order, with their positions in ascending order.
    pub fn terms(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = u32> + Clone)> {
        let groups = self.occurrences.chunk_by(|a, b| self.term(*a) == self.term(*b));
        groups.filter_map(|group| Some((self.term(*group.first()?), group.iter().map(|one| one.position))))
    }

    fn push(&mut self, term: &str, position: u32) {
        let (Ok(start), Ok(length)) = (u32::try_from(self.text.len()), u16::try_from(term.len())) else { return };
        if length > 0 {
            self.text.push_str(term);
            self.occurrences.push(Occurrence { start, length, position });
        }
    }

    fn order(&mut self) {
        let text = &self.text;
        let key = |one: &Occurrence| (slice(text, *one), one.position);
        self.occurrences.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        self.occurrences.dedup_by(|a, b| key(a) == key(b));
    }

    fn term(&self, one: Occurrence) -> &str {
        slice(&self.text, one)
    }
}

fn slice(text: &str, one: Occurrence) -> &str {
    let start = one.start as usize;
    text.get(start..start + usize::from(one.length)).unwrap_or_default()
}
