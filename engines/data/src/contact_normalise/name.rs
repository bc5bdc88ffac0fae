//! People's names.

use unicode_normalization::UnicodeNormalization as _;

/// Particles that are written in lower case.
const PARTICLES: [&str; 21] = [
    "af", "al", "av", "bin", "da", "das", "de", "del", "della", "der", "di", "do", "dos", "du", "el", "la", "le",
    "van", "von", "y", "zu",
];

/// NFC, single spaces, no invisible characters. A name in one case gets capitals at the beginning of its parts; a
/// mixed-case name is kept.
pub(super) fn tidy(text: &str) -> String {
    let seen =
        |c: &char| !c.is_control() && !('\u{200b}'..='\u{200f}').contains(c) && !('\u{202a}'..='\u{202e}').contains(c);
    let spaced: String = text.nfc().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(seen).collect();
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
    let one_case = !(spaced.chars().any(char::is_uppercase) && spaced.chars().any(char::is_lowercase));
    if !one_case {
        return words.join(" ");
    }
    let titled: Vec<String> = words
        .iter()
        .enumerate()
        .map(|(at, word)| {
            let small = word.to_lowercase();
            let between = at > 0 && at.saturating_add(1) < words.len();
            if between && PARTICLES.contains(&small.as_str()) { small } else { title(&small) }
        })
        .collect();
    titled.join(" ")
}

fn title(word: &str) -> String {
    let mut titled = String::with_capacity(word.len());
    let mut head = true;
    for (at, c) in word.char_indices() {
        // McDonald; a shorter name such as Mcy is not of this kind.
        let after_mc = at == 2 && word.starts_with("mc") && word.len() > 4;
        match head || after_mc {
            true => titled.extend(c.to_uppercase()),
            false => titled.push(c),
        }
        head = match c {
            '-' | '.' => true,
            // O'Neill and D'Arcy, but not Bloggs's.
            '\'' | '’' => at == 1,
            _ => false,
        };
    }
    titled
}
