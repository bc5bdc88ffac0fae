//! Params that a model finds in the text of an instruction. Only numbers, words and texts that stand in the text are taken,
//! numbers by their units.

use std::ops::Range;

use muster_engines::grammar::{Prim, Type};
use muster_kernel_words::quantities::{self, Dimension, Quantity};
use serde_json::{Map, Value, json};

use super::rules::{convert, number_value};
use super::{Filled, MAX_TEXT, labels};
use crate::agent::parameter::{Parameter, problems_of};

/// Longest text that a model is given, in bytes.
const MAX_PROMPT: usize = 16 * 1024;
/// Longest text that is taken, in bytes.
const MAX_VALUE: usize = 400;
/// What may stand between the name of a parameter and its number.
const LINKS: &[&str] = &["", "of", "is", "was", "at", "are", "were"];

/// Returns the params among the missing ones that a model may find: numbers, words of an enum and texts.
pub(in crate::agent) fn scalars<'a>(parameters: &'a [Parameter], missing: &[String]) -> Vec<&'a Parameter> {
    let is_scalar = |parameter: &&Parameter| {
        let kind = &parameter.kind;
        matches!(kind, Type::Prim(Prim::Number | Prim::Integer | Prim::String) | Type::Enum(_))
    };
    parameters.iter().filter(|parameter| missing.contains(&parameter.name)).filter(is_scalar).collect()
}

/// Returns the question: the parameters, and the text.
pub(in crate::agent) fn question(wanted: &[&Parameter], text: &str) -> String {
    let line = |parameter: &&Parameter| {
        let mut line = format!("- {}", parameter.name);
        match &parameter.kind {
            Type::Enum(words) => line.push_str(&format!(": one of {}", words.join(", "))),
            Type::Prim(Prim::String) => line.push_str(": words of the text"),
            _ if parameter.unit.is_empty() => line.push_str(": a number"),
            _ => line.push_str(&format!(": a number, as it is written; it means {}", parameter.unit)),
        }
        line
    };
    let lines: Vec<String> = wanted.iter().map(line).collect();
    let text = text.get(..text.floor_char_boundary(MAX_PROMPT)).unwrap_or_default();
    format!("Find these values in the text below:\n{}\n\nText:\n{text}", lines.join("\n"))
}

