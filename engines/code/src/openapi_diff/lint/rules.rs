//! Rules beyond the schema, under the names of Redocly's linter.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::document::{Document, entries, items, reference, shape, template};
use super::Finding;

pub(super) const NAMES: [&str; 11] = [
    "struct",
    "no-unresolved-refs",
    "no-identical-paths",
    "no-path-trailing-slash",
    "no-unused-components",
    "operation-2xx-response",
    "operation-operationId",
    "operation-operationId-unique",
    "operation-summary",
    "path-parameters-defined",
    "security-defined",
];
/// Maximum depth at which references are searched.
const MAX_DEPTH: usize = 128;

pub(super) fn check(document: &Document, findings: &mut Vec<Finding>) {
    let mut references = Vec::new();
    collect(&document.root, String::new(), 0, &mut references);
    let mut check = Check { document, findings };
    check.references(&references);
    check.paths();
    check.operations();
    check.components(&references);
}

/// Every reference with its place.
fn collect<'v>(value: &'v Value, place: String, depth: usize, found: &mut Vec<(String, &'v str)>) {
    if depth > MAX_DEPTH {
        return;
    }
    if let Some(reference) = reference(value) {
        found.push((place.clone(), reference));
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, format!("{place}/{}", escaped(name)), depth + 1, found);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| collect(value, format!("{place}/{at}"), depth + 1, found));
        }
        _ => {}
    }
}

/// A step of a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

struct Check<'d, 'f> {
    document: &'d Document,
    findings: &'f mut Vec<Finding>,
}

impl<'d> Check<'d, '_> {
    fn report(&mut self, path: String, rule: &'static str, severity: &'static str, message: impl Into<String>) {
        self.findings.push(Finding { path, rule, severity, message: message.into() });
    }

    fn references(&mut self, references: &[(String, &str)]) {
        for (place, reference) in references {
            if reference.starts_with('#') && self.document.target(reference).is_none() {
                self.report(place.clone(), "no-unresolved-refs", "error", format!("{reference} does not exist"));
            }
        }
    }

    fn paths(&mut self) {
        let mut shapes: BTreeMap<String, &str> = BTreeMap::new();
        for (path, _) in self.document.paths() {
            let place = format!("/paths/{}", escaped(path));
            if path.len() > 1 && path.ends_with('/') {
                self.report(place.clone(), "no-path-trailing-slash", "warning", "ends in a slash, which clients omit");
            }
            if let Some(other) = shapes.insert(shape(path), path) {
                self.report(place, "no-identical-paths", "error", format!("is the same path as {other}"));
            }
        }
    }

    fn operations(&mut self) {
        let document = self.document;
        let mut ids: BTreeMap<&'d str, String> = BTreeMap::new();
        let schemes: BTreeSet<&String> = document
            .root
            .get("components")
            .into_iter()
            .flat_map(|c| entries(c, "securitySchemes"))
            .map(|(name, _)| name)
            .collect();
        for (path, method, item, operation) in document.operations() {
            let place = format!("/paths/{}/{method}", escaped(path));
            match operation.get("operationId").and_then(Value::as_str) {
                None => self.report(
                    place.clone(),
                    "operation-operationId",
                    "warning",
                    "has no operationId: generated clients need one",
                ),
                Some(id) => {
                    if let Some(other) = ids.insert(id, place.clone()) {
                        self.report(
                            place.clone(),
                            "operation-operationId-unique",
                            "error",
                            format!("{id} is the operationId of {other} too"),
                        );
                    }
                }
            }
            if operation.get("summary").is_none() && operation.get("description").is_none() {
                self.report(
                    place.clone(),
                    "operation-summary",
                    "warning",
                    "has neither summary nor description: add a summary",
                );
            }
            let good = |status: &String| {
                status.starts_with('2') || status.starts_with('3') || status == "default" || status == "101"
            };
            if !entries(operation, "responses").any(|(status, _)| good(status)) {
                self.report(place.clone(), "operation-2xx-response", "warning", "has no successful response");
            }
            self.parameters(&place, path, item, operation);
            let secured = if operation.get("security").is_some() { operation } else { &document.root };
            for name in items(secured, "security").filter_map(Value::as_object).flat_map(serde_json::Map::keys) {
                if !schemes.contains(name) {
                    self.report(
                        place.clone(),
                        "security-defined",
                        "error",
                        format!("{name} is not among the securitySchemes"),
                    );
                }
            }
        }
    }

    fn parameters(&mut self, place: &str, path: &str, item: &Value, operation: &Value) {
        let named = template(path);
        let declared: BTreeSet<String> = items(item, "parameters")
            .chain(items(operation, "parameters"))
            .map(|parameter| self.document.resolved(parameter))
            .filter(|parameter| parameter.get("in").is_some_and(|place| place == "path"))
            .filter_map(|parameter| parameter.get("name").and_then(Value::as_str).map(str::to_owned))
            .collect();
        for name in named.iter().filter(|name| !declared.contains(**name)) {
            self.report(
                place.to_owned(),
                "path-parameters-defined",
                "error",
                format!("{{{name}}} of the path is not declared as a parameter"),
            );
        }
        for name in declared.iter().filter(|name| !named.contains(&name.as_str())) {
            self.report(
                place.to_owned(),
                "path-parameters-defined",
                "error",
                format!("{name} is declared as a path parameter but is not in the path"),
            );
        }
    }

    fn components(&mut self, references: &[(String, &str)]) {
        let document = self.document;
        for (kind, components) in entries(&document.root, "components").filter(|(kind, _)| *kind != "securitySchemes") {
            for name in components.as_object().into_iter().flat_map(serde_json::Map::keys) {
                let place = format!("/components/{}/{}", escaped(kind), escaped(name));
                let within = |pointer: &str| pointer == place || pointer.starts_with(&format!("{place}/"));
                let used =
                    references.iter().any(|(from, to)| to.strip_prefix('#').is_some_and(&within) && !within(from));
                if !used {
                    self.report(place.clone(), "no-unused-components", "warning", "is not referenced");
                }
            }
        }
    }
}
