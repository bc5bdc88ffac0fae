//! Decides which JSON Schemas may be turned into a grammar.
//!
//! llama.cpp converts a schema by unbounded recursion, silently ignores keywords that it cannot express, and searches
//! rules for left recursion in exponential time. So a schema is admitted only if the grammar enforces every keyword
//! that constrains the document, and if the schema with each `$ref` expanded stays within bounds that keep the
//! construction of the grammar within milliseconds.

mod keywords;

use serde_json::{Map, Value};

use keywords::Kind;

/// Maximum bytes of the schema as JSON.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum nesting of schemas, references followed.
const MAX_DEPTH: usize = 32;
/// Maximum number of schemas, references expanded. Bounds the search for left recursion.
const MAX_NODES: usize = 1000;
/// Maximum number of properties; the grammar of n optional properties takes time of the order of n³.
const MAX_PROPERTIES: usize = 64;
/// Maximum bytes of a property's name; the grammar builder recurses over them.
const MAX_NAME: usize = 64;
/// Maximum number of values of all `enum` and `const` together.
const MAX_VALUES: usize = 500;
/// Beyond 2000 repetitions llama.cpp refuses a minimum and ignores a maximum.
const MAX_REPETITIONS: u64 = 2000;
/// Largest integer that a JSON number represents exactly.
const MAX_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Checks that the grammar can enforce the schema. The error names the place as a JSON pointer.
pub(crate) fn check(schema: &Value) -> Result<(), String> {
    check_all([schema]).map_err(|(_, why)| why)
}

/// Checks several schemas of one grammar against the shared bounds. The error has the index of the schema and the
/// reason.
pub(crate) fn check_all<'a>(schemas: impl IntoIterator<Item = &'a Value>) -> Result<(), (usize, String)> {
    let mut cost = SchemaCost::default();
    for (index, schema) in schemas.into_iter().enumerate() {
        cost.bytes = cost.bytes.saturating_add(serde_json::to_vec(schema).map_or(usize::MAX, |json| json.len()));
        if cost.bytes > MAX_BYTES {
            return Err((index, format!("the schema is larger than {MAX_BYTES} bytes")));
        }
        let mut check = Check { root: schema, cost, following: Vec::new() };
        check.node(schema, "#", 0).map_err(|why| (index, why))?;
        cost = check.cost;
    }
    Ok(())
}

/// Resources used by schemas so far.
#[derive(Clone, Copy, Default)]
struct SchemaCost {
    bytes: usize,
    nodes: usize,
    values: usize,
    repetitions: u64,
}

struct Check<'a> {
    root: &'a Value,
    cost: SchemaCost,
    /// References being expanded: a cycle ends at its first repetition, as it does in the grammar.
    following: Vec<&'a str>,
}

impl<'a> Check<'a> {
    fn node(&mut self, schema: &'a Value, path: &str, depth: usize) -> Result<(), String> {
        self.cost.nodes += 1;
        if self.cost.nodes > MAX_NODES {
            return Err(format!("the schema has more than {MAX_NODES} parts with every $ref written out"));
        }
        if depth > MAX_DEPTH {
            return Err(format!("{path}: nested deeper than {MAX_DEPTH}"));
        }
        let object = schema.as_object().ok_or_else(|| format!("{path}: must be an object"))?;
        let kinds = Kind::of(object, path)?;
        if let Some(word) =
            object.keys().find(|word| !keywords::is_annotation(word) && !kinds.iter().any(|kind| kind.enforces(word)))
        {
            return Err(format!("{path}: `{word}` cannot be enforced by this model"));
        }
        for kind in kinds {
            self.kind(kind, object, path, depth)?;
        }
        Ok(())
    }

    fn kind(&mut self, kind: Kind, object: &'a Map<String, Value>, path: &str, depth: usize) -> Result<(), String> {
        match kind {
            Kind::Reference => self.reference(object, path, depth),
            Kind::AnyOf(word) => self.list(object, word, path, depth),
            Kind::Values => self.values(object, path),
            Kind::Object => self.object(object, path, depth),
            Kind::Array => self.array(object, path, depth),
            Kind::String => self.repetitions(object, ["minLength", "maxLength"], path),
            Kind::Integer => integer_bounds(object, path),
            Kind::Plain => Ok(()),
        }
    }

