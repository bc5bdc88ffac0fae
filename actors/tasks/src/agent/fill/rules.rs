//! Rules for prose: a value beside the name of its parameter.

use std::ops::Range;

use muster_engines::grammar::{Prim, Type};
use muster_kernel_words::quantities::{self, Coordinate, Dimension, Quantity, Unit};
use serde_json::{Value, json};

use super::labels::{Label, occurrences, places, plain};
use super::{Search, phrases, unlabelled};
use crate::agent::parameter::{Parameter, problems_of};

/// Longest text in which the rules look, in bytes.
const MAX_PROSE: usize = 64 * 1024;
/// Longest distance between a name and its value, in bytes.
const MAX_GAP: usize = 40;
/// Longest labelled text, in bytes.
const MAX_LABELLED: usize = 2_000;

/// Shortest token that is a text by itself, in bytes.
const MIN_TOKEN: usize = 32;

/// Words that may stand between a name and its value.
const LINKS: &[&str] = &[
    "of",
    "is",
    "was",
    "are",
    "at",
    "about",
    "approximately",
    "approx",
    "around",
    "roughly",
    "the",
    "a",
    "an",
    "equals",
    "by",
    "for",
    "level",
    "value",
];

/// Units that are left out in speech: "age 54", "systolic 90".
const IMPLIED: &[&str] = &["money", "yr", "1/min", "mmHg", "%", "Mw", "xULN"];

/// A value that a text gives a parameter.
struct Reading {
    parameter: usize,
    value: Value,
    span: Range<usize>,
    /// Length of the name, of which the longer wins.
    label: usize,
}

pub(super) fn fill(search: &mut Search<'_>) {
    let prose = search.prose.get(..search.prose.floor_char_boundary(MAX_PROSE)).unwrap_or_default().to_owned();
    let view = Prose {
        plain: plain(&prose),
        quantities: quantities::quantities(&prose),
        coordinates: quantities::coordinates(&prose),
        text: prose,
    };
    let parameters = search.parameters;
    let all: Vec<&Parameter> = parameters.iter().collect();
    let mut readings = Vec::new();
    for (at, parameter) in parameters.iter().enumerate() {
        if !search.open.contains(parameter.name.as_str()) {
            continue;
        }
        let labels = places(&view.plain, parameter, &all);
        for (value, span, label) in view.labelled(parameter, &labels, search) {
            if problems_of(parameter, &value).is_empty() {
                readings.push(Reading { parameter: at, value, span, label });
            }
        }
    }
    for reading in chosen(readings) {
        if let Some(parameter) = parameters.get(reading.parameter) {
            search.take(parameter, reading.value, "rule", reading.span);
        }
    }
    phrases::fill(search, &view);
    unlabelled::fill(search, &view);
}

/// Of several readings of a parameter none is taken unless all are equal, and of several parameters for a value only the
/// one with the longest name.
fn chosen(readings: Vec<Reading>) -> Vec<Reading> {
    let overlaps = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
    let wins = |reading: &Reading| {
        readings.iter().all(|other| {
            other.parameter == reading.parameter || !overlaps(&other.span, &reading.span) || other.label < reading.label
        })
    };
    let winners: Vec<bool> = readings.iter().map(wins).collect();
    let left: Vec<Reading> = readings.into_iter().zip(winners).filter(|(_, wins)| *wins).map(|(it, _)| it).collect();
    let mut chosen: Vec<Reading> = Vec::new();
    let unanimous = |reading: &Reading| {
        left.iter().all(|other| other.parameter != reading.parameter || other.value == reading.value)
    };
    let unanimous: Vec<bool> = left.iter().map(unanimous).collect();
    for (reading, unanimous) in left.into_iter().zip(unanimous) {
        if unanimous && !chosen.iter().any(|other| other.parameter == reading.parameter) {
            chosen.push(reading);
        }
    }
    chosen
}

/// A text, with what stands in it.
pub(super) struct Prose {
    pub(super) text: String,
    pub(super) plain: String,
    quantities: Vec<Quantity>,
    pub(super) coordinates: Vec<Coordinate>,
}

