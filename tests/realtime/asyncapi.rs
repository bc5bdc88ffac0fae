//! The description of the feed is correct: its examples are sent, and its tables are those of the contract.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::world::server;
use crate::support::socket::{Socket, admin_token};

/// Whether a value has the fields and types of an example; texts and numbers may differ.
fn same_shape(example: &Value, found: &Value) -> bool {
    match (example, found) {
        (Value::Object(example), Value::Object(found)) => {
            let names = |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<BTreeSet<_>>();
            names(example) == names(found) && example.iter().all(|(name, value)| same_shape(value, &found[name]))
        }
        (Value::Array(example), Value::Array(found)) => {
            example.is_empty() || found.iter().all(|item| same_shape(&example[0], item))
        }
        (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)) => true,
        (example, found) => example == found,
    }
}

#[test]
fn shapes_differ_by_fields_and_types() {
    let example = json!({ "a": 1, "b": { "c": "x" }, "d": false });
    assert!(same_shape(&example, &json!({ "a": 2, "b": { "c": "y" }, "d": false })));
    for other in [
        json!({ "a": "2", "b": { "c": "y" }, "d": false }),
        json!({ "a": 2, "b": {}, "d": false }),
        json!({ "a": 2, "b": { "c": "y" }, "d": false, "e": 1 }),
        json!({ "a": 2, "b": { "c": "y" }, "d": true }),
    ] {
        assert!(!same_shape(&example, &other), "{other}");
    }
}

#[tokio::test]
async fn every_described_request_gets_the_described_reply() {
    let muster = server("");
    let described = muster.client().without_key().get("/asyncapi.json").await;
    assert_eq!(described.status, 200);
    let described = described.json();
    assert_eq!(described["asyncapi"], "3.0.0");
    let messages = described["components"]["messages"].as_object().unwrap();
    let token = admin_token(&muster).await;
    let mut socket = Socket::page(&muster).await;
    let mut sent = 0;
    for name in ["connect", "unsubscribe", "subscribe", "refresh", "history", "presence", "command"] {
        let message = &messages[name];
        for example in message["examples"].as_array().unwrap() {
            let text = example["payload"].to_string().replace("<token>", &token);
            let mut request: Value = serde_json::from_str(&text).unwrap();
            request.as_object_mut().unwrap().remove("id");
            let mut reply = socket.request(request).await;
            reply["id"] = message["x-reply"]["id"].clone();
            // The list of presence is empty in the example.
            assert!(same_shape(&message["x-reply"], &reply), "{name}: {reply}");
            sent += 1;
        }
    }
    let requests = messages.values().filter(|message| message["x-reply"].is_object());
    let examples: usize = requests.map(|message| message["examples"].as_array().unwrap().len()).sum();
    assert_eq!(sent, examples, "a new request is sent here too");
}

#[tokio::test]
async fn its_references_lead_somewhere_and_its_tables_are_the_contracts() {
    let muster = server("");
    let described = muster.client().without_key().get("/asyncapi.json").await.json();
    fn visit_strings(value: &Value, visit: &mut impl FnMut(&str)) {
        match value {
            Value::Object(object) => {
                if let Some(Value::String(target)) = object.get("$ref") {
                    visit(target);
                }
                object.values().for_each(|below| visit_strings(below, visit));
            }
            Value::Array(items) => items.iter().for_each(|below| visit_strings(below, visit)),
            _ => {}
        }
    }
    let mut references = 0;
    visit_strings(&described, &mut |target| {
        references += 1;
        assert!(described.pointer(target.strip_prefix('#').unwrap()).is_some(), "{target}");
    });
    assert!(references > 30);
    let addresses: BTreeSet<_> =
        described["channels"].as_object().unwrap().values().map(|it| it["address"].as_str().unwrap()).collect();
    for channel in [
        "incidents",
        "incidents:{id}",
        "incidents.restricted",
        "alerts",
        "devices",
        "devices:{id}",
        "devices:{id}:telemetry",
        "firmware",
        "user:{id}",
        "system",
        "agents",
        "agents:metrics",
        "agents:{id}",
        "tasks:{id}",
        "tasks:{id}:logs",
        "/api/v1/realtime",
        "/api/q62/dashboard/agents",
    ] {
        assert!(addresses.contains(channel), "{channel}");
    }
    let codes = described["x-close-codes"].as_array().unwrap();
    let codes: BTreeSet<_> = codes.iter().map(|close| close["code"].as_u64().unwrap()).collect();
    for code in [4001, 4003, 4004, 4009, 4010, 4011, 4100, 4101, 4102, 4103, 4200, 4201, 4202, 4203] {
        assert!(codes.contains(&code), "{code}");
    }
}