    fn reference(&mut self, object: &'a Map<String, Value>, path: &str, depth: usize) -> Result<(), String> {
        let reference =
            object.get("$ref").and_then(Value::as_str).ok_or_else(|| format!("{path}: $ref must be a string"))?;
        let pointer = reference.strip_prefix('#').filter(|pointer| pointer.starts_with('/'));
        let plain = pointer
            .filter(|pointer| pointer.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-$.".contains(&byte)));
        let target = plain
            .filter(|pointer| pointer.split('/').all(|name| name.len() <= MAX_NAME))
            .and_then(|pointer| self.root.pointer(pointer))
            .ok_or_else(|| format!("{path}: $ref must name a place in this schema, such as #/$defs/name"))?;
        if self.following.contains(&reference) {
            return Ok(());
        }
        self.following.push(reference);
        let checked = self.node(target, reference, depth + 1);
        self.following.pop();
        checked
    }

    fn list(&mut self, object: &'a Map<String, Value>, word: &str, path: &str, depth: usize) -> Result<(), String> {
        let schemas = object.get(word).and_then(Value::as_array).filter(|schemas| !schemas.is_empty());
        let schemas = schemas.ok_or_else(|| format!("{path}: {word} must be a non-empty array"))?;
        schemas
            .iter()
            .enumerate()
            .try_for_each(|(index, schema)| self.node(schema, &format!("{path}/{word}/{index}"), depth + 1))
    }

    fn values(&mut self, object: &Map<String, Value>, path: &str) -> Result<(), String> {
        self.cost.values += match object.get("enum") {
            Some(values) => values.as_array().map_or(0, Vec::len),
            None => 1,
        };
        match object.get("enum") {
            Some(values) if values.as_array().is_none_or(Vec::is_empty) => {
                Err(format!("{path}: enum must be a non-empty array"))
            }
            _ if self.cost.values > MAX_VALUES => {
                Err(format!("{path}: more than {MAX_VALUES} values of enum and const"))
            }
            _ => Ok(()),
        }
    }

    fn object(&mut self, object: &'a Map<String, Value>, path: &str, depth: usize) -> Result<(), String> {
        let none = Map::new();
        let properties = match object.get("properties") {
            None => None,
            Some(value) => Some(value.as_object().ok_or_else(|| format!("{path}: properties must be an object"))?),
        };
        if properties.unwrap_or(&none).len() > MAX_PROPERTIES {
            return Err(format!("{path}: more than {MAX_PROPERTIES} properties"));
        }
        let additional = object.get("additionalProperties");
        let open = additional.is_some_and(|additional| additional != &Value::Bool(false));
        for (name, schema) in properties.into_iter().flatten() {
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if name.len() > MAX_NAME || (open && !plain) {
                return Err(format!(
                    "{path}: a property's name has at most {MAX_NAME} bytes, and beside additionalProperties only letters, digits and _"
                ));
            }
            self.node(schema, &format!("{path}/properties/{name}"), depth + 1)?;
        }
        if let Some(schema) = additional.filter(|additional| !additional.is_boolean()) {
            self.node(schema, &format!("{path}/additionalProperties"), depth + 1)?;
        }
        let required = object.get("required").map_or(Some(&[][..]), |names| names.as_array().map(Vec::as_slice));
        let required = required.ok_or_else(|| format!("{path}: required must be an array"))?;
        match required
            .iter()
            .find(|name| name.as_str().is_none_or(|name| !properties.unwrap_or(&none).contains_key(name)))
        {
            Some(name) => Err(format!("{path}: required {name} is not among the properties")),
            None => Ok(()),
        }
    }

    fn array(&mut self, object: &'a Map<String, Value>, path: &str, depth: usize) -> Result<(), String> {
        if let Some(items) = object.get("items") {
            self.node(items, &format!("{path}/items"), depth + 1)?;
        }
        self.repetitions(object, ["minItems", "maxItems"], path)
    }

    fn repetitions(&mut self, object: &Map<String, Value>, words: [&str; 2], path: &str) -> Result<(), String> {
        let mut bounds = [0, u64::MAX];
        for (bound, word) in bounds.iter_mut().zip(words) {
            let Some(value) = object.get(word) else { continue };
            let count = value.as_u64().filter(|count| *count <= MAX_REPETITIONS);
            *bound =
                count.ok_or_else(|| format!("{path}: {word} must be an integer between 0 and {MAX_REPETITIONS}"))?;
            self.cost.repetitions += *bound;
        }
        let [min, max] = bounds;
        if min > max {
            return Err(format!("{path}: {} is above {}", words[0], words[1]));
        }
        if self.cost.repetitions > 2 * MAX_REPETITIONS {
            return Err(format!("the lengths and numbers of items add up to more than {}", 2 * MAX_REPETITIONS));
        }
        Ok(())
    }
}

fn integer_bounds(object: &Map<String, Value>, path: &str) -> Result<(), String> {
    let bound = |inclusive: &str, exclusive: &str, none: f64| match (object.get(inclusive), object.get(exclusive)) {
        (None, None) => Ok(none),
        (Some(value), None) | (None, Some(value)) => {
            let number = value.as_f64().filter(|number| number.abs() <= MAX_INTEGER);
            number.ok_or_else(|| format!("{path}: {inclusive} and {exclusive} must be numbers within ±2^53"))
        }
        (Some(_), Some(_)) => Err(format!("{path}: give either {inclusive} or {exclusive}")),
    };
    let least = bound("minimum", "exclusiveMinimum", f64::MIN)?;
    let most = bound("maximum", "exclusiveMaximum", f64::MAX)?;
    let least = if object.contains_key("exclusiveMinimum") { least.floor() + 1.0 } else { least.ceil() };
    let most = if object.contains_key("exclusiveMaximum") { most.ceil() - 1.0 } else { most.floor() };
    if least > most { Err(format!("{path}: no integer lies between the bounds")) } else { Ok(()) }
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