impl Prose {
    /// Returns the values that stand beside a parameter's name, with place and length of the name.
    fn labelled(
        &self,
        parameter: &Parameter,
        labels: &[Label],
        search: &Search<'_>,
    ) -> Vec<(Value, Range<usize>, usize)> {
        let mut found = Vec::new();
        for label in labels {
            let value = match &parameter.kind {
                Type::Prim(Prim::Number) | Type::Prim(Prim::Integer) => self.number(parameter, label),
                Type::Prim(Prim::LatLon) => self.position(label),
                Type::Prim(Prim::Geometry) => self.position(label).map(|(place, span)| (point(&place), span)),
                Type::Record(members) if is_position(members) => self.position(label),
                Type::Prim(Prim::Date) => self.day(label, search),
                Type::Prim(Prim::Datetime) => self.moment(label),
                Type::Prim(Prim::Boolean) => self.yes_or_no(label),
                Type::Enum(words) => self.word(words, label),
                Type::Prim(Prim::String | Prim::Bytes) => self.labelled_text(label),
                _ => None,
            };
            if let Some((value, span)) = value {
                let whole = label.span.start.min(span.start)..label.span.end.max(span.end);
                found.push((value, whole, label.span.len()));
            }
        }
        if matches!(parameter.name.as_str(), "systolic" | "diastolic") {
            found.extend(self.blood_pressure(&parameter.name));
        }
        if parameter.unit == "yr" && parameter.name == "age" {
            found.extend(self.ages());
        }
        if matches!((parameter.name.as_str(), parameter.unit.as_str()), ("weight", "kg") | ("height", "cm")) {
            found.extend(self.body(&parameter.unit));
        }
        found
    }

    /// Whether only words that link a name to its value stand in a range.
    fn links(&self, between: Range<usize>) -> bool {
        let Some(between) = self.plain.get(between).filter(|text| text.len() <= MAX_GAP) else { return false };
        if between.contains(['\n', '.', ';', '?', '!']) {
            return false;
        }
        // A unit in brackets: "temperature (°C): 31"
        let unit = between.split_once('(').and_then(|(before, rest)| Some((before, rest.split_once(')')?.1)));
        let parts: Vec<&str> = unit.map_or_else(|| vec![between], |(before, after)| vec![before, after]);
        parts.iter().all(|part| {
            let words = part
                .split(|c: char| c.is_whitespace() || matches!(c, ':' | '=' | '~' | '≈' | ',' | '|' | '"' | '*' | '`'));
            words.filter(|word| !word.is_empty()).all(|word| LINKS.contains(&word))
        })
    }

    fn number(&self, parameter: &Parameter, label: &Label) -> Option<(Value, Range<usize>)> {
        let after = self.quantities.iter().find(|quantity| quantity.start >= label.span.end);
        let after = after.filter(|quantity| self.links(label.span.end..quantity.start));
        // "12,000 people", "a 30 m breach height"
        let before = self.quantities.iter().rfind(|quantity| quantity.end <= label.span.start);
        let before = before.filter(|quantity| {
            let between = self.plain.get(quantity.end..label.span.start).unwrap_or_default();
            matches!(between, " " | " of ")
        });
        // "for 10 days", where the name is the unit.
        let inside = self
            .quantities
            .iter()
            .find(|quantity| quantity.start < label.span.start && quantity.end == label.span.end && label.with_unit);
        // "breach height 30 m water height 20 m": the value after the name, unless it is of another kind, as in
        // "350 occupants, 31 °C".
        [after, before, inside].into_iter().flatten().find_map(|quantity| {
            let bracket = self.text.get(label.span.end..quantity.start).and_then(|between| {
                let (_, rest) = between.split_once('(')?;
                unit_named(rest.split_once(')')?.0.trim())
            });
            // "51 bytes": a unit that is not converted is the parameter's own where it is written so.
            let written = self.text.get(quantity.end..).unwrap_or_default().trim_start();
            let own =
                written.get(..parameter.unit.len()).is_some_and(|unit| unit.eq_ignore_ascii_case(&parameter.unit))
                    && !written.get(parameter.unit.len()..).is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
            let value = convert(parameter, quantity, bracket, label.with_unit || own)?;
            Some((number_value(&parameter.kind, value)?, quantity.start..quantity.end))
        })
    }

    /// Returns the number beside a phrase, and its place. A key that ends in a unit, as `diameter_mm`, gives the unit.
    pub(super) fn number_beside(&self, span: &Range<usize>, key: &str) -> Option<(Value, Range<usize>)> {
        let after = self.quantities.iter().find(|quantity| quantity.start >= span.end);
        let after = after.filter(|quantity| self.links(span.end..quantity.start));
        let before = self.quantities.iter().rfind(|quantity| quantity.end <= span.start);
        let before = before.filter(|quantity| self.plain.get(quantity.end..span.start) == Some(" "));
        let quantity = after.or(before).filter(|quantity| !quantity.unknown_unit)?;
        let wanted = key.rsplit_once('_').and_then(|(_, unit)| quantities::unit(unit));
        let value = match (quantity.unit, wanted) {
            (Some(from), Some(to)) => quantities::convert(quantity.value, from, to)?,
            _ => quantity.value,
        };
        Some((whole(value), quantity.start..quantity.end))
    }

