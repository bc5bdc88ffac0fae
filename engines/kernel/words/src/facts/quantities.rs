//! Numbers with what they count: units, money, people.

use crate::units::{self, Dimension, MAX_WORDS};

use super::lexer::Token;
use super::{Fact, Value, numbers};

/// Nouns of people, folded.
const PEOPLE: [&str; 101] = [
    "adult",
    "adults",
    "babies",
    "baby",
    "bewohner",
    "boy",
    "boys",
    "casualties",
    "casualty",
    "child",
    "children",
    "civilian",
    "civilians",
    "crew",
    "dead",
    "deaths",
    "enfant",
    "enfants",
    "evacuee",
    "evacuees",
    "fatalities",
    "firefighter",
    "firefighters",
    "fishermen",
    "girl",
    "girls",
    "homeless",
    "infant",
    "infants",
    "inhabitants",
    "injured",
    "kids",
    "killed",
    "kind",
    "kinder",
    "leute",
    "man",
    "men",
    "menschen",
    "migrants",
    "missing",
    "newborns",
    "ninas",
    "nino",
    "ninos",
    "nurse",
    "nurses",
    "passenger",
    "passengers",
    "patient",
    "patienten",
    "patients",
    "people",
    "person",
    "persona",
    "personas",
    "persone",
    "personen",
    "personnel",
    "personnes",
    "persons",
    "pessoa",
    "pessoas",
    "policemen",
    "prisoners",
    "pupils",
    "refugee",
    "refugees",
    "rescuer",
    "rescuers",
    "resident",
    "residents",
    "responders",
    "sailors",
    "soldiers",
    "staff",
    "student",
    "students",
    "survivor",
    "survivors",
    "swimmers",
    "teachers",
    "tote",
    "tourist",
    "tourists",
    "trapped",
    "travellers",
    "verletzte",
    "victim",
    "victims",
    "villager",
    "villagers",
    "volunteer",
    "volunteers",
    "wanderer",
    "woman",
    "women",
    "worker",
    "workers",
    "wounded",
    "youths",
];
/// Words that may stand between a number and people.
const BEFORE_PEOPLE: [&str; 30] = [
    "adult",
    "confirmed",
    "critically",
    "dead",
    "disabled",
    "displaced",
    "elderly",
    "further",
    "healthy",
    "injured",
    "little",
    "local",
    "male",
    "female",
    "million",
    "missing",
    "more",
    "of",
    "old",
    "older",
    "other",
    "pregnant",
    "seriously",
    "severely",
    "sick",
    "small",
    "stranded",
    "trapped",
    "unaccompanied",
    "young",
];

/// Currencies by sign or name; a dollar is that of the USA, a pound that of the United Kingdom unless a code says other.
fn currency(token: &Token<'_>) -> Option<&'static str> {
    Some(match token.text {
        "$" => "USD",
        "€" => "EUR",
        "£" => "GBP",
        "¥" => "JPY",
        "₹" => "INR",
        "₩" => "KRW",
        "₦" => "NGN",
        "₱" => "PHP",
        "₺" => "TRY",
        "₽" => "RUB",
        "₫" => "VND",
        "฿" => "THB",
        "₪" => "ILS",
        "₴" => "UAH",
        code => CODES.into_iter().find(|known| *known == code)?,
    })
}

/// ISO 4217 codes that are taken in capital letters beside a number.
const CODES: [&str; 38] = [
    "AED", "ARS", "AUD", "BDT", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR", "GBP", "HKD",
    "HUF", "IDR", "ILS", "INR", "JPY", "KES", "KRW", "MXN", "MYR", "NGN", "NOK", "NPR", "NZD", "PHP", "PKR", "PLN",
    "SEK", "SGD", "THB", "TRY", "USD", "ZAR",
];

fn currency_name(word: &str) -> Option<&'static str> {
    Some(match word {
        "dollar" | "dollars" => "USD",
        "euro" | "euros" => "EUR",
        "yen" => "JPY",
        "rupees" => "INR",
        "francs" | "franken" => "CHF",
        _ => return None,
    })
}

