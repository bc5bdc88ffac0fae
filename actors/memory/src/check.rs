//! Checks of requests. All failed checks are returned at once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use muster_retrieval::Language;
use serde_json::{Value, json};

use super::messages::{ListParams, NewEntry, Precondition, SearchParams};
use super::names::{InvalidName, MAX_KEY, MAX_NAME, NAMESPACE, invalid_name, is_namespace};
use super::record::{Owner, Place};
use super::settings::MemorySettings;
use super::state::Draft;
use super::thread;
use muster_core::{Error, FieldError, Kind};
use muster_identity::By;

/// Maximum length of a value, in bytes.
pub const MAX_VALUE: usize = 256 << 10;
/// Maximum number of tags of an entry or a filter.
pub const MAX_TAGS: usize = 64;
/// Maximum time to live, in seconds: ten years.
pub const MAX_TTL: u64 = 10 * 365 * 86_400;
/// Maximum length of a language tag, in bytes.
const MAX_LANGUAGE: usize = 35;
/// Maximum length of a query, in bytes.
pub const MAX_QUERY: usize = 64 << 10;
/// Maximum number of characters of an invalid input that an error repeats.
const MAX_INPUT: usize = 64;

/// Collects failed checks under the path `at` of the request, such as `body` or `query`.
struct Checks<'a> {
    at: &'a [&'a str],
    failed: Vec<FieldError>,
}

impl Checks<'_> {
    fn fail(&mut self, field: &str, msg: impl Into<String>, input: Value) {
        let loc = self.at.iter().copied().chain(field.split('.')).map(str::to_owned).collect();
        self.failed.push(FieldError { kind: "value_error", loc, msg: msg.into(), input });
    }

    /// Checks that a text has 1 to `max` bytes without control characters.
    fn name(&mut self, field: &str, text: &str, max: usize) {
        let msg = match invalid_name(text, max) {
            None => return,
            Some(InvalidName::Length) => format!("must be 1 to {max} bytes, not {}", text.len()),
            Some(InvalidName::Control) => "must hold no control characters".to_owned(),
        };
        self.fail(field, msg, shortened(text));
    }

    fn tags(&mut self, field: &str, tags: &[String]) {
        if tags.len() > MAX_TAGS {
            self.fail(field, format!("must be at most {MAX_TAGS}, not {}", tags.len()), json!(tags.len()));
        }
        for (n, tag) in tags.iter().enumerate().take(MAX_TAGS) {
            self.name(&format!("{field}.{n}"), tag, MAX_NAME);
        }
    }

    fn namespace(&mut self, namespace: Option<&str>) {
        if let Some(wrong) = namespace.filter(|name| !is_namespace(name)) {
            self.fail("namespace", format!("must be {NAMESPACE}"), shortened(wrong));
        }
    }

    fn share(&mut self, field: &str, share: Option<f32>) {
        if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
            self.fail(field, "must be from 0 to 1", json!(share));
        }
    }

    fn finish(self) -> Result<(), Error> {
        let Some(first) = self.failed.first() else { return Ok(()) };
        let message = format!("{}: {}", first.loc.get(1..).unwrap_or_default().join("."), first.msg);
        Err(Error { fields: self.failed, ..Error::new(Kind::Invalid, message) })
    }
}

fn shortened(text: &str) -> Value {
    text.chars().take(MAX_INPUT).collect::<String>().into()
}

/// Checks an entry, and resolves its space and thread. `at` is its path in the request, such as `["body"]`.
///
/// # Errors
/// `Invalid` with every failed check.
pub(super) fn draft(
    new: NewEntry,
    at: &[&str],
    by: &By,
    settings: &MemorySettings,
    precondition: Precondition,
) -> Result<Draft, Error> {
    let mut checks = Checks { at, failed: Vec::new() };
    checks.name("key", &new.key, MAX_KEY);
    if new.value.len() > MAX_VALUE {
        let msg = format!("may have {MAX_VALUE} bytes, not {}", new.value.len());
        checks.fail("value", msg, json!(new.value.len()));
    }
    checks.tags("tags", &new.tags);
    if let Some(ttl) = new.ttl_seconds.filter(|ttl| !(1..=MAX_TTL).contains(ttl)) {
        checks.fail(
            "ttl_seconds",
            format!("must be from 1 to {MAX_TTL}; omit it to keep the entry for ever"),
            json!(ttl),
        );
    }
    checks.namespace(new.namespace.as_deref());
    if let Some(thread) = &new.thread {
        checks.name("thread", thread, MAX_NAME);
    }
    checks.share("importance", new.importance);
    if let Some(language) = &new.language
        && (language.len() > MAX_LANGUAGE || Language::from_tag(language).is_none())
    {
        checks.fail("language", "must be a language tag (BCP 47), such as en or pt-BR", shortened(language));
    }
    checks.finish()?;
    let mut seen = HashSet::new();
    let tags: Vec<_> = new.tags.into_iter().filter(|tag| seen.insert(tag.clone())).collect();
    let thread = new.thread.or_else(|| thread::of_tags(&tags));
    Ok(Draft {
        place: Place::new(settings.space(by, new.namespace.as_deref()), &new.key),
        value: Arc::from(new.value),
        tags,
        ttl: new.ttl_seconds.map(Duration::from_secs),
        thread,
        importance: new.importance,
        language: new.language.map(|language| language.to_ascii_lowercase()),
        precondition,
    })
}

/// Checks the id of an owner.
///
/// # Errors
/// `Invalid`: it is not the id of a principal.
pub(super) fn owner(owner: &Owner) -> Result<(), Error> {
    let mut checks = Checks { at: &["path"], failed: Vec::new() };
    checks.name("owner", owner.as_str(), MAX_NAME);
    checks.finish()
}