    fn position(&self, label: &Label) -> Option<(Value, Range<usize>)> {
        let place = self.coordinates.iter().find(|place| place.start >= label.span.end)?;
        let between = self.text.get(label.span.end..place.start)?;
        let near = between.len() <= MAX_GAP && !between.contains(['\n', ';']) && !between.contains(". ");
        near.then(|| (json!({ "lat": place.lat, "lon": place.lon }), place.start..place.end))
    }

    fn day(&self, label: &Label, search: &Search<'_>) -> Option<(Value, Range<usize>)> {
        let days = quantities::days(&self.text, today(search));
        let day = days.into_iter().find(|day| day.start >= label.span.end)?;
        self.links(label.span.end..day.start).then(|| (day.date.to_string().into(), day.start..day.end))
    }

    fn moment(&self, label: &Label) -> Option<(Value, Range<usize>)> {
        let moment = quantities::moments(&self.text).into_iter().find(|moment| moment.start >= label.span.end)?;
        self.links(label.span.end..moment.start).then(|| (moment.at.to_string().into(), moment.start..moment.end))
    }

    /// Returns the rest of a line `name: value`, or a quoted text after the name.
    fn rest(&self, label: &Label) -> Option<(&str, Range<usize>)> {
        let start = self.text.get(..label.span.start)?.rfind('\n').map_or(0, |at| at + 1);
        let lead = self.text.get(start..label.span.start)?;
        let first = lead.trim_matches([' ', '-', '*', '\t', '#', '`']).is_empty();
        let rest = self.text.get(label.span.end..)?;
        let line = rest.split('\n').next().unwrap_or_default();
        let value = line.trim_start_matches(['*', '`', ' ']).strip_prefix([':', '=']).filter(|_| first)?;
        let value = value.trim().trim_matches(['*', '`', '"']).trim();
        let at = self.text.get(label.span.end..)?.find(value)? + label.span.end;
        (!value.is_empty() && value.len() <= MAX_LABELLED).then(|| (value, at..at + value.len()))
    }

