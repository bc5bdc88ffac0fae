//! q127: identifiers of payments and registries.

use muster_engine::prelude::*;

use crate::iban;

const MAX_VALUES: usize = 20_000;
/// Longest identifier with blanks and dashes.
const MAX_LENGTH: usize = 80;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    values: Vec<String>,
    kind: Kind,
}

/// Kinds of identifiers.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum Kind {
    /// By its form.
    Auto,
    /// Account, ISO 13616; also SEPA creditor identifiers.
    Iban,
    /// Bank, ISO 9362.
    Bic,
    /// Card, ISO/IEC 7812.
    Pan,
    /// Security, ISO 6166.
    Isin,
    /// Legal entity, ISO 17442.
    Lei,
    /// Routing number of the USA.
    Aba,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    results: Vec<Checked>,
}

#[derive(Output)]
struct Checked {
    value: String,
    kind: String,
    valid: bool,
    reason: String,
    country: String,
    network: String,
    masked: String,
}

/// Checks the identifiers. Of a card number neither `value` nor `masked` shows more than the first six and last four
/// digits.
///
/// # Errors
/// `TooLarge`.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    if input.values.len() > MAX_VALUES {
        return Err(Failure::too_large(format!("values: at most {MAX_VALUES}")));
    }
    Ok(Output { results: input.values.into_iter().map(|value| check(value, input.kind)).collect() })
}

fn check(value: String, kind: Kind) -> Checked {
    let plain: String = value.chars().filter(|c| !matches!(c, ' ' | '-' | '\u{a0}')).collect::<String>().to_uppercase();
    let allowed = value.len() <= MAX_LENGTH && !plain.is_empty() && plain.chars().all(|c| c.is_ascii_alphanumeric());
    let kind = if kind == Kind::Auto { guess(&plain) } else { Some(kind) };
    let outcome = match kind {
        _ if !allowed => Err("must be letters and digits, up to 80 characters"),
        None => Err("is of no known form"),
        Some(Kind::Iban) => iban::check(&plain),
        Some(Kind::Bic) => bic(&plain),
        Some(Kind::Pan) => pan(&plain),
        Some(Kind::Isin) => isin(&plain),
        Some(Kind::Lei) => lei(&plain),
        Some(Kind::Aba | Kind::Auto) => aba(&plain),
    };
    let digits = plain.chars().filter(char::is_ascii_digit).count();
    // What may be a card number is masked also when it is wrong.
    let secret = kind == Some(Kind::Pan) || (kind.is_none() && digits >= 12);
    let masked = if secret { mask(&plain, 6, 4) } else { mask(&plain, 4, 4) };
    let country = match kind {
        Some(Kind::Iban | Kind::Isin) => plain.chars().take(2).collect(),
        Some(Kind::Bic) => plain.chars().skip(4).take(2).collect(),
        Some(Kind::Aba) => "US".to_owned(),
        _ => String::new(),
    };
    let network = if kind == Some(Kind::Pan) { network(&plain).to_owned() } else { String::new() };
    Checked {
        value: if secret { masked.clone() } else { value.chars().take(MAX_LENGTH).collect() },
        kind: kind.map_or("unknown", |kind| kind.word()).to_owned(),
        valid: outcome.is_ok(),
        reason: outcome.err().unwrap_or("").to_owned(),
        country: if outcome.is_ok() { country } else { String::new() },
        network,
        masked,
    }
}

/// All but the first and last characters as stars.
fn mask(plain: &str, first: usize, last: usize) -> String {
    let count = plain.chars().count();
    let hidden = |at: usize| count <= first + last || (at >= first && at < count - last);
    plain.chars().enumerate().map(|(at, c)| if hidden(at) { '*' } else { c }).collect()
}

fn letters(text: &str, range: std::ops::Range<usize>) -> bool {
    text.get(range).is_some_and(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase()))
}

