//! The description of the HTTP interface, as a reader sees it.

use serde_json::Value;

use super::client::Client;

/// Returns the served document, its references to shared responses replaced by these.
pub async fn openapi(client: &Client) -> Value {
    let got = client.get("/openapi.json").await;
    assert_eq!(got.status, 200, "{}", got.text);
    resolved(got.json())
}

/// Replaces references to shared responses.
pub fn resolved(mut document: Value) -> Value {
    let shared = document["components"]["responses"].clone();
    let operations = document["paths"].as_object_mut().unwrap().values_mut();
    for operation in operations.flat_map(|item| item.as_object_mut().unwrap().values_mut()) {
        for response in operation["responses"].as_object_mut().unwrap().values_mut() {
            let name = response["$ref"].as_str().and_then(|target| target.strip_prefix("#/components/responses/"));
            if let Some(found) = name.map(|name| shared[name].clone()) {
                assert!(found.is_object(), "{response} refers to nothing");
                *response = found;
            }
        }
    }
    document
}