    fn labelled_text(&self, label: &Label) -> Option<(Value, Range<usize>)> {
        if let Some((value, span)) = self.rest(label) {
            return Some((value.into(), span));
        }
        let rest = self.text.get(label.span.end..)?;
        // "SHA-256: 615c46…" within a sentence: one long token, such as a digest.
        if let Some(value) = rest.strip_prefix([':', '=']).map(str::trim_start) {
            let token = value.split_whitespace().next().unwrap_or_default().trim_end_matches(['.', ',', ';', ')', '?']);
            let start = label.span.end + rest.find(token)?;
            if token.len() >= MIN_TOKEN
                && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte))
            {
                return Some((token.into(), start..start + token.len()));
            }
        }
        let open = rest.find(['"', '`', '“'])?;
        if !self.links(label.span.end..label.span.end + open) {
            return None;
        }
        let mark = rest.get(open..)?.chars().next()?;
        let inner = rest.get(open + mark.len_utf8()..)?;
        let close = if mark == '“' { '”' } else { mark };
        let value = inner.split_once(close)?.0;
        let start = label.span.end + open + mark.len_utf8();
        let good = !value.trim().is_empty() && value.len() <= MAX_LABELLED && !value.contains('\n');
        good.then(|| (value.into(), start..start + value.len()))
    }

    fn yes_or_no(&self, label: &Label) -> Option<(Value, Range<usize>)> {
        let (value, span) = self.rest(label)?;
        match value.to_lowercase().trim_end_matches('.') {
            "yes" | "true" => Some((true.into(), span)),
            "no" | "false" => Some((false.into(), span)),
            _ => None,
        }
    }

    /// The word of an enum directly after its name, "output format json", or before it, "a cold climate".
    fn word(&self, words: &[String], label: &Label) -> Option<(Value, Range<usize>)> {
        self.word_after(words, label).or_else(|| self.word_before(words, label))
    }

    fn word_before(&self, words: &[String], label: &Label) -> Option<(Value, Range<usize>)> {
        let before = self.plain.get(..label.span.start)?;
        let text = before.strip_suffix(' ')?;
        let fits = words.iter().filter_map(|word| {
            let wanted = plain(word);
            let start = text.strip_suffix(wanted.as_str())?;
            let whole = !start.ends_with(char::is_alphanumeric)
                && !start.trim_end().ends_with(" no")
                && !start.trim_end().ends_with(" not");
            whole.then_some((word, start.len()..text.len()))
        });
        let (word, span) = fits.max_by_key(|(_, span)| span.len())?;
        Some((word.as_str().into(), span))
    }

    fn word_after(&self, words: &[String], label: &Label) -> Option<(Value, Range<usize>)> {
        let rest = self.plain.get(label.span.end..)?;
        let fits = words.iter().filter_map(|word| {
            let wanted = plain(word);
            let found = occurrences(rest, &wanted).next()?;
            self.links(label.span.end..label.span.end + found.start).then_some((word, found))
        });
        let nearest = fits.max_by_key(|(_, found)| (usize::MAX - found.start, found.len()))?;
        let span = label.span.end + nearest.1.start..label.span.end + nearest.1.end;
        Some((nearest.0.as_str().into(), span))
    }

    /// "BP 120/80", "blood pressure 120/80".
    fn blood_pressure(&self, which: &str) -> Vec<(Value, Range<usize>, usize)> {
        let mut found = Vec::new();
        for phrase in ["bp", "blood pressure"] {
            for label in occurrences(&self.plain, phrase) {
                let rest = self.text.get(label.end..).unwrap_or_default();
                let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
                let Some(at) = rest.find(|c: char| c.is_ascii_digit()) else { continue };
                if !self.links(label.end..label.end + at) {
                    continue;
                }
                let upper = rest.get(at..).unwrap_or_default();
                let first = digits(upper);
                let Some(lower) = upper.get(first..).and_then(|rest| rest.strip_prefix('/')) else { continue };
                let second = digits(lower);
                let next = lower.get(second..).and_then(|rest| rest.chars().next());
                if !(2..=3).contains(&first)
                    || !(2..=3).contains(&second)
                    || next.is_some_and(|c| c.is_alphanumeric() || c == '/')
                {
                    continue;
                }
                let text = if which == "systolic" { upper.get(..first) } else { lower.get(..second) };
                if let Some(value) = text.and_then(|text| text.parse::<f64>().ok()) {
                    let start = label.end + at + if which == "systolic" { 0 } else { first + 1 };
                    let length = if which == "systolic" { first } else { second };
                    found.push((whole(value), start..start + length, phrase.len()));
                }
            }
        }
        found
    }

    /// "66-year-old woman, 58 kg, 160 cm": the only quantity in the unit, of a person whose age is there.
    fn body(&self, unit: &str) -> Vec<(Value, Range<usize>, usize)> {
        let in_unit: Vec<&Quantity> =
            self.quantities.iter().filter(|quantity| quantity.unit.is_some_and(|of| of.symbol == unit)).collect();
        match in_unit[..] {
            [one] if !self.ages().is_empty() => vec![(whole(one.value), one.start..one.end, unit.len())],
            _ => Vec::new(),
        }
    }

    /// "a 54-year-old", "54 y/o", "aged 54".
    fn ages(&self) -> Vec<(Value, Range<usize>, usize)> {
        let old = |quantity: &&Quantity| {
            let written = self.plain.get(quantity.start..quantity.end).unwrap_or_default();
            let rest = self.plain.get(quantity.end..).unwrap_or_default();
            let before = self.plain.get(..quantity.start).unwrap_or_default().trim_end();
            let years = quantity.unit.is_some_and(|unit| unit.symbol == "yr");
            let aged = quantity.unit.is_none() && !quantity.unknown_unit && before.ends_with(" aged");
            years
                && (written.ends_with("old")
                    || written.ends_with("yo")
                    || written.ends_with("y/o")
                    || rest.trim_start().starts_with("old"))
                || aged
        };
        let quantities = self.quantities.iter().filter(old);
        quantities.map(|quantity| (whole(quantity.value), quantity.start..quantity.end, 4)).collect()
    }
}

/// A position as a point of GeoJSON.
pub(super) fn point(place: &Value) -> Value {
    json!({ "type": "Point", "coordinates": [place["lon"], place["lat"]] })
}

pub(super) fn is_position(members: &[muster_engines::grammar::Member]) -> bool {
    let names: Vec<&str> =
        members.iter().filter(|member| !member.optional).map(|member| member.name.as_str()).collect();
    names == ["lat", "lon"]
}

pub(super) fn today(search: &Search<'_>) -> Option<jiff::civil::Date> {
    search.now?.rfc3339().get(..10)?.parse().ok()
}

