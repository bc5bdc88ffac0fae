//! `previous` of a consultation: what an answer before recognised.

use muster_medical::input::Previous;
use muster_request::Fields;
use serde_json::Value;

/// A read `extracted` block.
#[derive(Debug, Default)]
pub struct PreviousAnswer(pub Previous);

/// Most concepts of a list; the lexicon has fewer.
const MAX_CONCEPTS: usize = 1000;

/// Reads the block. Members that no answer has are ignored: a client may keep more beside them.
pub fn previous(fields: &mut Fields<'_>, name: &str) -> Option<PreviousAnswer> {
    fields.object(name, |fields| {
        let mut previous = Previous::default();
        for concept in concepts(fields, "present") {
            let sudden = concept.get("onset").and_then(Value::as_str) == Some("sudden");
            previous.present.extend(id(concept).map(|id| (id, sudden)));
        }
        previous.absent = concepts(fields, "absent").into_iter().filter_map(id).collect();
        for name in ["vitals", "labs"] {
            let values = fields.value(name).and_then(Value::as_object);
            let numbers =
                values.into_iter().flatten().filter_map(|(field, value)| Some((field.clone(), value.as_f64()?)));
            previous.values.extend(numbers.take(MAX_CONCEPTS));
        }
        PreviousAnswer(previous)
    })
}

fn id(concept: &Value) -> Option<String> {
    concept.get("concept").and_then(Value::as_str).map(str::to_owned)
}

fn concepts<'a>(fields: &mut Fields<'a>, name: &str) -> Vec<&'a Value> {
    match fields.value(name) {
        None => Vec::new(),
        Some(Value::Array(items)) if items.len() <= MAX_CONCEPTS => items.iter().collect(),
        Some(_) => {
            fields.fail(name, format!("must be an array of at most {MAX_CONCEPTS} objects with `concept`"));
            Vec::new()
        }
    }
}
