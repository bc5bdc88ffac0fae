//! The fields of a JSON Schema that are read, and what their names and descriptions call them.

use std::collections::BTreeMap;

use muster_kernel_words::tokens::{fold, words};
use serde_json::Value;

/// Fields of a schema, and levels of objects.
pub(super) const MAX_FIELDS: usize = 300;
const MAX_DEPTH: usize = 6;

/// What a field holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    Words(Vec<String>),
    Date,
    Moment,
    Clock,
    Email,
    Phone,
    Url,
    /// An object with latitude and longitude, under these names.
    Place(String, String),
    Many(Box<Kind>),
    /// Something that no rule reads.
    Other,
}

/// A field that is read.
#[derive(Debug, Clone)]
pub(super) struct Field {
    /// Names from the root.
    pub(super) path: Vec<String>,
    pub(super) kind: Kind,
    /// Whether each object on its way requires it.
    pub(super) required: bool,
    /// What it may be called, as folded words: its name, its title and its hint.
    pub(super) names: Vec<Vec<String>>,
    /// Folded words of its names and its description.
    pub(super) described: Vec<String>,
}

impl Field {
    /// The path with points between the names.
    pub(super) fn dotted(&self) -> String {
        self.path.join(".")
    }
}

/// Returns the fields of a schema in its order.
pub(super) fn fields(schema: &Value, hints: &BTreeMap<String, String>) -> Vec<Field> {
    let mut found = Vec::new();
    walk(schema, schema, (&[], true), hints, &mut found);
    found
}

fn walk(root: &Value, schema: &Value, at: (&[String], bool), hints: &BTreeMap<String, String>, found: &mut Vec<Field>) {
    let (path, needed) = at;
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        needed && names.into_iter().any(|required| required.as_str() == Some(name))
    };
    for (name, property) in properties {
        let property = resolved(root, property);
        let path: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
        if found.len() >= MAX_FIELDS || path.len() > MAX_DEPTH {
            return;
        }
        let required = required(name);
        let kind = kind(root, property, name);
        if kind == Kind::Other && property.get("properties").is_some() {
            walk(root, property, (&path, required), hints, found);
            continue;
        }
        let said = |member: &str| property.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        let hint = hints.get(&path.join(".")).or_else(|| hints.get(name)).cloned().unwrap_or_default();
        // A hint names the field in other words, with commas between them.
        let names = [spaced(name), said("title")].into_iter().chain(hint.split([',', ';', '|']).map(str::to_owned));
        let names: Vec<Vec<String>> = names.map(|name| folded(&name)).filter(|name| !name.is_empty()).collect();
        let mut described: Vec<String> = names.iter().flatten().cloned().collect();
        described.extend(folded(&said("description")));
        found.push(Field { path, kind, required, names, described });
    }
}

/// Follows one reference within the schema.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

fn kind(root: &Value, schema: &Value, name: &str) -> Kind {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let words: Option<Vec<String>> = values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        return words.filter(|words| !words.is_empty()).map_or(Kind::Other, Kind::Words);
    }
    let of_type = |wanted: &str| match schema.get("type") {
        Some(Value::String(name)) => name == wanted,
        // A type or null.
        Some(Value::Array(names)) => names.iter().any(|name| name.as_str() == Some(wanted)),
        _ => false,
    };
    let last = folded(&spaced(name)).last().cloned().unwrap_or_default();
    match schema.get("format").and_then(Value::as_str) {
        Some("date") => return Kind::Date,
        Some("date-time") => return Kind::Moment,
        Some("time") => return Kind::Clock,
        Some("email" | "idn-email") => return Kind::Email,
        Some("uri" | "iri" | "uri-reference") => return Kind::Url,
        _ => {}
    }
    if of_type("integer") {
        Kind::Integer
    } else if of_type("number") {
        Kind::Number
    } else if of_type("boolean") {
        Kind::Boolean
    } else if of_type("array") {
        let item = schema.get("items").map(|items| resolved(root, items));
        match item.map_or(Kind::Text, |item| kind_of_item(root, item, name)) {
            Kind::Other | Kind::Many(_) => Kind::Other,
            item => Kind::Many(Box::new(item)),
        }
    } else if of_type("string") {
        match last.as_str() {
            "email" | "mail" => Kind::Email,
            "phone" | "telephone" | "mobile" | "tel" | "telefon" | "telefono" | "handy" => Kind::Phone,
            "url" | "website" | "link" => Kind::Url,
            _ => Kind::Text,
        }
    } else {
        place(schema).unwrap_or(Kind::Other)
    }
}

fn kind_of_item(root: &Value, schema: &Value, name: &str) -> Kind {
    // An item of a list of lists is not read: no deeper call.
    if schema.get("items").is_some() { Kind::Other } else { kind(root, schema, name) }
}

/// An object of latitude and longitude.
fn place(schema: &Value) -> Option<Kind> {
    let names: Vec<&String> = schema.get("properties")?.as_object()?.keys().collect();
    let named =
        |words: &[&str]| names.iter().find(|name| words.contains(&fold(name).as_str())).map(|name| (*name).clone());
    let (lat, lon) = (named(&["lat", "latitude"])?, named(&["lon", "lng", "long", "longitude"])?);
    Some(Kind::Place(lat, lon))
}

/// A name in words: `peopleAffected` and `people_affected` as `people affected`.
fn spaced(name: &str) -> String {
    let mut out = String::new();
    let mut small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && small {
            out.push(' ');
        }
        small = letter.is_lowercase() || letter.is_ascii_digit();
        out.push(if matches!(letter, '_' | '-' | '.') { ' ' } else { letter });
    }
    out
}

/// The words of a text, folded.
pub(super) fn folded(text: &str) -> Vec<String> {
    words(text).map(|(_, word)| fold(word)).collect()
}