fn unit_named(text: &str) -> Option<&'static Unit> {
    match &quantities::quantities(&format!("1 {text}"))[..] {
        [one] => one.unit,
        _ => None,
    }
}

/// Returns the value in the parameter's unit; `None` if the unit does not convert, or if none is written and the number
/// has several readings.
pub(super) fn convert(
    parameter: &Parameter,
    quantity: &Quantity,
    bracket: Option<&'static Unit>,
    named: bool,
) -> Option<f64> {
    if quantity.unknown_unit {
        return None;
    }
    let wanted = quantities::unit(&parameter.unit);
    match (quantity.unit.or(bracket), wanted) {
        // Nobody gives rain in kilometres.
        (Some(from), Some(to)) if from.dimension != to.dimension => molar(&parameter.name, quantity.value, from, to),
        (Some(from), Some(to)) => quantities::convert(quantity.value, from, to).filter(|_| is_near(from, to)),
        // "Discount rate: 7 %", where a share is wanted.
        (Some(from), None) if from.symbol == "%" && is_share(parameter) => Some(quantity.value / 100.0),
        // A number of values, of which the text names the spacing: "a period of 12 months".
        (Some(from), None) if parameter.unit.is_empty() && counts_values(parameter, from) => Some(quantity.value),
        (Some(_), None) => None,
        (None, None) if parameter.unit.is_empty() => Some(quantity.value),
        // A unit that this program does not convert, or none in the text: the name must have it.
        (None, _) if named || IMPLIED.contains(&parameter.unit.as_str()) => Some(quantity.value),
        (None, Some(to)) => {
            let (least, most) = (parameter.range.least?, parameter.range.most?);
            let fits = |value: f64| least <= value && value <= most;
            let other =
                quantities::alternatives(to).filter_map(|from| quantities::convert(quantity.value, from, to)).any(fits);
            (fits(quantity.value) && !other).then_some(quantity.value)
        }
        (None, None) => None,
    }
}

/// Whether a parameter is a number without unit that is at most 1.
fn is_share(parameter: &Parameter) -> bool {
    matches!(parameter.unit.as_str(), "" | "-") && parameter.range.most.is_some_and(|most| most <= 1.0)
}

/// Molar masses of analytes in g/mol (NIST Chemistry WebBook), of urea nitrogen that of its two atoms.
const MOLAR_MASSES: &[(&str, f64)] = &[
    ("creatinine", 113.12),
    ("bilirubin", 584.66),
    ("glucose", 180.156),
    ("total_cholesterol", 386.65),
    ("hdl", 386.65),
    ("calcium", 40.078),
    ("urea", 60.055),
    ("bun", 28.013),
];

/// Converts between the mass and the amount of a substance in a volume; six digits are kept.
fn molar(name: &str, value: f64, from: &Unit, to: &Unit) -> Option<f64> {
    let (_, mass) =
        MOLAR_MASSES.iter().find(|(analyte, _)| *analyte == name || name.ends_with(&format!("_{analyte}")))?;
    let (mass_unit, amount_unit) = (quantities::unit("mg/L")?, quantities::unit("mmol/L")?);
    let converted = match (from.dimension, to.dimension) {
        (Dimension::MolarConcentration, Dimension::MassConcentration) => {
            quantities::convert(quantities::convert(value, from, amount_unit)? * mass, mass_unit, to)?
        }
        (Dimension::MassConcentration, Dimension::MolarConcentration) => {
            quantities::convert(quantities::convert(value, from, mass_unit)? / mass, amount_unit, to)?
        }
        _ => return None,
    };
    format!("{converted:.5e}").parse().ok()
}

/// Whether a parameter is a number of values of a series, and a unit may be the spacing of these.
fn counts_values(parameter: &Parameter, unit: &Unit) -> bool {
    matches!(parameter.name.as_str(), "period" | "horizon")
        && parameter.kind == Type::Prim(Prim::Integer)
        && matches!(unit.dimension, quantities::Dimension::Time | quantities::Dimension::Calendar)
}

/// Whether two units of length are of a similar size.
fn is_near(from: &Unit, to: &Unit) -> bool {
    let ratio = quantities::convert(1.0, from, to).unwrap_or(1.0);
    from.dimension != Dimension::Length || (1e-4..=1e4).contains(&ratio)
}

pub(super) fn number_value(kind: &Type, value: f64) -> Option<Value> {
    match kind {
        Type::Prim(Prim::Integer) => (value.fract() == 0.0 && value.abs() < 9e15).then(|| json!(value as i64)),
        _ => Some(whole(value)),
    }
}

/// Writes whole numbers as `1`, not `1.0`.
fn whole(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}
