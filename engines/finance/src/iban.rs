//! IBANs (q127): lengths and structures of the registry, and SEPA creditor identifiers.

use crate::payment_id_validate::mod97;

/// Country and structure of the part after the check digits, such as `4!n8!n` (`data/README.md`).
const REGISTRY: &str = include_str!("../data/iban.csv");
/// ISO 3166-1 alpha-2 codes.
const COUNTRIES: &str = include_str!("../data/countries.txt");

/// Whether a code is a country; Kosovo's is in use by banks.
pub(crate) fn is_country(code: &str) -> bool {
    code.len() == 2 && (code == "XK" || COUNTRIES.split_ascii_whitespace().any(|known| known == code))
}

fn structure(country: &str) -> Option<&'static str> {
    REGISTRY.lines().find_map(|line| line.strip_prefix(country)?.strip_prefix(','))
}

/// Whether the first two letters are a country with IBANs.
pub(crate) fn known(plain: &str) -> bool {
    plain.get(..2).and_then(structure).is_some()
}

/// Checks country, length, structure and check digits; what has the form of a SEPA creditor identifier is one.
pub(crate) fn check(plain: &str) -> Result<(), &'static str> {
    let country = plain.get(..2).unwrap_or_default();
    let Some(structure) = structure(country) else { return Err("the country has no IBAN in the registry") };
    let digits = plain.get(2..4).is_some_and(|d| d.chars().all(|c| c.is_ascii_digit()));
    if !digits {
        return Err("characters 3 and 4 are check digits");
    }
    let body = plain.get(4..).unwrap_or_default();
    match fits(body, structure) {
        Ok(()) => {}
        Err(_) if is_creditor(plain) => return Ok(()),
        Err(reason) => return Err(reason),
    }
    // 00, 01 and 99 are residues that MOD 97-10 never writes.
    if matches!(plain.get(2..4), Some("00" | "01" | "99")) {
        return Err("the check digits are impossible");
    }
    let moved = body.chars().chain(plain.chars().take(4));
    if mod97(moved) == 1 { Ok(()) } else { Err("the check digits are wrong (MOD 97-10)") }
}

/// A SEPA creditor identifier with the business code `ZZZ`, which does not count in the check digits. Others cannot be
/// distinguished from accounts of a wrong length.
fn is_creditor(plain: &str) -> bool {
    let Some(national) = plain.get(4..).and_then(|rest| rest.strip_prefix("ZZZ")) else { return false };
    let moved = national.chars().chain(plain.chars().take(4));
    (8..=35).contains(&plain.len()) && !national.is_empty() && mod97(moved) == 1
}

/// Whether a text has the parts of a structure: a length, `!`, and n (digits), a (letters) or c (both).
fn fits(body: &str, structure: &str) -> Result<(), &'static str> {
    let mut rest = body;
    let mut parts = structure;
    while !parts.is_empty() {
        let Some((length, tail)) = parts.split_once('!') else { return Err("the registry is damaged") };
        let length: usize = length.parse().unwrap_or(0);
        let kind = tail.chars().next().unwrap_or('n');
        let Some((part, left)) = rest.split_at_checked(length) else { return Err("it is too short for its country") };
        let holds = part.chars().all(|c| match kind {
            'n' => c.is_ascii_digit(),
            'a' => c.is_ascii_uppercase(),
            _ => c.is_ascii_alphanumeric(),
        });
        if !holds {
            return Err("it does not have the structure of its country");
        }
        rest = left;
        parts = tail.get(1..).unwrap_or_default();
    }
    if rest.is_empty() { Ok(()) } else { Err("it is too long for its country") }
}
