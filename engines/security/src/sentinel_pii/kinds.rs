//! Kinds of personal data: pattern, check, words of the context.

use std::sync::OnceLock;

use muster_engine::prelude::*;
use regex::Regex;

use super::checksums as check;
use crate::address::Block;

/// One kind. `likelihood` is that of a valid match; a word of the context adds 0.4, and 0.5 is needed.
pub(super) struct Kind {
    pub name: &'static str,
    pub title: &'static str,
    pub severity: Severity,
    pub likelihood: f64,
    pub valid: fn(&str) -> bool,
    pub context: &'static [&'static str],
    text: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Kind {
    #[allow(clippy::too_many_arguments, reason = "a row of the table below")]
    const fn new(
        name: &'static str,
        title: &'static str,
        severity: Severity,
        likelihood: f64,
        valid: fn(&str) -> bool,
        context: &'static [&'static str],
        text: &'static str,
    ) -> Self {
        Self { name, title, severity, likelihood, valid, context, text, regex: OnceLock::new() }
    }

    pub(super) fn pattern(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&crate::decode::ascii_classes(self.text)).ok()).as_ref()
    }
}

use Severity::{High, Low, Medium};

const BIRTH: &[&str] = &[
    "born",
    "birth",
    "dob",
    "d.o.b",
    "geboren",
    "geb.",
    "geburtsdatum",
    "né le",
    "née le",
    "naissance",
    "nacimiento",
    "nacido",
    "nato il",
    "nata il",
    "nascimento",
    "urodz",
];
const PHONE: &[&str] = &[
    "phone",
    "tel",
    "call",
    "mobile",
    "cell",
    "fax",
    "whatsapp",
    "handy",
    "móvil",
    "appel",
    "contact",
    "sms",
    "number is",
    "reach me",
];
const HEALTH: &[&str] = &[
    "mrn",
    "medical record",
    "patient",
    "health id",
    "chart",
    "krankenversicherten",
    "versichertennummer",
    "medicare",
    "hospital",
];

