//! CycloneDX 1.5 in JSON.

use serde_json::{Map, Value, json};

use super::{Bill, Component, Licence, TOOL, put, uuid};

pub(super) fn write(bill: &Bill<'_>) -> Value {
    let root = format!("subject:{}@{}", bill.subject.name, bill.subject.version);
    let purl = |at: &usize| bill.components.get(*at).map(|component| component.purl.as_str());
    let mut metadata = json!({
        "tools": { "components": [{ "type": "application", "name": TOOL.0, "version": TOOL.1 }] },
        "component": {
            "type": "application", "bom-ref": root, "name": bill.subject.name, "version": bill.subject.version,
        },
    });
    if let Some(time) = &bill.timestamp {
        put(&mut metadata, "timestamp", json!(time));
    }
    let own = json!({ "ref": root, "dependsOn": bill.tops.iter().filter_map(purl).collect::<Vec<_>>() });
    let others = bill.components.iter().filter(|component| component.input.depends_on.is_some()).map(|component| {
        json!({ "ref": component.purl, "dependsOn": component.needs.iter().filter_map(purl).collect::<Vec<_>>() })
    });
    let mut document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": metadata,
        "components": bill.components.iter().map(component).collect::<Vec<_>>(),
        "dependencies": std::iter::once(own).chain(others).collect::<Vec<_>>(),
    });
    let serial = format!("urn:uuid:{}", uuid(&document));
    put(&mut document, "serialNumber", json!(serial));
    document
}

fn component(component: &Component<'_>) -> Value {
    let input = component.input;
    let mut object = Map::new();
    let mut set = |name: &str, value: Value| object.insert(name.to_owned(), value);
    set("type", json!("library"));
    set("bom-ref", json!(component.purl));
    set("name", json!(input.name));
    set("version", json!(input.version));
    set("purl", json!(component.purl));
    if let Some(supplier) = input.supplier.as_ref().filter(|supplier| !supplier.is_empty()) {
        set("supplier", json!({ "name": supplier }));
    }
    if let Some(hash) = &input.sha256 {
        set("hashes", json!([{ "alg": "SHA-256", "content": hash.to_lowercase() }]));
    }
    match &component.licence {
        Licence::None => {}
        Licence::Id(id) => drop(set("licenses", json!([{ "license": { "id": id } }]))),
        Licence::Expression(text) => drop(set("licenses", json!([{ "expression": text }]))),
        Licence::Named(name) => drop(set("licenses", json!([{ "license": { "name": name } }]))),
    }
    Value::Object(object)
}
