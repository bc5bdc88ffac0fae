//! Compares schemas by direction: a request may be widened, a response narrowed.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::changes::{Changes, Effect};
use super::document::{Document, entries, flag, items, reference};

const MAX_DEPTH: usize = 64;
/// Maximum number of schema pairs compared per path.
const MAX_COMPARED: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    Request,
    Response,
}

impl Direction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

/// Change of the set of values that a schema allows.
#[derive(Debug, Clone, Copy)]
enum SetChange {
    Narrower,
    Wider,
    Other,
}

impl SetChange {
    fn effect(self, direction: Direction) -> Effect {
        match (self, direction) {
            (Self::Narrower, Direction::Response) | (Self::Wider, Direction::Request) => Effect::Compatible,
            _ => Effect::Breaking,
        }
    }
}

pub(super) struct Schemas<'d> {
    old: &'d Document,
    new: &'d Document,
    /// References being compared: recursive schemas stop here.
    met: BTreeSet<(String, String, Direction)>,
    compared: usize,
    depth: usize,
}

impl<'d> Schemas<'d> {
    pub(super) fn new(old: &'d Document, new: &'d Document) -> Self {
        Self { old, new, met: BTreeSet::new(), compared: 0, depth: 0 }
    }

    pub(super) fn compare(
        &mut self,
        old: &Value,
        new: &Value,
        direction: Direction,
        place: &str,
        changes: &mut Changes,
    ) {
        let names = reference(old).zip(reference(new)).map(|(old, new)| (old.to_owned(), new.to_owned(), direction));
        if names.as_ref().is_some_and(|names| !self.met.insert(names.clone())) {
            return;
        }
        self.compared += 1;
        if self.depth >= MAX_DEPTH || self.compared > MAX_COMPARED {
            changes.too_deep = true;
        } else {
            self.depth += 1;
            let (before, after) = (merged(self.old, old, 0), merged(self.new, new, 0));
            let mut at = At { direction, place, changes };
            at.types(&before, &after);
            at.values(&before, &after);
            at.bounds(&before, &after);
            at.words(&before, &after);
            self.properties(&before, &after, &mut at);
            self.alternatives(&before, &after, &mut at);
            self.nested(&before, &after, &mut at);
            self.depth -= 1;
        }
        if let Some(names) = names {
            self.met.remove(&names);
        }
    }

    fn properties(&mut self, old: &Value, new: &Value, at: &mut At<'_>) {
        let required = |schema: &Value, name: &str| items(schema, "required").any(|required| required == name);
        let hidden = if at.direction == Direction::Request { "readOnly" } else { "writeOnly" };
        for (name, before) in entries(old, "properties").filter(|(_, schema)| !flag(schema, hidden)) {
            let place = format!("{} {name}", at.place);
            let Some(after) = new.get("properties").and_then(|properties| properties.get(name)) else {
                at.removed(&place, required(old, name));
                continue;
            };
            if flag(after, hidden) {
                continue;
            }
            match (required(old, name), required(new, name)) {
                (false, true) => {
                    at.at(&place, SetChange::Narrower, "property-became-required", "it has to be there now")
                }
                (true, false) => at.at(&place, SetChange::Wider, "property-became-optional", "it may be missing now"),
                _ => {}
            }
            self.compare(before, after, at.direction, &place, at.changes);
        }
        let known = |name: &str| old.get("properties").is_some_and(|properties| properties.get(name).is_some());
        for (name, after) in entries(new, "properties").filter(|(name, schema)| !known(name) && !flag(schema, hidden)) {
            let place = format!("{} {name}", at.place);
            if required(new, name) && at.direction == Direction::Request && after.is_object() {
                at.changes.breaking(&place, "new-required-request-property", "clients do not send it");
            } else {
                let kind = format!("new-{}-property", at.direction.name());
                at.changes.compatible(&place, &kind, "the property is new");
            }
        }
    }