pub(super) static KINDS: [Kind; 23] = [
    Kind::new(
        "email",
        "e-mail address",
        Low,
        0.9,
        email,
        &[],
        r"(?i)[a-z0-9](?:[a-z0-9._%+'-]{0,62}[a-z0-9_%+-])?@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}[a-z]{2,24}",
    ),
    Kind::new("card", "payment card number", High, 0.9, check::card, &[], r"\b(?:\d[ -]?){12,18}\d\b"),
    Kind::new(
        "iban",
        "bank account (IBAN)",
        High,
        0.95,
        check::iban,
        &[],
        r"(?i)\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,4})?\b",
    ),
    Kind::new(
        "ssn",
        "US Social Security number",
        High,
        0.5,
        |text| text.contains(['-', ' ']) && check::ssn(text),
        &[],
        r"\b\d{3}[- ]\d{2}[- ]\d{4}\b",
    ),
    Kind::new("ssn", "US Social Security number", High, 0.1, check::ssn, &["ssn", "social security"], r"\b\d{9}\b"),
    Kind::new(
        "nhs",
        "NHS number",
        High,
        0.3,
        check::nhs,
        &["nhs", "patient", "health"],
        r"\b\d{3}[ -]?\d{3}[ -]?\d{4}\b",
    ),
    Kind::new(
        "nino",
        "UK National Insurance number",
        High,
        0.6,
        check::nino,
        &["insurance", "nino"],
        r"(?i)\b[a-ceghj-prstw-z][a-ceghj-nprstw-z] ?\d{2} ?\d{2} ?\d{2} ?[a-d]\b",
    ),
    Kind::new(
        "aadhaar",
        "Aadhaar number",
        High,
        0.5,
        check::aadhaar,
        &["aadhaar", "uidai", "aadhar"],
        r"\b[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}\b",
    ),
    Kind::new(
        "german_tax_id",
        "German tax number",
        High,
        0.3,
        check::german_tax,
        &["steuer", "tax", "idnr", "tin"],
        r"\b\d{2} ?\d{3} ?\d{3} ?\d{3}\b",
    ),
    Kind::new(
        "french_nir",
        "French social security number",
        High,
        0.8,
        check::french_nir,
        &["sécurité sociale", "nir"],
        r"(?i)\b[12] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d{2}|2[ab]) ?\d{3} ?\d{3} ?\d{2}\b",
    ),
    Kind::new("cpf", "Brazilian CPF", High, 0.3, check::cpf, &["cpf"], r"\b\d{11}\b"),
    Kind::new("cpf", "Brazilian CPF", High, 0.8, check::cpf, &["cpf"], r"\b\d{3}\.\d{3}\.\d{3}-\d{2}\b"),
    Kind::new(
        "spanish_dni",
        "Spanish identity number",
        High,
        0.7,
        check::spanish_dni,
        &["dni", "nie", "nif"],
        r"(?i)\b[0-9xyz]\d{7}-?[a-hj-np-tv-z]\b",
    ),
    Kind::new("pesel", "Polish PESEL", High, 0.3, check::pesel, &["pesel"], r"\b\d{11}\b"),
    Kind::new("bsn", "Dutch citizen number", High, 0.15, check::bsn, &["bsn", "burgerservice", "sofi"], r"\b\d{9}\b"),
    Kind::new(
        "codice_fiscale",
        "Italian tax code",
        High,
        0.9,
        check::codice_fiscale,
        &[],
        r"(?i)\b[a-z]{6}\d{2}[abcdehlmprst]\d{2}[a-z]\d{3}[a-z]\b",
    ),
    Kind::new(
        "phone",
        "telephone number",
        Low,
        0.6,
        |text| phone(text, 8),
        PHONE,
        r"(?:\+|\b00)[1-9]\d{0,2}[ .-]?(?:\(0?\d{1,4}\)[ .-]?)?\d{1,5}(?:[ .-]?\d{2,5}){1,4}\b",
    ),
    Kind::new(
        "phone",
        "telephone number",
        Low,
        0.3,
        |text| phone(text, 7),
        PHONE,
        r"\(?\b0?\d{2,5}\)?[ ./-]{1,2}\d{3,4}(?:[ .-]?\d{2,4}){0,3}\b",
    ),
    Kind::new(
        "ip_address",
        "address of a device",
        Low,
        0.5,
        public_ip,
        &["ip"],
        r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b",
    ),
    Kind::new(
        "coordinates",
        "exact place",
        Medium,
        0.5,
        coordinates,
        &["gps", "location", "lat", "home", "position", "standort"],
        r"[+-]?\d{1,2}\.\d{4,8}°?\s?[NS]?,\s?[+-]?\d{1,3}\.\d{4,8}°?\s?[EWO]?",
    ),
    Kind::new(
        "address",
        "postal address",
        Medium,
        0.6,
        |_| true,
        &["address", "live", "adresse", "wohn", "street", "home"],
        r"(?i)\b\d{1,5}[a-z]?,? (?:[A-ZÀ-Þ][\wà-þ'.-]{1,20} ){1,3}(?:street|st\.|road|rd\.|avenue|ave\.?|lane|drive|boulevard|blvd\.?|court|square|terrace|close|crescent)\b|\b[A-ZÀ-Þ][\wà-þ-]{2,25}(?:straße|strasse|str\.|weg|gasse|allee|platz) ?\d{1,4} ?[a-z]?\b|\b\d{1,4}(?: bis| ter)?,? (?:rue|avenue|boulevard|impasse|chemin|allée|place) (?:de |du |des |de la |d')?[A-ZÀ-Þ][\wà-þ'-]{1,25}|\b(?:calle|avenida|via|viale|piazza|rua) (?:de |del |de la |della |dei )?[A-ZÀ-Þ][\wà-þ'-]{1,25},? (?:n[.º°]? ?)?\d{1,4}\b",
    ),
    // A record number needs its name: it has no check digit.
    Kind::new(
        "health_id",
        "number of a patient",
        High,
        0.1,
        |text| check::digits(text).len() >= 5,
        HEALTH,
        r"\b[A-Z]{0,3}-?\d{5,10}\b",
    ),
    Kind::new(
        "birth_date",
        "date of birth",
        Medium,
        0.1,
        |_| true,
        BIRTH,
        r"\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}[./-]\d{1,2}[./-](?:19|20)?\d{2}|\d{1,2}\.? (?:[A-Za-zéûä]{3,10}) (?:19|20)\d{2}|[A-Z][a-z]{2,8} \d{1,2}, (?:19|20)\d{2})\b",
    ),
];

fn email(text: &str) -> bool {
    text.len() <= 254 && !text.contains("..") && text.rsplit('.').next().is_some_and(|last| last.len() >= 2)
}

fn phone(text: &str, least: usize) -> bool {
    let digits = check::digits(text);
    (least..=15).contains(&digits.len()) && !digits.iter().all(|digit| Some(digit) == digits.first()) && !is_date(text)
}

/// Dates and ranges of years look like telephone numbers.
fn is_date(text: &str) -> bool {
    let numbers: Vec<u32> =
        text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
    let year = |number: &u32| (1900..=2100).contains(number);
    match numbers.as_slice() {
        [a, b, c] => (year(a) && *b <= 12 && *c <= 31) || (year(c) && *a <= 31 && *b <= 31),
        [a, b] => year(a) && year(b),
        _ => false,
    }
}

/// An address that can stand for a person: reachable, and none of the well-known resolvers.
fn public_ip(text: &str) -> bool {
    !["8.8.8.8", "8.8.4.4", "1.1.1.1", "9.9.9.9"].contains(&text)
        && Block::read(text).is_ok_and(|(block, _)| block.is_global())
}

fn coordinates(text: &str) -> bool {
    let numbers: Vec<f64> = text
        .split(',')
        .filter_map(|part| {
            part.trim_matches(|letter: char| !letter.is_ascii_digit() && letter != '-' && letter != '.').parse().ok()
        })
        .collect();
    matches!(numbers.as_slice(), [lat, lon] if lat.abs() <= 90.0 && lon.abs() <= 180.0 && (*lat != 0.0 || *lon != 0.0))
}
