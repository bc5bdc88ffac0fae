//! Digests of all cases: numbers that move need a new version.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::cases::cases;
use super::run;
use crate::{Engine, FamilyEngines};

/// Digits of a number that count.
const DIGITS: usize = 12;

#[derive(Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Golden {
    version: String,
    digest: String,
}

/// Fails if the outputs of an engine changed and its version did not; `write` records them.
pub fn golden_digests_hold(family: &'static FamilyEngines, folder: &Path, write: bool) {
    let path = folder.join("golden.toml");
    let known: BTreeMap<String, Golden> = match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        Err(_) => BTreeMap::new(),
    };
    let golden = |engine: &'static Engine| {
        let golden = Golden { version: engine.version.to_owned(), digest: digest(family, engine, folder) };
        (engine.id.to_owned(), golden)
    };
    let found: BTreeMap<String, Golden> = family.engines().iter().map(golden).collect();
    let moved = found.iter().filter_map(|(id, now)| {
        let before = known.get(id).filter(|before| before.version == now.version)?;
        (before.digest != now.digest).then(|| format!("{id}: outputs changed and the version is still {}", now.version))
    });
    let moved: Vec<String> = moved.collect();
    if write {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(&path, toml::to_string(&found).unwrap()).unwrap();
        return;
    }
    assert!(moved.is_empty(), "{}", moved.join("\n"));
    assert!(found == known, "{} is not of these engines and versions: set MUSTER_WRITE_GOLDEN=1", path.display());
}

/// First 16 digits of SHA-256 over the outputs of example, vector and cases.
fn digest(family: &'static FamilyEngines, engine: &'static Engine, folder: &Path) -> String {
    let vector = family.vector(engine).map(|vector| vector.input.clone());
    let inputs =
        [engine.example()].into_iter().chain(vector).chain(cases(engine, folder).into_iter().map(|case| case.input));
    let mut hash = Sha256::new();
    for input in inputs {
        let outcome = match run(engine, input) {
            Ok(output) => rounded(output),
            // The text of a message may change.
            Err(failure) => serde_json::to_value(failure).unwrap()["failure"].clone(),
        };
        hash.update(canonical(&outcome));
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            format!("{float:.*e}", DIGITS - 1).parse::<f64>().unwrap_or(float).into()
        }
        Value::Array(items) => items.into_iter().map(rounded).collect(),
        Value::Object(members) => members.into_iter().map(|(name, item)| (name, rounded(item))).collect(),
        other => other,
    }
}

/// JSON with sorted members, whichever map serde_json uses.
fn canonical(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let sorted: BTreeMap<&String, String> =
                members.iter().map(|(name, item)| (name, canonical(item))).collect();
            let members: Vec<String> = sorted.iter().map(|(name, item)| format!("{name:?}:{item}")).collect();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_thirteenth_digit_does_not_count() {
        let text = |value| canonical(&rounded(value));
        assert_eq!(text(json!({ "b": 0.123456789012, "a": [1] })), text(json!({ "a": [1], "b": 0.1234567890121 })));
        assert_ne!(text(json!(0.12345678901)), text(json!(0.12345678902)));
    }
}
