//! Scripts of characters, by the blocks of Unicode.

/// First and last character of blocks, and the ISO 15924 code of their script; sorted. Japanese is `Jpan` by its kana;
/// Chinese characters are `Hani` for whatever language.
const BLOCKS: &[(u32, u32, &str)] = &[
    (0x0041, 0x024f, "Latn"),
    (0x0370, 0x03ff, "Grek"),
    (0x0400, 0x052f, "Cyrl"),
    (0x0531, 0x058f, "Armn"),
    (0x0590, 0x05ff, "Hebr"),
    (0x0600, 0x06ff, "Arab"),
    (0x0750, 0x077f, "Arab"),
    (0x08a0, 0x08ff, "Arab"),
    (0x0900, 0x097f, "Deva"),
    (0x0980, 0x09ff, "Beng"),
    (0x0a00, 0x0a7f, "Guru"),
    (0x0a80, 0x0aff, "Gujr"),
    (0x0b00, 0x0b7f, "Orya"),
    (0x0b80, 0x0bff, "Taml"),
    (0x0c00, 0x0c7f, "Telu"),
    (0x0c80, 0x0cff, "Knda"),
    (0x0d00, 0x0d7f, "Mlym"),
    (0x0d80, 0x0dff, "Sinh"),
    (0x0e00, 0x0e7f, "Thai"),
    (0x1000, 0x109f, "Mymr"),
    (0x10a0, 0x10ff, "Geor"),
    (0x1100, 0x11ff, "Kore"),
    (0x1200, 0x139f, "Ethi"),
    (0x1780, 0x17ff, "Khmr"),
    (0x1c90, 0x1cbf, "Geor"),
    (0x1e00, 0x1eff, "Latn"),
    (0x1f00, 0x1fff, "Grek"),
    (0x3040, 0x30ff, "Jpan"),
    (0x3130, 0x318f, "Kore"),
    (0x31f0, 0x31ff, "Jpan"),
    (0x3400, 0x4dbf, "Hani"),
    (0x4e00, 0x9fff, "Hani"),
    (0xac00, 0xd7a3, "Kore"),
    (0xf900, 0xfaff, "Hani"),
    (0xfb50, 0xfdff, "Arab"),
    (0xfe70, 0xfeff, "Arab"),
    (0xff66, 0xff9f, "Jpan"),
    (0x20000, 0x323af, "Hani"),
];

/// Scripts that one language of the 84 is written in.
const SINGLE: &[(&str, &str)] = &[
    ("Grek", "el"),
    ("Armn", "hy"),
    ("Hebr", "he"),
    ("Beng", "bn"),
    ("Guru", "pa"),
    ("Gujr", "gu"),
    ("Orya", "or"),
    ("Taml", "ta"),
    ("Telu", "te"),
    ("Knda", "kn"),
    ("Mlym", "ml"),
    ("Sinh", "si"),
    ("Thai", "th"),
    ("Mymr", "my"),
    ("Geor", "ka"),
    ("Kore", "ko"),
    ("Ethi", "am"),
    ("Khmr", "km"),
    ("Jpan", "ja"),
];

/// Share of kana among kana and Chinese characters from which a text is Japanese.
const KANA: f64 = 0.1;

/// The script of most letters of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dominant {
    /// ISO 15924 code; `Zyyy` if the text has no letter of a known script.
    pub(super) script: &'static str,
    /// Share of its letters among all letters, 0 to 1.
    pub(super) share: f64,
    /// Number of letters of any script.
    pub(super) letters: usize,
}

impl Dominant {
    /// Returns the code of the only one of the 84 languages in this script, if most letters are of it.
    pub(super) fn language(self) -> Option<&'static str> {
        let single = SINGLE.iter().find(|(script, _)| *script == self.script && self.share > 0.5);
        single.map(|&(_, language)| language)
    }
}

/// Returns the ISO 15924 code of a letter's script; `None` for what is no letter, or in a script of none of the 84
/// languages.
pub fn script_of(character: char) -> Option<&'static str> {
    let code = u32::from(character);
    let after = BLOCKS.partition_point(|&(first, _, _)| first <= code);
    let &(_, last, script) = BLOCKS.get(after.checked_sub(1)?)?;
    // Vowel signs of Indic scripts are marks, not letters; they count as little as they are many, on all sides.
    (code <= last && character.is_alphabetic()).then_some(script)
}

pub(super) fn dominant(text: &str) -> Dominant {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for script in text.chars().filter_map(script_of) {
        match counts.iter_mut().find(|(known, _)| *known == script) {
            Some((_, count)) => *count += 1,
            None => counts.push((script, 1)),
        }
    }
    let letters: usize = counts.iter().map(|(_, count)| count).sum();
    let count = |script: &str| counts.iter().find(|(known, _)| *known == script).map_or(0, |&(_, count)| count);
    let (kana, han) = (count("Jpan"), count("Hani"));
    if kana > 0 && kana as f64 >= KANA * (kana + han) as f64 && 2 * (kana + han) > letters {
        return Dominant { script: "Jpan", share: (kana + han) as f64 / letters as f64, letters };
    }
    // Of equal counts the script that comes first in the text.
    let most = counts.iter().rev().max_by_key(|(_, count)| *count);
    most.map_or(Dominant { script: "Zyyy", share: 0.0, letters }, |&(script, count)| Dominant {
        script,
        share: count as f64 / letters as f64,
        letters,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_sorted_and_apart() {
        assert!(BLOCKS.windows(2).all(|pair| pair[0].0 <= pair[0].1 && pair[0].1 < pair[1].0));
    }

    #[test]
    fn a_script_of_one_language_names_it() {
        let expected = [("γεια σου", "el"), ("สวัสดี", "th"), ("日本語です", "ja"), ("안녕", "ko"), ("%s ΑΒΓΔ", "el")];
        for (text, language) in expected {
            assert_eq!(dominant(text).language(), Some(language), "{text}");
        }
        for text in ["hello", "привет", "你好", "123 ?", ""] {
            assert_eq!(dominant(text).language(), None, "{text}");
        }
    }
}
