//! Statements of a report that hold under conditions: what an agent's data says of its outputs.

use muster_engines::grammar::{Prim, Type};
use serde_json::Value;

use super::markdown;
use super::reference::{Head, Reference, Scope, is_empty};

/// Maximum number of items that a statement lists.
const MAX_LISTED: usize = 8;

/// A sentence, and when it holds.
#[derive(Debug)]
pub struct Advice {
    /// The sentence holds only if this does.
    condition: Option<Condition>,
    parts: Vec<AdvicePart>,
}

#[derive(Debug)]
struct Condition {
    reference: Reference,
    test: ConditionTest,
}

#[derive(Debug)]
enum ConditionTest {
    /// There is a value, other than `false`.
    Present,
    /// Its step ran, and there is none.
    Empty,
    /// It is one of these, or one of its items is.
    OneOf(Vec<Value>),
    /// It, or one of its items, is between these.
    Between { above: Option<Bound>, below: Option<Bound> },
}

#[derive(Debug)]
enum Bound {
    Number(f64),
    Reference(Reference),
}

#[derive(Debug)]
enum AdvicePart {
    Text(String),
    Value { reference: Reference, unit: String, format: ValueFormat },
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ValueFormat {
    Plain,
    /// A share, in percent.
    Percent,
    /// With this many decimals.
    Decimals(usize),
    /// The number of items.
    Count,
    /// Minutes, as hours and minutes.
    Hours,
    /// An angle as a bearing from 0 to 360 degrees.
    Bearing,
}

/// The catalogue's row of a sentence.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdviceRow {
    when: Option<String>,
    is: Option<Vec<Value>>,
    above: Option<Value>,
    below: Option<Value>,
    #[serde(default)]
    empty: bool,
    say: String,
}

/// Resolves a reference: its type and unit, or `None` after it reported a mistake.
pub(super) type Resolve<'a> = dyn FnMut(&str) -> Option<(Reference, Type, String)> + 'a;

impl Advice {
    /// Reads a row.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it; mistakes of references are reported by `resolve`.
    pub(super) fn parse(row: &AdviceRow, resolve: &mut Resolve<'_>) -> Result<Self, String> {
        let condition = match &row.when {
            Some(when) => condition(row, when, resolve)?,
            None if row.is.is_some() || row.above.is_some() || row.below.is_some() || row.empty => {
                return Err("it has a condition without `when`".to_owned());
            }
            None => None,
        };
        Ok(Self { condition, parts: parts(&row.say, resolve)? })
    }

    /// Returns the sentence if it holds and all of its values are there.
    pub(super) fn text(&self, scope: &Scope<'_>) -> Option<String> {
        if !self.condition.as_ref().is_none_or(|condition| condition.holds(scope)) {
            return None;
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                AdvicePart::Text(words) => text.push_str(words),
                AdvicePart::Value { reference, unit, format } => {
                    let value = reference.value(scope);
                    if value.is_null() {
                        return None;
                    }
                    text.push_str(&written(&value, unit, *format));
                }
            }
        }
        Some(text)
    }
}

impl Condition {
    fn holds(&self, scope: &Scope<'_>) -> bool {
        let value = self.reference.value(scope);
        let any = |fits: &dyn Fn(&Value) -> bool| match &value {
            Value::Array(items) => items.iter().any(fits),
            one => fits(one),
        };
        match &self.test {
            ConditionTest::Present => !is_empty(&value) && value != Value::Bool(false),
            ConditionTest::Empty => is_empty(&value) && ran(&self.reference, scope),
            ConditionTest::OneOf(values) => any(&|item| values.iter().any(|one| equal(one, item))),
            ConditionTest::Between { above, below } => {
                let bound = |bound: &Option<Bound>| match bound {
                    None => Some(None),
                    Some(bound) => bound.value(scope).map(Some),
                };
                let (Some(above), Some(below)) = (bound(above), bound(below)) else { return false };
                any(&|item| {
                    item.as_f64().is_some_and(|number| {
                        above.is_none_or(|least| number > least) && below.is_none_or(|most| number < most)
                    })
                })
            }
        }
    }
}

impl Bound {
    fn value(&self, scope: &Scope<'_>) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Reference(reference) => reference.value(scope).as_f64(),
        }
    }
}