/// Reads a fact at the begin of the tokens; also returns the tokens that it takes.
pub(super) fn read(tokens: &[Token<'_>]) -> Option<(Fact, usize)> {
    let first = tokens.first()?;
    let near = |at: usize| tokens.get(at).filter(|token| !token.apart);
    // "$ 1,200", "USD 5 million"
    if let Some(currency) = currency(first)
        && let Some((value, used, false)) = near(1).and_then(|_| numbers::at(tokens.get(1..)?))
    {
        return fact(tokens, used + 1, Value::Money { value, currency });
    }
    let negative = (first.is("-") || first.is("−")) && first.spaced && near(1).is_some_and(|next| !next.spaced);
    let sign = usize::from(negative);
    let (value, used, in_words) = numbers::at(tokens.get(sign..)?)?;
    let value = if negative { -value } else { value };
    let used = used + sign;
    let after = tokens.get(used..).unwrap_or_default();
    if let Some(next) = near(used).and_then(|_| after.first())
        && let Some(currency) = currency(next).or_else(|| currency_name(&next.folded))
    {
        return fact(tokens, used + 1, Value::Money { value, currency });
    }
    // "one s" is no second: words take names of units, not symbols.
    if let Some((unit, taken)) = unit(after, !in_words) {
        let value = match unit.dimension {
            Dimension::Time => Value::Duration { value, unit },
            _ => Value::Quantity { value, unit },
        };
        return fact(tokens, used + taken, value);
    }
    let counted = tokens.first().and_then(|token| thousands(token.text)).filter(|_| used == 1).unwrap_or(value);
    if let Some(taken) = people(after).filter(|_| counted >= 0.0 && counted.fract() == 0.0) {
        return fact(tokens, used + taken, Value::People(counted));
    }
    // A word alone is more often a pronoun than a number.
    if in_words && value < 2.0 {
        return None;
    }
    fact(tokens, used, Value::Number(value))
}

fn fact(tokens: &[Token<'_>], used: usize, value: Value) -> Option<(Fact, usize)> {
    let (first, last) = (tokens.first()?, tokens.get(used.checked_sub(1)?)?);
    Some((Fact { start: first.start, end: last.end, value, ambiguous: false }, used))
}

/// The longest unit at the begin of the tokens, and how many it takes.
fn unit(tokens: &[Token<'_>], symbols: bool) -> Option<(&'static units::Unit, usize)> {
    let (mut written, mut name) = (Some(String::new()).filter(|_| symbols), String::new());
    let mut best = None;
    for (at, token) in tokens.iter().take(MAX_WORDS + 2).enumerate() {
        if token.apart || (token.folded.is_empty() && token.text.len() > 3) {
            break;
        }
        if at > 0 && token.spaced {
            // A symbol is written without spaces within it.
            written = None;
            name.push(' ');
        }
        if let Some(written) = &mut written {
            written.push_str(token.text);
        }
        name.push_str(if token.folded.is_empty() { token.text } else { &token.folded });
        if let Some(unit) = units::find(written.as_deref().unwrap_or_default(), &name) {
            best = Some((unit, at + 1));
        }
    }
    // One capital or small letter after a space may begin a sentence or be an article: "in 5 A man".
    best.filter(|(_, taken)| {
        let single = tokens.first().is_some_and(|token| token.text.len() == 1 && token.text.is_ascii());
        let lonely = matches!(tokens.first().map(|token| token.text), Some("A" | "B" | "K" | "J" | "V" | "W"));
        !(single && lonely && *taken == 1 && tokens.first().is_some_and(|token| token.spaced))
    })
}

/// Reads "17.000" as thousands: people are no decimal fractions.
fn thousands(written: &str) -> Option<f64> {
    let (whole, rest) = written.split_once('.')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let grouped = (1..=3).contains(&whole.len()) && rest.len() == 3 && digits(whole) && digits(rest) && whole != "0";
    if grouped { format!("{whole}{rest}").parse().ok() } else { None }
}

/// Tokens up to a noun of people.
fn people(tokens: &[Token<'_>]) -> Option<usize> {
    for (at, token) in tokens.iter().take(4).enumerate() {
        if token.apart || token.folded.is_empty() {
            return None;
        }
        let word = token.folded.as_str();
        let noun = PEOPLE.binary_search(&word).is_ok();
        // "3 injured children" counts children; "3 injured" the injured.
        let next = tokens.get(at + 1).filter(|next| !next.apart).map(|next| next.folded.as_str());
        let goes_on = next.is_some_and(|next| PEOPLE.binary_search(&next).is_ok()) && BEFORE_PEOPLE.contains(&word);
        if noun && !goes_on {
            return Some(at + 1);
        }
        if !noun && !BEFORE_PEOPLE.contains(&word) {
            return None;
        }
    }
    None
}

#[cfg(test)]
#[test]
fn nouns_of_people_are_sorted() {
    assert!(PEOPLE.is_sorted(), "{:?}", PEOPLE.windows(2).find(|pair| pair[0] >= pair[1]));
}