    /// `oneOf` and `anyOf`: alternatives are matched by reference, or by equality.
    fn alternatives(&mut self, old: &Value, new: &Value, at: &mut At<'_>) {
        for field in ["oneOf", "anyOf"] {
            if old.get(field).is_none() && new.get(field).is_none() {
                continue;
            }
            let (before, after): (Vec<&Value>, Vec<&Value>) =
                (items(old, field).collect(), items(new, field).collect());
            for gone in before.iter().filter(|one| !after.contains(one)) {
                at.set_change(
                    SetChange::Narrower,
                    &format!("{field}-removed"),
                    format!("{} is no longer an alternative", called(gone)),
                );
            }
            for added in after.iter().filter(|one| !before.contains(one)) {
                at.set_change(
                    SetChange::Wider,
                    &format!("{field}-added"),
                    format!("{} is an alternative now", called(added)),
                );
            }
            for same in before.iter().filter(|one| after.contains(one)) {
                let place = format!("{} {field}", at.place);
                self.compare(same, same, at.direction, &place, at.changes);
            }
        }
    }

    fn nested(&mut self, old: &Value, new: &Value, at: &mut At<'_>) {
        for (field, name) in [("items", "[]"), ("additionalProperties", "{}"), ("not", "not")] {
            let (before, after) =
                (old.get(field).unwrap_or(&Value::Bool(true)), new.get(field).unwrap_or(&Value::Bool(true)));
            let closed = Value::Bool(false);
            let place = format!("{} {name}", at.place);
            match (before.is_object(), after.is_object()) {
                (true, true) if field != "not" => self.compare(before, after, at.direction, &place, at.changes),
                (true, true) if before != after => {
                    at.at(&place, SetChange::Other, "not-changed", "what is excluded is another")
                }
                (true, true) => {}
                _ if field == "not" => {}
                _ if before == after => {}
                _ if *after == closed || (after.is_object() && *before != closed) => {
                    at.at(
                        &place,
                        SetChange::Narrower,
                        &format!("{}-restricted", field.to_lowercase()),
                        "less is allowed here",
                    );
                }
                _ => {
                    at.at(&place, SetChange::Wider, &format!("{}-opened", field.to_lowercase()), "more is allowed here")
                }
            }
        }
    }
}

/// Location and direction of a schema.
struct At<'a> {
    direction: Direction,
    place: &'a str,
    changes: &'a mut Changes,
}

