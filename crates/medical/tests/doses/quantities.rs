//! Reads the amounts of a statement: numbers with their units, in the order of the text.

/// A number with its unit; the unit is empty for a score, a ratio or a pH.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    pub value: f64,
    pub unit: String,
}

impl Quantity {
    /// Whether both are the same amount: 0.5 mg and 500 microgram, 24 h and 1 day.
    pub fn equals(&self, other: &Self) -> bool {
        let ((a, of), (b, with)) = (self.in_base_units(), other.in_base_units());
        of == with && (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    /// Whether its unit is one in which something is given; a concentration in blood is not.
    pub fn is_dose(&self) -> bool {
        const GIVEN: &[&str] = &[
            "microgram",
            "mg",
            "g",
            "mmol",
            "mL",
            "L",
            "IU",
            "unit",
            "J",
            "%",
            "mmHg",
            "shock",
            "dose",
            "puff",
            "drop",
            "tablet",
        ];
        let mut parts = self.unit.split('/');
        parts.next().is_some_and(|head| GIVEN.contains(&head))
            && !parts.any(|per| matches!(per, "L" | "dL" | "mL" | "g"))
    }

    fn in_base_units(&self) -> (f64, String) {
        let (head, per) = self.unit.split_once('/').unwrap_or((&self.unit, ""));
        let concentration = matches!(per, "L" | "dL" | "mL" | "g");
        let (factor, base) = match head {
            _ if concentration => (1.0, head),
            "microgram" => (0.001, "mg"),
            "g" => (1000.0, "mg"),
            "L" => (1000.0, "mL"),
            "s" => (1.0 / 60.0, "min"),
            "h" => (60.0, "min"),
            "day" => (1440.0, "min"),
            "week" => (10_080.0, "min"),
            "year" => (12.0, "month"),
            _ => (1.0, head),
        };
        (self.value * factor, format!("{base}/{per}"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Piece<'a> {
    Number(f64),
    Word(&'a str),
    Mark(char),
}

/// A piece of the text, and whether it follows the one before without a space.
type Token<'a> = (Piece<'a>, bool);

/// Reads all amounts of a text.
pub fn read(text: &str) -> Vec<Quantity> {
    let tokens = tokens(text);
    let piece = |at: usize| tokens.get(at).map(|t| t.0);
    let mut found: Vec<Quantity> = Vec::new();
    // The number to the right of the one at hand, by its position: "94 to 98%" has one unit for both.
    let mut right: Option<(usize, String)> = None;
    for at in (0..tokens.len()).rev() {
        let (value, spelled) = match piece(at) {
            Some(Piece::Number(value)) if !is_name(&tokens, at) => (value, false),
            Some(Piece::Word(word)) => match spelled(word) {
                Some(value) => (value, true),
                None => continue,
            },
            _ => continue,
        };
        let after = if piece(at + 1) == Some(Piece::Mark('-')) { at + 2 } else { at + 1 };
        let joined = piece(at + 1).is_some_and(joins);
        let unit = unit(&tokens, after)
            .or_else(|| follows_day(&tokens, at).then(|| "day".to_owned()))
            .or_else(|| right.take().filter(|(next, _)| joined && *next == at + 2).map(|(_, unit)| unit));
        let unit = unit.unwrap_or_default();
        // "One" and "two" are amounts only in front of a unit.
        if !(spelled && unit.is_empty()) {
            right = Some((at, unit.clone()));
            found.push(Quantity { value, unit });
        }
    }
    found.reverse();
    found
}

/// Whether the numbers on both sides of it share one unit.
fn joins(piece: Piece<'_>) -> bool {
    matches!(piece, Piece::Mark('-' | ',' | '/') | Piece::Word("to" | "or" | "and" | "x"))
}

/// Whether the unit stands in front, as in "day 3" and "days 4 and 7".
fn follows_day(tokens: &[Token<'_>], at: usize) -> bool {
    match tokens.get(..at).unwrap_or_default() {
        [.., (Piece::Word("day" | "days"), _)] => true,
        [.., (Piece::Number(_), _), (joint, _)] if joins(*joint) => follows_day(tokens, at - 2),
        _ => false,
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut glued) = (text, false);
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            (rest, glued) = (rest.trim_start(), false);
            continue;
        }
        let (piece, length) = if first.is_ascii_digit() {
            number(rest)
        } else if first.is_alphabetic() || first == '°' {
            let end = rest.char_indices().skip(1).find(|(_, c)| !c.is_alphabetic()).map_or(rest.len(), |(at, _)| at);
            (Piece::Word(&rest[..end]), end)
        } else {
            (Piece::Mark(if first == '–' { '-' } else { first }), first.len_utf8())
        };
        tokens.push((piece, glued));
        (rest, glued) = (&rest[length..], true);
    }
    tokens
}

/// The number at the start of the text, with a decimal point or commas between thousands, and its length.
fn number(text: &str) -> (Piece<'_>, usize) {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    while text[end..].starts_with(',') && digits(end + 1) == 3 {
        end += 4;
    }
    if text[end..].starts_with('.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    (Piece::Number(text[..end].replace(',', "").parse().unwrap_or(f64::NAN)), end)
}

/// Whether the number is part of a name: `SpO2`, mm3, 10^9, CRB-65, 4AT, 12-lead.
fn is_name(tokens: &[Token<'_>], at: usize) -> bool {
    let glued = |at: usize| tokens.get(at).is_some_and(|t| t.1);
    let word = |at: Option<usize>| match at.and_then(|at| tokens.get(at)) {
        Some((Piece::Word(word), _)) => Some(*word),
        _ => None,
    };
    let mark = |at: Option<usize>, is: char| at.and_then(|at| tokens.get(at)).is_some_and(|t| t.0 == Piece::Mark(is));
    let (before, two_before) = (at.checked_sub(1), at.checked_sub(2));
    let named_before = glued(at) && (word(before).is_some() || mark(before, '^'));
    let capital = word(two_before).is_some_and(|w| w.starts_with(char::is_uppercase));
    let hyphen_before = glued(at) && mark(before, '-') && glued(at - 1) && capital;
    let named_after = glued(at + 1) && word(Some(at + 1)).is_some() && unit(tokens, at + 1).is_none();
    let hyphen_after = glued(at + 1)
        && mark(Some(at + 1), '-')
        && glued(at + 2)
        && word(Some(at + 2)).is_some()
        && unit(tokens, at + 2).is_none();
    named_before || hyphen_before || named_after || hyphen_after || mark(Some(at + 1), '^')
}

/// The unit at this position, with all that it is divided by.
fn unit(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let piece = |at: usize| tokens.get(at).map(|t| t.0);
    let mut at = at;
    let mut unit = match (piece(at)?, piece(at + 1)) {
        (Piece::Mark('%'), _) => "%".to_owned(),
        (Piece::Word("a"), Some(Piece::Word("minute"))) => return Some("/min".to_owned()),
        (Piece::Mark('/'), Some(Piece::Word("min"))) => return Some("/min".to_owned()),
        (Piece::Word("back" | "abdominal" | "rescue" | "inflation"), Some(Piece::Word(word))) => {
            at += 1;
            canonical(word)?.to_owned()
        }
        (Piece::Word(word), _) => canonical(word)?.to_owned(),
        _ => return None,
    };
    while let (Some(Piece::Mark('/')), Some(Piece::Word(word))) = (piece(at + 1), piece(at + 2)) {
        unit = format!("{unit}/{}", canonical(word)?);
        at += 2;
    }
    Some(unit)
}

fn spelled(word: &str) -> Option<f64> {
    const WORDS: &[(&str, f64)] = &[
        ("one", 1.0),
        ("two", 2.0),
        ("three", 3.0),
        ("four", 4.0),
        ("five", 5.0),
        ("six", 6.0),
        ("seven", 7.0),
        ("eight", 8.0),
        ("nine", 9.0),
        ("ten", 10.0),
        ("eleven", 11.0),
        ("twelve", 12.0),
    ];
    WORDS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

fn canonical(word: &str) -> Option<&'static str> {
    Some(match word {
        "microgram" | "micrograms" => "microgram",
        "micromol" => "micromol",
        "ng" => "ng",
        "pg" => "pg",
        "mg" => "mg",
        "g" => "g",
        "kg" => "kg",
        "mmol" => "mmol",
        "ml" | "mL" => "mL",
        "dL" => "dL",
        "L" | "litre" | "litres" => "L",
        "IU" => "IU",
        "unit" | "units" => "unit",
        "J" => "J",
        "mm" => "mm",
        "cm" => "cm",
        "mmHg" => "mmHg",
        "percent" => "%",
        "°C" | "C" => "°C",
        "degrees" => "degrees",
        "s" | "second" | "seconds" => "s",
        "min" | "minute" | "minutes" => "min",
        "h" | "hour" | "hours" | "hourly" => "h",
        "day" | "days" => "day",
        "week" | "weeks" => "week",
        "month" | "months" => "month",
        "y" | "year" | "years" => "year",
        "dose" | "doses" => "dose",
        "shock" | "shocks" => "shock",
        "breath" | "breaths" => "breath",
        "compressions" => "compression",
        "blows" => "blow",
        "thrusts" => "thrust",
        "puff" | "puffs" => "puff",
        "drop" | "drops" => "drop",
        "tablet" | "tablets" => "tablet",
        "times" => "times",
        "points" => "point",
        _ => return None,
    })
}
