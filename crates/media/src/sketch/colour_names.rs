//! The colour words of a language, from CLDR's names of shapes in that colour: what "red circle", "red square" and
//! "red heart" have that the same shapes in other colours have not.

use std::collections::BTreeMap;

use unicode_segmentation::UnicodeSegmentation;

use super::fold::is_continuous;
use super::scene::Colour;

/// Emoji that differ from one another by their colour alone, in families of one shape each.
const FAMILIES: [&[(Colour, &str)]; 4] = [
    &[
        (Colour::Red, "🔴"),
        (Colour::Orange, "🟠"),
        (Colour::Yellow, "🟡"),
        (Colour::Green, "🟢"),
        (Colour::Blue, "🔵"),
        (Colour::Purple, "🟣"),
        (Colour::Brown, "🟤"),
        (Colour::Black, "⚫"),
        (Colour::White, "⚪"),
    ],
    &[
        (Colour::Red, "🟥"),
        (Colour::Orange, "🟧"),
        (Colour::Yellow, "🟨"),
        (Colour::Green, "🟩"),
        (Colour::Blue, "🟦"),
        (Colour::Purple, "🟪"),
        (Colour::Brown, "🟫"),
    ],
    &[(Colour::Black, "⬛"), (Colour::White, "⬜")],
    &[
        (Colour::Red, "❤"),
        (Colour::Orange, "🧡"),
        (Colour::Yellow, "💛"),
        (Colour::Green, "💚"),
        (Colour::Blue, "💙"),
        (Colour::Purple, "💜"),
        (Colour::Pink, "🩷"),
        (Colour::Brown, "🤎"),
        (Colour::Black, "🖤"),
        (Colour::White, "🤍"),
        (Colour::Grey, "🩶"),
    ],
];

/// Names and keywords of the pictures of one language.
type Table = BTreeMap<String, Vec<String>>;

/// Returns the colour words that a language's table has, in its own spelling; some twice.
pub(super) fn words(names: &Table) -> Vec<(Colour, String)> {
    let mut found = Vec::new();
    for family in FAMILIES {
        let named: Vec<(Colour, Vec<String>)> = family
            .iter()
            .filter_map(|(colour, emoji)| Some((*colour, parts(names.get(*emoji)?.first()?))))
            .filter(|(_, parts)| !parts.is_empty())
            .collect();
        // The word for the shape is in most names; two colours may end in the same letter by chance.
        let least = (named.len() / 2).max(1);
        for (colour, name) in &named {
            let others: Vec<&[String]> =
                named.iter().filter(|(other, _)| other != colour).map(|(_, name)| name.as_slice()).collect();
            found.extend(difference(name, &others, least).into_iter().map(|word| (*colour, word)));
        }
    }
    found.extend(shared_keywords(names));
    found
}

/// Words of a name, or characters where words are written without spaces.
fn parts(name: &str) -> Vec<String> {
    if name.contains(is_continuous) {
        return name.graphemes(true).map(str::to_owned).collect();
    }
    name.split_whitespace().map(str::to_lowercase).collect()
}