impl At<'_> {
    fn set_change(&mut self, change: SetChange, kind: &str, message: impl Into<String>) {
        self.at(self.place, change, kind, message);
    }

    fn at(&mut self, place: &str, change: SetChange, kind: &str, message: impl Into<String>) {
        let kind = format!("{}-{kind}", self.direction.name());
        self.changes.add(change.effect(self.direction), place, kind, message);
    }

    fn removed(&mut self, place: &str, required: bool) {
        match (self.direction, required) {
            (Direction::Request, _) => {
                self.changes.breaking(place, "request-property-removed", "the server no longer reads what clients send")
            }
            (Direction::Response, true) => {
                self.changes.breaking(place, "response-required-property-removed", "clients count on it");
            }
            (Direction::Response, false) => {
                self.changes.compatible(place, "response-optional-property-removed", "it was not always there");
            }
        }
    }

    fn types(&mut self, old: &Value, new: &Value) {
        let (before, after) = (types(old), types(new));
        let covers = |wide: &Types, narrow: &Types| match (wide, narrow) {
            (None, _) => true,
            (_, None) => false,
            (Some(wide), Some(narrow)) => {
                narrow.iter().all(|kind| wide.contains(kind) || (kind == "integer" && wide.contains("number")))
            }
        };
        let change = match (covers(&before, &after), covers(&after, &before)) {
            (true, true) => return,
            (true, false) => SetChange::Narrower,
            (false, true) => SetChange::Wider,
            (false, false) => SetChange::Other,
        };
        let reported =
            |types: Types| types.map_or("any".to_owned(), |types| types.into_iter().collect::<Vec<_>>().join(" or "));
        self.set_change(change, "type-changed", format!("from {} to {}", reported(before), reported(after)));
    }

    fn values(&mut self, old: &Value, new: &Value) {
        let values = |schema: &Value| match (schema.get("enum").and_then(Value::as_array), schema.get("const")) {
            (Some(values), _) => Some(values.clone()),
            (None, constant) => constant.map(|constant| vec![constant.clone()]),
        };
        match (values(old), values(new)) {
            (None, Some(_)) => self.set_change(SetChange::Narrower, "became-enum", "only some values are allowed now"),
            (Some(_), None) => self.set_change(SetChange::Wider, "enum-removed", "any value is allowed now"),
            (Some(before), Some(after)) => {
                for gone in before.iter().filter(|value| !after.contains(value)) {
                    self.set_change(SetChange::Narrower, "enum-value-removed", format!("{gone} is no longer allowed"));
                }
                for added in after.iter().filter(|value| !before.contains(value)) {
                    self.set_change(SetChange::Wider, "enum-value-added", format!("{added} is allowed now"));
                }
            }
            (None, None) => {}
        }
    }

    fn bounds(&mut self, old: &Value, new: &Value) {
        let upper = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
        let lower = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
        for (field, sign) in upper.map(|field| (field, 1.0)).into_iter().chain(lower.map(|field| (field, -1.0))) {
            // In OpenAPI 3.0 the exclusive bounds are flags, and a set flag is narrower.
            let value = |schema: &Value| match schema.get(field) {
                Some(Value::Bool(true)) => 0.0,
                Some(Value::Number(number)) => number.as_f64().map_or(f64::INFINITY, |number| sign * number),
                _ => f64::INFINITY,
            };
            let (before, after) = (value(old), value(new));
            let reported = |schema: &Value| schema.get(field).map_or("none".to_owned(), Value::to_string);
            if before.to_bits() != after.to_bits() {
                let change = if after < before { SetChange::Narrower } else { SetChange::Wider };
                self.set_change(
                    change,
                    &format!("{}-changed", dashed(field)),
                    format!("from {} to {}", reported(old), reported(new)),
                );
            }
        }
    }

    fn words(&mut self, old: &Value, new: &Value) {
        for field in ["pattern", "format", "multipleOf", "uniqueItems"] {
            let value = |schema: &Value| schema.get(field).filter(|value| **value != json!(false)).cloned();
            let kind = format!("{}-changed", dashed(field));
            match (value(old), value(new)) {
                (None, Some(value)) => self.set_change(SetChange::Narrower, &kind, format!("{value} is required now")),
                (Some(value), None) => {
                    self.set_change(SetChange::Wider, &kind, format!("{value} is no longer required"))
                }
                (Some(before), Some(after)) if before != after => {
                    let all = matches!(after.as_str(), Some(".*" | "^.*$"));
                    self.set_change(
                        if all { SetChange::Wider } else { SetChange::Other },
                        &kind,
                        format!("from {before} to {after}"),
                    );
                }
                _ => {}
            }
        }
    }
}

/// None for any.
type Types = Option<BTreeSet<String>>;

fn types(schema: &Value) -> Types {
    let mut types: BTreeSet<String> = match schema.get("type")? {
        Value::String(name) => BTreeSet::from([name.clone()]),
        Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => return None,
    };
    if flag(schema, "nullable") {
        types.insert("null".to_owned());
    }
    Some(types)
}

fn dashed(field: &str) -> String {
    field.chars().flat_map(|c| c.is_uppercase().then_some('-').into_iter().chain(c.to_lowercase())).collect()
}

fn called(schema: &Value) -> String {
    reference(schema)
        .or_else(|| schema.get("title").and_then(Value::as_str))
        .map_or_else(|| schema.to_string(), str::to_owned)
}

/// Resolves references and merges `allOf`.
fn merged(document: &Document, schema: &Value, depth: usize) -> Value {
    let resolved = document.resolved(schema);
    let Value::Object(fields) = resolved else { return Value::Object(Map::new()) };
    let mut whole = fields.clone();
    let Some(Value::Array(parts)) = whole.remove("allOf") else { return Value::Object(whole) };
    for part in parts.iter().filter(|_| depth < MAX_HOPS) {
        let Value::Object(part) = merged(document, part, depth + 1) else { continue };
        for (name, value) in part {
            match (whole.get_mut(&name), value) {
                (Some(Value::Object(known)), Value::Object(more)) if name == "properties" => known.extend(more),
                (Some(Value::Array(known)), Value::Array(more)) if name == "required" => known.extend(more),
                (Some(_), _) => {}
                (None, value) => drop(whole.insert(name, value)),
            }
        }
    }
    Value::Object(whole)
}

/// Maximum nesting of `allOf`.
const MAX_HOPS: usize = 8;
