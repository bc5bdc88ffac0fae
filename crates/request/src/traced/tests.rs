use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code, reason = "only traced")]
enum Mode {
    Forced,
    DownloadOnly,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code, reason = "only traced")]
enum Target {
    All,
    Group(String),
    Query(Stage),
}

#[derive(Deserialize, Default)]
#[serde(default)]
#[allow(dead_code, reason = "only traced")]
struct Stage {
    percent: u8,
    share: Option<f64>,
}

#[allow(dead_code, reason = "only traced")]
struct Time(String);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.ends_with('Z') { Ok(Self(text)) } else { Err(serde::de::Error::custom("no time")) }
    }
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "only traced")]
struct Policy {
    at: Option<Time>,
    times: BTreeMap<Mode, Time>,
    mode: Mode,
    target: Option<Target>,
    stages: Vec<Stage>,
    names: BTreeMap<String, u64>,
    free: Map<String, Value>,
    #[serde(default)]
    modes: Vec<Mode>,
    any: Option<Value>,
}

#[test]
fn a_schema_follows_from_what_a_type_reads() {
    let stage = |closed: Value| {
        let mut schema = json!({ "type": "object", "properties": {
            "percent": { "type": "integer", "format": "int32", "minimum": 0 },
            "share": { "type": ["number", "null"], "format": "double" } } });
        schema.as_object_mut().unwrap().extend(closed.as_object().unwrap().clone());
        schema
    };
    let closed = json!({ "additionalProperties": false });
    let mode = json!({ "type": "string", "enum": ["forced", "download_only"] });
    let schema = schema::<Policy>(Closed::Yes).unwrap();
    let properties = &schema["properties"];
    assert_eq!(properties["mode"], mode);
    assert_eq!(properties["modes"], json!({ "type": "array", "items": mode }));
    assert_eq!(properties["stages"], json!({ "type": "array", "items": stage(closed.clone()) }));
    assert_eq!(properties["names"]["additionalProperties"]["format"], "int64");
    assert_eq!(properties["free"], json!({ "type": "object", "additionalProperties": true }));
    assert_eq!(properties["any"], json!({}));
    let forms = &properties["target"]["oneOf"][0]["oneOf"];
    assert_eq!(forms[0], json!({ "type": "string", "enum": ["all"] }));
    assert_eq!(forms[1]["properties"], json!({ "group": { "type": "string" } }));
    assert_eq!(forms[2]["properties"]["query"], stage(closed));
    assert_eq!(properties["at"], json!({ "type": ["string", "null"], "format": "date-time" }));
    assert_eq!(properties["times"]["additionalProperties"], json!({ "type": "string", "format": "date-time" }));
    assert_eq!(schema["required"], json!(["times", "mode", "stages", "names", "free"]));
    assert_eq!(schema["additionalProperties"], false);
    assert!(super::schema::<Stage>(Closed::No).unwrap().get("additionalProperties").is_none());
    assert_eq!(super::schema::<Vec<Mode>>(Closed::Yes).unwrap()["items"], mode);
}

#[test]
fn a_type_that_takes_none_of_the_values_has_no_schema() {
    #[derive(Deserialize)]
    #[serde(tag = "type")]
    #[allow(dead_code, reason = "only traced")]
    enum Shape {
        Point { lon: f64 },
    }
    assert_eq!(schema::<Shape>(Closed::Yes), None);
}
