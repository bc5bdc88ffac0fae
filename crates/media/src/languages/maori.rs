//! A rule for Maori, which the table does not have.
//!
//! Maori has the consonants h k m n ng p r t w wh and five vowels, short or long; every syllable is open (Bauer, The Reed
//! Reference Grammar of Māori, 1997, chapter 37). A text is Maori if nearly all of its words are such syllables and enough of
//! them are its particles.

use unicode_normalization::UnicodeNormalization;

/// Share of words of open syllables from which a text may be Maori.
const SHARE: f64 = 0.9;
/// Share of particles that a text must have, and their least number.
const PARTICLES_SHARE: f64 = 0.2;
const PARTICLES_LEAST: usize = 2;

/// Particles, determiners and pronouns that are frequent in Maori. The one-letter words a, e, i, o are left out: many
/// languages have them.
const PARTICLES: &[&str] = &[
    "ana", "anō", "ōku", "ōna", "hei", "hoki", "ia", "ka", "katoa", "kei", "kia", "ki", "ko", "kore", "kua", "kāore",
    "mai", "me", "mō", "mā", "nei", "nga", "ngā", "nō", "nā", "rānei", "rā", "tana", "te", "tērā", "tēnei", "tēnā",
    "tona", "tōna", "he",
];

/// Returns the share of words that have the syllables of Maori, if the text is Maori by the rule.
pub(super) fn maori(text: &str) -> Option<f64> {
    let text: String = text.nfc().flat_map(char::to_lowercase).collect();
    let words = text.split(|character: char| !character.is_alphabetic()).filter(|word| !word.is_empty());
    let (mut count, mut fitting, mut particles) = (0_usize, 0_usize, 0_usize);
    for word in words {
        count += 1;
        fitting += usize::from(has_open_syllables(word));
        particles += usize::from(PARTICLES.contains(&word));
    }
    let share = fitting as f64 / count.max(1) as f64;
    let enough = particles >= PARTICLES_LEAST && particles as f64 >= PARTICLES_SHARE * count as f64;
    (share >= SHARE && enough).then_some(share)
}

/// Returns whether a word consists of syllables of at most one consonant and a vowel.
fn has_open_syllables(word: &str) -> bool {
    let is_vowel = |c: char| "aeiouāēīōū".contains(c);
    let mut rest = word;
    while !rest.is_empty() {
        let onset = ["ng", "wh"].iter().find_map(|two| rest.strip_prefix(two));
        let onset = onset.or_else(|| rest.strip_prefix(|c| "hkmnprtw".contains(c))).unwrap_or(rest);
        match onset.strip_prefix(is_vowel) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syllables_are_open_and_of_the_language() {
        // Place names and words from Te Aka Māori Dictionary.
        for word in ["whakapapa", "rangatira", "ngāti", "aotearoa", "kāinga", "wāhine"] {
            assert!(has_open_syllables(word), "{word}");
        }
        for word in ["shelter", "kilima", "open", "casa", "ng"] {
            assert!(!has_open_syllables(word), "{word}");
        }
    }

    #[test]
    fn other_languages_with_open_syllables_are_not_taken_for_it() {
        // Swahili, Japanese in Latin letters, Hawaiian, Italian.
        for text in ["watu wote wamezaliwa huru", "watashi no namae wa", "he aha ke kumu o ka lā", "me ne vado a casa"]
        {
            assert_eq!(maori(text), None, "{text}");
        }
        assert!(maori("Ko te reo Māori te reo taketake o Aotearoa").is_some());
    }
}