/// A name without the beginning and the end that it shares with at least `least` others, and also with the nearest word
/// or character of either, which may be one for "colour" (`màu đỏ`, `红色`). Nothing where it shares neither.
fn difference(name: &[String], others: &[&[String]], least: usize) -> Vec<String> {
    let shared = |length: &usize, same: &dyn Fn(&[String], usize) -> bool| {
        others.iter().filter(|other| other.len() >= *length && same(other, *length)).count() >= least
    };
    let begins = |other: &[String], length: usize| other.get(..length) == name.get(..length);
    let ends = |other: &[String], length: usize| {
        other.get(other.len() - length..) == name.get(name.len().saturating_sub(length)..)
    };
    let start = (1..name.len()).rev().find(|length| shared(length, &begins)).unwrap_or(0);
    let end = (1..name.len()).rev().find(|length| shared(length, &ends)).unwrap_or(0);
    let Some(stop) = name.len().checked_sub(end).filter(|stop| start < *stop && start + end > 0) else {
        return Vec::new();
    };
    let joined = |range: std::ops::Range<usize>| {
        let rest = name.get(range).unwrap_or_default();
        let continuous = rest.iter().any(|part| part.contains(is_continuous));
        let word = rest.join(if continuous { "" } else { " " }).trim().to_owned();
        // One letter of an alphabet is an ending, one character of Han is a word.
        (word.chars().count() > 1 || word.contains(|c: char| u32::from(c) >= 0x3400)).then_some(word)
    };
    let longer = [(start > 1).then(|| start - 1..stop), (end > 1).then(|| start..stop + 1)];
    longer.into_iter().flatten().chain(std::iter::once(start..stop)).filter_map(joined).collect()
}

/// Keywords that two shapes of one colour have and no shape of another one.
fn shared_keywords(names: &Table) -> Vec<(Colour, String)> {
    let mut uses: BTreeMap<String, Vec<Colour>> = BTreeMap::new();
    for (colour, emoji) in FAMILIES.iter().copied().flatten() {
        for keyword in names.get(*emoji).into_iter().flatten().skip(1) {
            uses.entry(keyword.to_lowercase()).or_default().push(*colour);
        }
    }
    let one_colour = |(word, colours): (String, Vec<Colour>)| {
        let first = *colours.first()?;
        (colours.len() > 1 && colours.iter().all(|colour| *colour == first)).then_some((first, word))
    };
    uses.into_iter().filter_map(one_colour).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(&str, &[&str])]) -> Table {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        entries.iter().map(|(emoji, words)| ((*emoji).to_owned(), owned(words))).collect()
    }

    #[test]
    fn what_one_colour_has_and_others_have_not_is_its_word() {
        let names = table(&[
            ("🔴", &["czerwone koło", "koło", "czerwone"]),
            ("🟡", &["żółte koło", "koło"]),
            ("🔵", &["niebieskie koło", "koło"]),
            ("🟥", &["czerwony kwadrat", "czerwone", "kartka"]),
            ("🟨", &["żółty kwadrat", "kartka"]),
            ("🟦", &["niebieski kwadrat"]),
            ("⬛", &["duży czarny kwadrat"]),
            ("⬜", &["duży biały kwadrat"]),
        ]);
        let mut found = words(&names);
        found.sort_by(|one, other| one.1.cmp(&other.1));
        let found: Vec<(&str, &str)> = found.iter().map(|(colour, word)| (colour.word(), word.as_str())).collect();
        let expected = [
            ("white", "biały"),
            ("black", "czarny"),
            ("red", "czerwone"),
            ("red", "czerwone"),
            ("red", "czerwony"),
            ("blue", "niebieski"),
            ("blue", "niebieskie"),
            ("yellow", "żółte"),
            ("yellow", "żółty"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn scripts_without_spaces_are_compared_by_character() {
        let names = table(&[
            ("🔴", &["วงกลมสีแดง"]),
            ("🟠", &["วงกลมสีส้ม"]),
            ("🟡", &["วงกลมสีเหลือง"]),
            ("🟢", &["วงกลมสีเขียว"]),
            ("🔵", &["วงกลมสีน้ำเงิน"]),
            ("🟣", &["วงกลมสีม่วง"]),
            ("⚫", &["วงกลมสีดำ"]),
        ]);
        let found = words(&names);
        for word in ["แดง", "สีแดง"] {
            assert!(found.contains(&(Colour::Red, word.to_owned())), "{word} in {found:?}");
        }
    }

    #[test]
    fn names_that_share_nothing_say_nothing() {
        assert_eq!(words(&table(&[("🔴", &["alpha"]), ("🟡", &["beta"]), ("🟢", &["gamma"])])), []);
    }
}
