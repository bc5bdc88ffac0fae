//! The description of the feed as a judge of frames: an independent validator of JSON Schema compares each.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Value, json};

/// The validators of the messages, by name.
fn validators() -> &'static BTreeMap<String, Validator> {
    static VALIDATORS: OnceLock<BTreeMap<String, Validator>> = OnceLock::new();
    VALIDATORS.get_or_init(|| {
        let described = muster::asyncapi::description();
        let messages = described["components"]["messages"].as_object().unwrap();
        let compiled = messages.iter().map(|(name, message)| {
            // References lead into the document's own components.
            let mut schema = message["payload"].clone();
            schema["components"] = json!({ "schemas": described["components"]["schemas"] });
            (name.clone(), jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{name}: {error}")))
        });
        compiled.collect()
    })
}

/// Returns how a frame differs from the message of this name.
pub fn differs(name: &str, frame: &Value) -> Option<String> {
    let Some(validator) = validators().get(name) else { return Some(format!("no message `{name}` is described")) };
    let errors: Vec<String> =
        validator.iter_errors(frame).map(|error| format!("{}: {error}", error.instance_path())).collect();
    (!errors.is_empty()).then(|| format!("{name}: {}: {frame}", errors.join("; ")))
}

/// Returns how a publication differs from the description of its event.
pub fn event_differs(frame: &Value) -> Option<String> {
    differs(frame["ev"].as_str()?, frame)
}