fn digits(text: &str, range: std::ops::Range<usize>) -> bool {
    text.get(range).is_some_and(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
}

/// The kind that a form suggests; forms overlap, so the check digits decide between LEI, IBAN and the others.
fn guess(plain: &str) -> Option<Kind> {
    let n = plain.len();
    if digits(plain, 0..n) {
        return match n {
            9 => Some(Kind::Aba),
            12..=19 => Some(Kind::Pan),
            _ => None,
        };
    }
    if n == 20 && digits(plain, 18..20) && (lei(plain).is_ok() || !letters(plain, 0..2) || !digits(plain, 2..4)) {
        return Some(Kind::Lei);
    }
    if n == 12 && letters(plain, 0..2) && digits(plain, 11..12) && (isin(plain).is_ok() || !iban::known(plain)) {
        return Some(Kind::Isin);
    }
    if letters(plain, 0..2) && digits(plain, 2..4) && n >= 8 {
        return Some(Kind::Iban);
    }
    ((n == 8 || n == 11) && letters(plain, 4..6)).then_some(Kind::Bic)
}

/// A check's result: the reason why it fails.
type Check = Result<(), &'static str>;

fn require(holds: bool, reason: &'static str) -> Check {
    if holds { Ok(()) } else { Err(reason) }
}

fn bic(plain: &str) -> Check {
    require(plain.len() == 8 || plain.len() == 11, "a BIC has 8 or 11 characters")?;
    require(letters(plain, 4..6), "characters 5 and 6 are a country")?;
    let country = plain.get(4..6).unwrap_or_default();
    require(iban::is_country(country), "characters 5 and 6 are no country of ISO 3166-1")
}

/// Luhn's sum over digits, the last one not doubled.
fn luhn(digits: impl DoubleEndedIterator<Item = u32>) -> bool {
    let sum: u32 =
        digits.rev().enumerate().map(|(at, d)| if at % 2 == 0 { d } else { (2 * d) / 10 + (2 * d) % 10 }).sum();
    sum.is_multiple_of(10)
}

fn pan(plain: &str) -> Check {
    require(digits(plain, 0..plain.len()), "a card number has digits only")?;
    require((12..=19).contains(&plain.len()), "a card number has 12 to 19 digits")?;
    require(luhn(plain.chars().filter_map(|c| c.to_digit(10))), "the check digit is wrong (Luhn)")
}

fn network(plain: &str) -> &'static str {
    let prefix = |n: usize| plain.get(..n).and_then(|p| p.parse::<u32>().ok()).unwrap_or(0);
    let (two, three, four, six) = (prefix(2), prefix(3), prefix(4), prefix(6));
    match plain.len() {
        15 if matches!(two, 34 | 37) => "american-express",
        16 if (51..=55).contains(&two) || (2221..=2720).contains(&four) => "mastercard",
        16..=19 if four == 6011 || two == 65 || (644..=649).contains(&three) => "discover",
        16..=19 if (3528..=3589).contains(&four) => "jcb",
        14..=19 if two == 36 || two == 38 || two == 39 || (300..=305).contains(&three) => "diners-club",
        16..=19 if two == 62 => "unionpay",
        16 if (2200..=2204).contains(&four) => "mir",
        12..=19 if (50..=69).contains(&two) && !(600_000..=699_999).contains(&six) => "maestro",
        13 | 16 | 19 if plain.starts_with('4') => "visa",
        _ => "unknown",
    }
}

fn isin(plain: &str) -> Check {
    require(plain.len() == 12, "an ISIN has 12 characters")?;
    require(letters(plain, 0..2), "an ISIN begins with two letters")?;
    require(digits(plain, 11..12), "an ISIN ends with a digit")?;
    let prefix = plain.get(..2).unwrap_or_default();
    // Beside countries: international securities, the euro area, substitutes of agencies.
    let agency = matches!(
        prefix,
        "XS" | "EU" | "XA" | "XB" | "XC" | "XD" | "XF" | "XK" | "EZ" | "QS" | "CS" | "QT" | "QW" | "QY" | "QZ"
    );
    require(agency || iban::is_country(prefix), "an ISIN begins with a country or an agency's prefix")?;
    let expanded: Vec<u32> = plain.chars().flat_map(base36).collect();
    require(luhn(expanded.into_iter()), "the check digit is wrong (Luhn on letters as numbers)")
}

/// Digits of a character's value: `A` is 10.
fn base36(c: char) -> Vec<u32> {
    match c.to_digit(36) {
        Some(d) if d >= 10 => vec![d / 10, d % 10],
        Some(d) => vec![d],
        None => Vec::new(),
    }
}

/// ISO 7064 MOD 97-10.
pub(crate) fn mod97(text: impl Iterator<Item = char>) -> u32 {
    text.flat_map(base36).fold(0, |rest, d| (rest * 10 + d) % 97)
}

fn lei(plain: &str) -> Check {
    require(plain.len() == 20, "an LEI has 20 characters")?;
    require(digits(plain, 18..20), "an LEI ends with two check digits")?;
    require(mod97(plain.chars()) == 1, "the check digits are wrong (MOD 97-10)")
}

fn aba(plain: &str) -> Check {
    require(plain.len() == 9 && digits(plain, 0..9), "a routing number has 9 digits")?;
    let prefix = plain.get(..2).and_then(|p| p.parse::<u32>().ok()).unwrap_or(99);
    let known = matches!(prefix, 0..=12 | 21..=32 | 61..=72 | 80);
    require(known, "the first two digits are of no Federal Reserve district")?;
    let weights = [3, 7, 1].into_iter().cycle();
    let sum: u32 = plain.chars().filter_map(|c| c.to_digit(10)).zip(weights).map(|(d, w)| d * w).sum();
    require(sum.is_multiple_of(10), "the check digit is wrong (3-7-1)")
}
