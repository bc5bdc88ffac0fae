//! Telephone numbers.

use phonenumber::metadata::{DATABASE, Descriptor, Metadata};
use phonenumber::{Mode, PhoneNumber, country};

/// Longer texts contain no number (libphonenumber's own limit).
const MAX_TEXT: usize = 250;

pub(super) struct Phone {
    pub(super) e164: String,
    pub(super) valid: bool,
    pub(super) kind: String,
    pub(super) country: String,
    pub(super) extension: Option<String>,
    /// It was written without a country code, and read as one of the default country.
    pub(super) assumed: bool,
}

/// Parses a number as commonly written; without a country code it may be one of `default`, and is nothing if that
/// country gives out no such number.
pub(super) fn read(text: &str, default: country::Id) -> Result<Phone, String> {
    if text.len() > MAX_TEXT {
        return Err("is too long for a number".to_owned());
    }
    let text = text.trim();
    // With a default country, its prefix would be stripped from other countries' numbers too.
    let abroad = text.starts_with('+') || text.starts_with("tel:+");
    let mut number = phonenumber::parse(Some(default).filter(|_| !abroad), text).map_err(|error| {
        let problem = match error {
            phonenumber::ParseError::InvalidCountryCode => "has the code of no country",
            phonenumber::ParseError::TooShortAfterIdd | phonenumber::ParseError::TooShortNsn => "is too short",
            phonenumber::ParseError::TooLong => "is too long for a number",
            _ => "is not a number",
        };
        problem.to_owned()
    })?;
    // A country code without plus, such as 1 650 253 0000: valid if read as one.
    if network(&number).is_none() && !text.starts_with('+') {
        let with_plus = phonenumber::parse(Some(default), format!("+{text}")).ok();
        let own = |other: &PhoneNumber| other.code().value() == number.code().value() && network(other).is_some();
        if let Some(other) = with_plus.filter(own) {
            number = other;
        }
    }
    let found = network(&number);
    // Written by itself, or after an international prefix such as 00.
    let national = matches!(number.code().source(), country::Source::Default | country::Source::Number);
    if national && found.is_none() {
        return Err(format!(
            "is no number of {default:?} and has no country code: set default_country, or write it with +"
        ));
    }
    Ok(Phone {
        assumed: national,
        e164: number.format().mode(Mode::E164).to_string(),
        valid: found.is_some(),
        kind: found.map_or("unknown", |(_, kind)| kind).to_owned(),
        // Non-geographic numbers have the region 001.
        country: found.map(|(data, _)| data.id()).filter(|id| *id != "001").unwrap_or_default().to_owned(),
        extension: number.extension().map(|extension| extension.to_string()),
    })
}

/// Country and type of a number. The crate's own `country` and `number_type` drop the leading zeros that are part of
/// Italian numbers.
fn network(number: &PhoneNumber) -> Option<(&'static Metadata, &'static str)> {
    let (code, national) = (number.code().value(), number.national().to_string());
    let regions = DATABASE.region(&code)?;
    let alone = regions.len() == 1;
    let all = DATABASE.by_code(&code)?;
    let ordered = regions.iter().filter_map(|region| all.iter().find(|data| data.id() == *region).copied());
    for data in ordered {
        let leads = data.leading_digits().map(|digits| digits.find(&national).is_some_and(|found| found.start() == 0));
        let kind = kind(data, &national);
        match (leads, kind) {
            (Some(true), kind) => return kind.map(|kind| (data, kind)),
            (None, Some(kind)) => return Some((data, kind)),
            (Some(false), Some(kind)) if alone => return Some((data, kind)),
            _ => {}
        }
    }
    None
}

/// In libphonenumber's order, as patterns overlap.
fn kind(data: &Metadata, national: &str) -> Option<&'static str> {
    let of = data.descriptors();
    let fits = |descriptor: Option<&Descriptor>| descriptor.is_some_and(|descriptor| descriptor.is_match(national));
    if !of.general().is_match(national) {
        return None;
    }
    let special = [
        (of.premium_rate(), "premium_rate"),
        (of.toll_free(), "toll_free"),
        (of.shared_cost(), "shared_cost"),
        (of.voip(), "voip"),
        (of.personal_number(), "personal_number"),
        (of.pager(), "pager"),
        (of.uan(), "uan"),
        (of.voicemail(), "voicemail"),
    ];
    if let Some((_, kind)) = special.into_iter().find(|(descriptor, _)| fits(*descriptor)) {
        return Some(kind);
    }
    match (fits(of.fixed_line()), fits(of.mobile())) {
        (true, true) => Some("fixed_line_or_mobile"),
        (true, false) => Some("fixed_line"),
        (false, true) => Some("mobile"),
        (false, false) => None,
    }
}