/// Returns the schema of the answer: each parameter, or null.
pub(in crate::agent) fn schema(wanted: &[&Parameter]) -> Value {
    let kind = |parameter: &Parameter| match &parameter.kind {
        Type::Enum(words) => {
            let words: Vec<Value> = words.iter().map(|word| json!(word)).chain([Value::Null]).collect();
            json!({ "enum": words })
        }
        Type::Prim(Prim::String) => json!({ "type": ["string", "null"] }),
        _ => json!({ "type": ["number", "null"] }),
    };
    let properties: Map<String, Value> =
        wanted.iter().map(|parameter| (parameter.name.clone(), kind(parameter))).collect();
    let names: Vec<&str> = wanted.iter().map(|parameter| parameter.name.as_str()).collect();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

/// Returns the values of an answer that stand in the text and are valid. `parameters` are all of the agent: a number that
/// the text gives to another one is not taken.
pub(in crate::agent) fn read(parameters: &[Parameter], wanted: &[&Parameter], answer: &str, text: &str) -> Vec<Filled> {
    let Ok(Value::Object(answer)) = serde_json::from_str(answer.trim()) else { return Vec::new() };
    if text.len() > MAX_TEXT {
        return Vec::new();
    }
    let (quantities, plain) = (quantities::quantities(text), labels::plain(text));
    let of_another = |parameter: &Parameter, place: usize| is_of_another(parameter, parameters, &plain, place);
    let mut found: Vec<Filled> = Vec::new();
    for parameter in wanted {
        let grounded = match (answer.get(&parameter.name), &parameter.kind) {
            (Some(Value::Number(number)), Type::Prim(Prim::Number | Prim::Integer)) => {
                let grounded = number.as_f64().and_then(|number| quantity(parameter, number, &quantities));
                grounded.filter(|(_, span)| !of_another(parameter, span.start))
            }
            (Some(Value::String(word)), Type::Enum(_)) => {
                place(&word.replace(['_', '-'], " "), text).map(|span| (json!(word), span))
            }
            (Some(Value::String(words)), Type::Prim(Prim::String)) if words.len() <= MAX_VALUE => {
                place(words, text).map(|span| (json!(text.get(span.clone()).unwrap_or_default()), span))
            }
            _ => None,
        };
        let Some((value, span)) = grounded else { continue };
        // One place in a text says one thing.
        let taken = found.iter().any(|other| other.span.start < span.end && span.start < other.span.end);
        if !taken && problems_of(parameter, &value).is_empty() {
            found.push(Filled { param: parameter.name.clone(), value, by: "model", span });
        }
    }
    found
}

/// Finds the number in the text, and returns it in the parameter's unit. A number whose unit does not fit is not taken, and
/// neither is one that stands in the text twice with other meanings.
fn quantity(parameter: &Parameter, number: f64, quantities: &[Quantity]) -> Option<(Value, Range<usize>)> {
    let equal = |a: f64| (a - number).abs() <= 1e-9 * number.abs().max(1.0);
    let mut fitting = quantities.iter().filter(|quantity| has_unit(parameter, quantity)).filter_map(|quantity| {
        let value = convert(parameter, quantity, None, true)?;
        (equal(quantity.value) || equal(value)).then_some((value, quantity.start..quantity.end))
    });
    let (value, span) = fitting.next()?;
    if fitting.any(|(other, _)| other != value) {
        return None;
    }
    Some((number_value(&parameter.kind, value)?, span))
}

/// Whether a unit is written where one must be: lengths, areas and the like are never given without, and a bare number
/// is then one of people, of floors, of anything.
fn has_unit(parameter: &Parameter, quantity: &Quantity) -> bool {
    use Dimension::{Area, Flow, Length, Mass, RainRate, Speed, Volume};
    let measured = quantities::unit(&parameter.unit)
        .is_some_and(|unit| matches!(unit.dimension, Area | Flow | Length | Mass | RainRate | Speed | Volume));
    !measured || quantity.unit.is_some()
}

/// Whether the text names another parameter right before a place, and not this one: "RR 18" is no heart rate.
fn is_of_another(parameter: &Parameter, parameters: &[Parameter], plain_text: &str, place: usize) -> bool {
    let all: Vec<&Parameter> = parameters.iter().collect();
    let names = |parameter: &Parameter| {
        labels::places(plain_text, parameter, &all).iter().any(|label| {
            let between = plain_text.get(label.span.end..place);
            between.is_some_and(|between| LINKS.contains(&between.trim_matches([' ', ':', '=', ','])))
        })
    };
    !names(parameter) && parameters.iter().any(|other| other.name != parameter.name && names(other))
}

/// Finds words in a text, whatever their case and what is between them.
fn place(words: &str, text: &str) -> Option<Range<usize>> {
    let wanted: Vec<String> = runs(words).iter().map(|span| lower(words, span)).collect();
    let spans = runs(text);
    let is_it =
        |window: &&[Range<usize>]| window.iter().zip(&wanted).all(|(span, wanted)| lower(text, span) == *wanted);
    let found = spans.windows(wanted.len().max(1)).find(is_it).filter(|_| !wanted.is_empty())?;
    Some(found.first()?.start..found.last()?.end)
}

fn lower(text: &str, span: &Range<usize>) -> String {
    text.get(span.clone()).unwrap_or_default().to_lowercase()
}

/// Returns the runs of letters and digits.
fn runs(text: &str) -> Vec<Range<usize>> {
    let (mut runs, mut from) = (Vec::new(), None);
    for (at, c) in text.char_indices() {
        match (c.is_alphanumeric(), from) {
            (true, None) => from = Some(at),
            (false, Some(start)) => {
                runs.push(start..at);
                from = None;
            }
            _ => {}
        }
    }
    runs.extend(from.map(|start| start..text.len()));
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Vec<Parameter> {
        let unit = |text: &str, unit: &str| Parameter { unit: unit.to_owned(), ..Parameter::parse(text).unwrap() };
        vec![
            unit("wind_speed:number:required", "m/s"),
            unit("people:integer:required", ""),
            unit("crew:integer:required", ""),
            unit("mode:enum(search|rescue_boat):required", ""),
            unit("place:string:required", ""),
            unit("rows:array<number>:required", ""),
        ]
    }

    fn found(answer: Value, text: &str) -> Vec<(String, Value)> {
        let parameters = parameters();
        let names: Vec<String> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let wanted = scalars(&parameters, &names);
        read(&parameters, &wanted, &answer.to_string(), text)
            .into_iter()
            .map(|filled| (filled.param, filled.value))
            .collect()
    }

    #[test]
    fn only_scalars_are_asked_for() {
        let parameters = parameters();
        let missing = ["people".to_owned(), "rows".to_owned()];
        let wanted = scalars(&parameters, &missing);
        assert_eq!(wanted.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>(), ["people"]);
        let expected = json!({
            "type": "object", "properties": { "people": { "type": ["number", "null"] } }, "required": ["people"],
            "additionalProperties": false,
        });
        assert_eq!(schema(&wanted), expected);
        assert!(question(&wanted, "Twelve people").contains("- people: a number\n\nText:\nTwelve people"));
    }

    #[test]
    fn what_stands_in_the_text_is_taken_with_its_unit() {
        let text = "A rescue boat with 12 aboard left Mill  Harbour; it blew 36 km/h.";
        let answer = json!({ "wind_speed": 36, "people": 12, "mode": "rescue_boat", "place": "mill harbour" });
        let expected = [
            ("wind_speed", json!(10)),
            ("people", json!(12)),
            ("mode", json!("rescue_boat")),
            ("place", json!("Mill  Harbour")),
        ];
        let expected: Vec<(String, Value)> = expected.map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(found(answer, text), expected);
    }

    #[test]
    fn what_does_not_stand_in_the_text_or_has_another_unit_is_dropped() {
        let text = "A boat with 12 aboard; depth 36 m.";
        for answer in [
            json!({ "people": 13 }),
            json!({ "people": 12.5 }),
            json!({ "wind_speed": 36 }),
            json!({ "mode": "search" }),
            json!({ "mode": "sail" }),
            json!({ "place": "oat" }),
            json!({ "place": "..." }),
            json!({ "place": null }),
            json!({ "rows": [12] }),
            json!([12]),
        ] {
            assert_eq!(found(answer.clone(), text), [], "{answer}");
        }
        // A speed has a unit, and a number that another parameter is named for is not taken.
        assert_eq!(found(json!({ "wind_speed": 36 }), "They were 36 in two boats."), []);
        assert_eq!(found(json!({ "wind_speed": 36 }), "A wind speed of 36 km/h.").len(), 1);
        assert_eq!(found(json!({ "crew": 36 }), "They sent people: 36."), []);
        assert_eq!(found(json!({ "crew": 36 }), "They sent 36.").len(), 1);
        // One number is not two values.
        assert_eq!(found(json!({ "people": 12, "place": "12" }), text).len(), 1);
    }
}