/// Checks a search.
///
/// # Errors
/// `Invalid` with every failed check.
pub(super) fn search(params: &SearchParams) -> Result<(), Error> {
    let mut checks = Checks { at: &["query"], failed: Vec::new() };
    let query = &params.query;
    if query.text.trim().is_empty() {
        checks.fail("q", "must not be empty: to list entries without a query, use the list", shortened(&query.text));
    } else if query.text.len() > MAX_QUERY {
        checks.fail("q", format!("may have {MAX_QUERY} bytes, not {}", query.text.len()), json!(query.text.len()));
    }
    checks.tags("tags", &query.tags_all);
    checks.tags("tags_any", &query.tags_any);
    filters(&mut checks, params.namespace.as_deref(), query.key_prefix.as_deref(), query.thread.as_deref());
    checks.share("min_score", query.min_score);
    checks.share("mmr", query.mmr);
    if query.half_life.is_some_and(|half_life| half_life.is_zero()) {
        checks.fail("half_life_days", "must be greater than 0", json!(0));
    }
    checks.finish()
}

/// Checks a list.
///
/// # Errors
/// `Invalid` with every failed check.
pub(super) fn list(params: &ListParams) -> Result<(), Error> {
    let mut checks = Checks { at: &["query"], failed: Vec::new() };
    checks.tags("tags", &params.tags);
    filters(&mut checks, params.namespace.as_deref(), params.key_prefix.as_deref(), params.thread.as_deref());
    checks.finish()
}

fn filters(checks: &mut Checks<'_>, namespace: Option<&str>, key_prefix: Option<&str>, thread: Option<&str>) {
    checks.namespace(namespace);
    if let Some(prefix) = key_prefix {
        checks.name("key_prefix", prefix, MAX_KEY);
    }
    if let Some(thread) = thread {
        checks.name("thread", thread, MAX_NAME);
    }
}

#[cfg(test)]
mod tests {
    use muster_retrieval::Query;

    use super::*;

    fn checked(new: NewEntry) -> Result<Draft, Error> {
        draft(new, &["body"], &By::System, &MemorySettings::default(), Precondition::None)
    }

    fn good() -> NewEntry {
        NewEntry { key: "k".to_owned(), value: "v".to_owned(), ..NewEntry::default() }
    }

    #[test]
    fn all_failed_checks_are_returned_at_once() {
        let error = checked(NewEntry {
            key: "a\nb".to_owned(),
            value: "x".repeat(MAX_VALUE + 1),
            tags: vec![String::new(); 10_000],
            ttl_seconds: Some(0),
            namespace: Some("no spaces".to_owned()),
            thread: Some("t".repeat(129)),
            importance: Some(f32::NAN),
            language: Some("e".to_owned()),
        })
        .unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
        let fields: Vec<&str> = error.fields.iter().map(|field| field.loc[1].as_str()).collect();
        // The number of tags, and each of the first 64 of them.
        assert_eq!(fields.iter().filter(|field| **field == "tags").count(), 65);
        for field in ["key", "value", "ttl_seconds", "namespace", "thread", "importance", "language"] {
            assert!(fields.contains(&field), "{field}");
        }
    }

    #[test]
    fn bounds_are_inclusive_and_in_bytes() {
        for (key, fits) in [(512, true), (513, false), (0, false), (1 << 20, false)] {
            assert_eq!(checked(NewEntry { key: "k".repeat(key), ..good() }).is_ok(), fits, "{key}");
        }
        for (ttl, fits) in [(1, true), (MAX_TTL, true), (MAX_TTL + 1, false), (u64::MAX, false)] {
            assert_eq!(checked(NewEntry { ttl_seconds: Some(ttl), ..good() }).is_ok(), fits, "{ttl}");
        }
        let full = NewEntry { value: "x".repeat(MAX_VALUE), importance: Some(1.0), ..good() };
        assert!(checked(full).is_ok());
        // Two bytes each: bytes are counted, not characters.
        assert!(checked(NewEntry { key: "é".repeat(257), ..good() }).is_err());
    }

    #[test]
    fn owner_ids_with_control_characters_are_rejected() {
        assert!(owner(&Owner::new("key_1")).is_ok() && owner(&Owner::shared()).is_ok());
        for bad in ["", "key_1\0default", "key_1\n"] {
            assert_eq!(owner(&Owner::new(bad)).unwrap_err().fields[0].loc, ["path", "owner"], "{bad:?}");
        }
    }

    #[test]
    fn duplicate_tags_are_removed() {
        let tags = ["b", "a", "b"].map(str::to_owned).to_vec();
        assert_eq!(checked(NewEntry { tags, ..good() }).unwrap().tags, ["b", "a"]);
    }

    #[test]
    fn errors_repeat_only_a_part_of_the_input() {
        let error = checked(NewEntry { key: "k".repeat(1 << 20), ..good() }).unwrap_err();
        assert_eq!(error.fields[0].input, json!("k".repeat(MAX_INPUT)));
    }

    #[test]
    fn queries_are_bounded_and_not_empty() {
        let check = |text: String| {
            let query = Query { text: text.into(), ..Query::default() };
            search(&SearchParams { query, ..SearchParams::default() })
        };
        assert_eq!(check(" ".to_owned()).unwrap_err().fields[0].loc, ["query", "q"]);
        assert!(check("q".repeat(MAX_QUERY + 1)).is_err());
        assert!(check("\" OR 1=1 -- (a+)+$ \u{0}".to_owned()).is_ok(), "no character is an operator");
    }
}