fn ran(reference: &Reference, scope: &Scope<'_>) -> bool {
    match &reference.head {
        Head::Step { name, .. } => scope.outputs.get(name.as_str()).is_some_and(|output| output.is_object()),
        Head::Task | Head::Now | Head::Param(_) => true,
    }
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

fn condition(row: &AdviceRow, when: &str, resolve: &mut Resolve<'_>) -> Result<Option<Condition>, String> {
    let Some((reference, kind, _)) = resolve(when) else { return Ok(None) };
    let compares = row.above.is_some() || row.below.is_some();
    if usize::from(row.is.is_some()) + usize::from(compares) + usize::from(row.empty) > 1 {
        return Err(format!("{when}: write one of `is`, `above` and `below`, `empty`"));
    }
    let test = match &row.is {
        Some(values) => {
            if let Type::Enum(words) = item(&kind)
                && let Some(other) =
                    values.iter().find(|value| !value.as_str().is_some_and(|word| words.iter().any(|one| one == word)))
            {
                return Err(format!("{when} is never {other}: it is one of {}", words.join(", ")));
            }
            ConditionTest::OneOf(values.clone())
        }
        None if row.empty => ConditionTest::Empty,
        None if compares => {
            let mut bound = |value: &Option<Value>| match value {
                None => Ok(None),
                Some(Value::String(text)) => Ok(resolve(text).map(|(reference, ..)| Bound::Reference(reference))),
                Some(value) => {
                    let number =
                        value.as_f64().ok_or_else(|| format!("{when}: {value} is neither number nor reference"));
                    number.map(|number| Some(Bound::Number(number)))
                }
            };
            ConditionTest::Between { above: bound(&row.above)?, below: bound(&row.below)? }
        }
        None => ConditionTest::Present,
    };
    Ok(Some(Condition { reference, test }))
}

fn item(kind: &Type) -> &Type {
    match kind {
        Type::Array(inner) => item(inner),
        other => other,
    }
}

/// Reads a sentence with values as `{$steps.a.b}` or `{$steps.a.b|%}`.
fn parts(say: &str, resolve: &mut Resolve<'_>) -> Result<Vec<AdvicePart>, String> {
    let mut parts = Vec::new();
    let mut rest = say;
    while let Some((before, after)) = rest.split_once("{$") {
        let (inner, behind) = after.split_once('}').ok_or_else(|| format!("{say:?}: a value is not closed"))?;
        let (name, format) = inner.split_once('|').unwrap_or((inner, ""));
        let format = match format {
            "" => ValueFormat::Plain,
            "%" => ValueFormat::Percent,
            "count" => ValueFormat::Count,
            "h" => ValueFormat::Hours,
            "az" => ValueFormat::Bearing,
            digits => {
                let known = digits.parse().ok().filter(|digits| *digits <= 6).map(ValueFormat::Decimals);
                known.ok_or_else(|| format!("{say:?}: {digits:?} is none of %, count, h, az, 0 to 6"))?
            }
        };
        parts.push(AdvicePart::Text(before.to_owned()));
        if let Some((reference, kind, unit)) = resolve(&format!("${name}")) {
            let counts = matches!(kind, Type::Array(_) | Type::Map(_) | Type::Prim(Prim::Any));
            if format == ValueFormat::Count && !counts {
                return Err(format!("{say:?}: {reference} has no items"));
            }
            parts.push(AdvicePart::Value { reference, unit, format });
        }
        rest = behind;
    }
    parts.push(AdvicePart::Text(rest.to_owned()));
    Ok(parts)
}

fn written(value: &Value, unit: &str, format: ValueFormat) -> String {
    match (format, value) {
        (ValueFormat::Count, Value::Array(items)) => items.len().to_string(),
        (ValueFormat::Count, Value::Object(entries)) => entries.len().to_string(),
        (ValueFormat::Plain, Value::Array(items)) => {
            let shown: Vec<String> = items.iter().take(MAX_LISTED).map(|item| markdown::inline(item, unit)).collect();
            let more = items.len().saturating_sub(MAX_LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", shown.join(", "))
        }
        (ValueFormat::Plain | ValueFormat::Count, value) => markdown::inline(value, unit),
        (_, Value::Array(items)) => {
            let shown: Vec<String> = items.iter().map(|item| written(item, unit, format)).collect();
            shown.join(", ")
        }
        (format, value) => {
            let Some(number) = value.as_f64() else { return markdown::inline(value, unit) };
            match format {
                ValueFormat::Percent => percent(number),
                ValueFormat::Hours => hours(number),
                ValueFormat::Bearing => format!("{:.0}°", number.rem_euclid(360.0)),
                ValueFormat::Decimals(digits) => {
                    format!("{number:.digits$} {}", markdown::shown_unit(unit)).trim_end().to_owned()
                }
                ValueFormat::Plain | ValueFormat::Count => markdown::inline(value, unit),
            }
        }
    }
}

/// A share in percent: no more digits than say something.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let near_bound = percent < 1.0 || (99.0..100.0).contains(&percent);
    let text = if near_bound { format!("{percent:.2}") } else { format!("{percent:.0}") };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    if text == "0" && share > 0.0 { "less than 0.01 %".to_owned() } else { format!("{text} %") }
}

fn hours(minutes: f64) -> String {
    let whole = minutes.round() as i64;
    match (whole / 60, whole % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use muster_engines::grammar::parse_type;
    use serde_json::{Map, json};

    use super::*;

    fn advice(row: &str) -> Result<Advice, String> {
        let row: AdviceRow = toml::from_str(row).unwrap();
        Advice::parse(&row, &mut |text| {
            let kind = match text {
                "$steps.storm.state" => "enum(clear|stop)",
                "$steps.storm.ids" => "array<string>",
                _ => "number",
            };
            Some((Reference::parse(text).unwrap(), parse_type(kind).unwrap(), "min".to_owned()))
        })
    }

    fn said(row: &str, output: &Value) -> Option<String> {
        let params = Map::new();
        let outputs = [("storm", output)].into_iter().collect();
        advice(row).unwrap().text(&Scope { task: "", now: String::new(), params: &params, outputs })
    }

    #[test]
    fn a_sentence_holds_under_its_condition_and_with_all_its_values() {
        let stop = "when = \"$steps.storm.state\"\nis = [\"stop\"]\nsay = \"Stop for {$steps.storm.wait}.\"";
        assert_eq!(said(stop, &json!({ "state": "stop", "wait": 30 })).unwrap(), "Stop for 30 min.");
        assert_eq!(said(stop, &json!({ "state": "clear", "wait": 30 })), None);
        assert_eq!(said(stop, &json!({ "state": "stop", "wait": null })), None, "a value is missing");
        let long = "when = \"$steps.storm.wait\"\nabove = 60\nbelow = \"$steps.storm.most\"\nsay = \"Long.\"";
        for (wait, most, holds) in [(61, 90, true), (60, 90, false), (90, 90, false)] {
            assert_eq!(said(long, &json!({ "wait": wait, "most": most })).is_some(), holds, "{wait} of {most}");
        }
        assert_eq!(said(long, &json!({ "wait": 61 })), None, "the bound is missing");
        let none = "when = \"$steps.storm.ids\"\nempty = true\nsay = \"Nobody.\"";
        assert_eq!(said(none, &json!({ "ids": [] })).unwrap(), "Nobody.");
        assert_eq!(said(none, &Value::Null), None, "the step did not run");
    }

    #[test]
    fn values_are_written_for_people() {
        for (say, output, wanted) in [
            ("{$steps.storm.share|%}", json!({ "share": 0.873 }), "87 %"),
            ("{$steps.storm.share|%}", json!({ "share": 0.0042 }), "0.42 %"),
            ("{$steps.storm.share|%}", json!({ "share": 0.9999999 }), "100 %"),
            ("{$steps.storm.wait|h}", json!({ "wait": 134.6 }), "2 h 15 min"),
            ("{$steps.storm.wait|az}", json!({ "wait": -43.4 }), "317°"),
            ("{$steps.storm.wait|1}", json!({ "wait": 134.66 }), "134.7 min"),
            ("{$steps.storm.ids|count} of them", json!({ "ids": ["a", "b"] }), "2 of them"),
            ("{$steps.storm.state}", json!({ "state": "clear" }), "clear min"),
        ] {
            let text = said(&format!("say = \"{say}\""), &output).unwrap();
            assert_eq!(text.trim_end_matches(" min"), wanted.trim_end_matches(" min"), "{say}");
        }
    }

    #[test]
    fn mistakes_in_rows_are_found() {
        for (row, wanted) in [
            ("when = \"$steps.storm.state\"\nis = [\"halt\"]\nsay = \"x\"", "is never \"halt\""),
            ("when = \"$steps.storm.wait\"\nis = [1]\nabove = 2\nsay = \"x\"", "write one of"),
            ("above = 2\nsay = \"x\"", "without `when`"),
            ("say = \"{$steps.storm.wait\"", "not closed"),
            ("say = \"{$steps.storm.wait|x}\"", "is none of"),
            ("say = \"{$steps.storm.wait|count}\"", "has no items"),
            ("when = \"$steps.storm.wait\"\nabove = true\nsay = \"x\"", "neither number nor reference"),
        ] {
            let mistake = advice(row).unwrap_err();
            assert!(mistake.contains(wanted), "{mistake}");
        }
    }
}
