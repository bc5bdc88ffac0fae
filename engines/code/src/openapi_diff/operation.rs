//! Compares paths, operations, parameters, bodies and responses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::changes::Changes;
use super::document::{Document, METHODS, entries, flag, items, shape, template};
use super::schema::{Direction, Schemas};

pub(super) fn compare(old: &Document, new: &Document, changes: &mut Changes) {
    let by_shape = |document| Document::paths(document).map(|(path, item)| (shape(path), (path, item))).collect();
    let (before, after): (BTreeMap<String, _>, BTreeMap<String, _>) = (by_shape(old), by_shape(new));
    for (shape, (path, item)) in &before {
        match after.get(shape) {
            Some((now, new_item)) => {
                let mut pair = Pair { old, new, schemas: Schemas::new(old, new), changes };
                pair.item((path, item), (now, new_item));
            }
            None => changes.breaking(path, "path-removed", "the path was removed"),
        }
    }
    for (_, (path, _)) in after.iter().filter(|(shape, _)| !before.contains_key(*shape)) {
        changes.compatible(path, "path-added", "the path is new");
    }
}

struct Pair<'d, 'c> {
    old: &'d Document,
    new: &'d Document,
    schemas: Schemas<'d>,
    changes: &'c mut Changes,
}

impl<'d> Pair<'d, '_> {
    fn item(&mut self, (path, old): (&str, &'d Value), (now, new): (&str, &'d Value)) {
        for method in METHODS {
            let place = format!("{path} {method}");
            match (old.get(method), new.get(method)) {
                (Some(_), None) => self.changes.breaking(&place, "operation-removed", "the operation was removed"),
                (None, Some(_)) => self.changes.compatible(&place, "operation-added", "the operation is new"),
                (Some(before), Some(after)) => {
                    if flag(after, "deprecated") && !flag(before, "deprecated") {
                        self.changes.compatible(&place, "operation-deprecated", "the operation is deprecated");
                    }
                    let parameters = parameters(self.old, path, old, before);
                    self.parameters(&place, &parameters, &self::parameters(self.new, now, new, after));
                    self.body(&place, before.get("requestBody"), after.get("requestBody"));
                    self.responses(&place, before, after);
                    self.security(&place, before, after);
                }
                (None, None) => {}
            }
        }
    }

    fn parameters(&mut self, place: &str, old: &Parameters<'d>, new: &Parameters<'d>) {
        for (key, (name, before)) in old {
            let place = format!("{place} {} parameter {name}", key.0);
            let Some((_, after)) = new.get(key) else {
                self.changes.breaking(
                    &place,
                    "request-parameter-removed",
                    "the server no longer reads what clients send",
                );
                continue;
            };
            match (flag(before, "required"), flag(after, "required")) {
                (false, true) => {
                    self.changes.breaking(&place, "request-parameter-became-required", "clients that leave it out fail")
                }
                (true, false) => self.changes.compatible(&place, "request-parameter-became-optional", "it is optional"),
                _ => {}
            }
            if let (Some(before), Some(after)) = (before.get("schema"), after.get("schema")) {
                self.schemas.compare(before, after, Direction::Request, &place, self.changes);
            }
            self.content(&place, before, after, Direction::Request);
        }
        for (key, (name, after)) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
            let place = format!("{place} {} parameter {name}", key.0);
            if flag(after, "required") || key.0 == "path" {
                self.changes.breaking(&place, "new-required-request-parameter", "clients do not send it");
            } else {
                self.changes.compatible(&place, "new-optional-request-parameter", "it is optional");
            }
        }
    }

    fn body(&mut self, place: &str, old: Option<&'d Value>, new: Option<&'d Value>) {
        let place = format!("{place} request");
        let required = |body: &Value| flag(body, "required");
        match (old.map(|body| self.old.resolved(body)), new.map(|body| self.new.resolved(body))) {
            (None, Some(body)) if required(body) => {
                self.changes.breaking(&place, "required-request-body-added", "clients send no body");
            }
            (None, Some(_)) => self.changes.compatible(&place, "optional-request-body-added", "a body may be sent"),
            (Some(_), None) => {
                self.changes.breaking(&place, "request-body-removed", "the server no longer reads the body")
            }
            (Some(before), Some(after)) => {
                match (required(before), required(after)) {
                    (false, true) => {
                        self.changes.breaking(&place, "request-body-became-required", "clients without one fail")
                    }
                    (true, false) => self.changes.compatible(&place, "request-body-became-optional", "it is optional"),
                    _ => {}
                }
                self.content(&place, before, after, Direction::Request);
            }
            (None, None) => {}
        }
    }

    fn content(&mut self, place: &str, old: &'d Value, new: &'d Value, direction: Direction) {
        let side = direction.name();
        for (media, before) in entries(old, "content") {
            let place = format!("{place} {media}");
            match new.get("content").and_then(|content| content.get(media)) {
                None => {
                    let kind = format!("{side}-media-type-removed");
                    self.changes.breaking(&place, &kind, "clients that use this media type fail");
                }
                Some(after) => {
                    if let (Some(before), Some(after)) = (before.get("schema"), after.get("schema")) {
                        self.schemas.compare(before, after, direction, &place, self.changes);
                    }
                }
            }
        }
        for (media, _) in
            entries(new, "content").filter(|(media, _)| old.get("content").is_none_or(|c| c.get(*media).is_none()))
        {
            self.changes.compatible(
                &format!("{place} {media}"),
                &format!("{side}-media-type-added"),
                "the media type is new",
            );
        }
    }

    fn responses(&mut self, place: &str, old: &'d Value, new: &'d Value) {
        let good = |status: &str| status.starts_with('2') || status == "default";
        for (status, before) in entries(old, "responses") {
            let place = format!("{place} response {status}");
            let Some(after) = new.get("responses").and_then(|responses| responses.get(status)) else {
                if good(status) {
                    self.changes.breaking(&place, "response-success-status-removed", "clients wait for it");
                } else {
                    self.changes.compatible(&place, "response-non-success-status-removed", "it was removed");
                }
                continue;
            };
            let (before, after) = (self.old.resolved(before), self.new.resolved(after));
            self.headers(&place, before, after);
            self.content(&place, before, after, Direction::Response);
        }
        let added = entries(new, "responses")
            .filter(|(status, _)| old.get("responses").is_none_or(|r| r.get(*status).is_none()));
        for (status, _) in added {
            self.changes.compatible(
                &format!("{place} response {status}"),
                "response-status-added",
                "the status is new",
            );
        }
    }

    fn headers(&mut self, place: &str, old: &'d Value, new: &'d Value) {
        for (name, before) in entries(old, "headers") {
            let place = format!("{place} header {name}");
            let before = self.old.resolved(before);
            let Some(after) = new.get("headers").and_then(|headers| headers.get(name)) else {
                let kind = if flag(before, "required") {
                    "required-response-header-removed"
                } else {
                    "optional-response-header-removed"
                };
                self.changes.breaking(&place, kind, "clients may read it");
                continue;
            };
            let after = self.new.resolved(after);
            if flag(before, "required") && !flag(after, "required") {
                self.changes.breaking(&place, "response-header-became-optional", "clients count on it");
            }
            if let (Some(before), Some(after)) = (before.get("schema"), after.get("schema")) {
                self.schemas.compare(before, after, Direction::Response, &place, self.changes);
            }
        }
    }

    /// Each former alternative must still be sufficient.
    fn security(&mut self, place: &str, old: &Value, new: &Value) {
        let of = |document: &'d Document, operation: &Value| -> BTreeSet<String> {
            let own = if operation.get("security").is_some() { operation } else { &document.root };
            items(own, "security").map(Value::to_string).collect()
        };
        let (before, after) = (of(self.old, old), of(self.new, new));
        let open = |set: &BTreeSet<String>| set.is_empty() || set.contains("{}");
        if open(&before) && !open(&after) {
            self.changes.breaking(place, "security-added", "clients send no credentials");
        } else if !open(&after) {
            for gone in before.difference(&after) {
                self.changes.breaking(place, "security-alternative-removed", format!("{gone} is no longer sufficient"));
            }
        } else if !open(&before) {
            self.changes.compatible(place, "security-removed", "no credentials are needed");
        }
    }
}

/// By location and name; path parameters by position.
type Parameters<'d> = BTreeMap<(String, String), (String, &'d Value)>;

fn parameters<'d>(document: &'d Document, path: &str, item: &'d Value, operation: &'d Value) -> Parameters<'d> {
    let names = template(path);
    let mut found = BTreeMap::new();
    // The operation's own replace those of its path.
    for parameter in items(item, "parameters").chain(items(operation, "parameters")) {
        let parameter = document.resolved(parameter);
        let text = |field: &str| parameter.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (place, name) = (text("in"), text("name"));
        let key = match names.iter().position(|known| *known == name) {
            Some(at) if place == "path" => at.to_string(),
            // The names of headers are the same in any case.
            _ if place == "header" => name.to_lowercase(),
            _ => name.clone(),
        };
        found.insert((place, key), (name, parameter));
    }
    found
}
