//! An entry as it is sent: every check of a field, told at once.

use muster_memory as rules;
use muster_memory::{MAX_KEY, MAX_NAME, MAX_TAGS, MAX_TTL, MAX_VALUE, NewEntry, Unfit};
use utoipa::ToSchema;

use crate::body::{Fields, FromJson};

/// An entry to be stored.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "the description reads its fields")]
pub struct StoreBody {
    /// 1 to 512 bytes, any text without control characters. A known key of the namespace is replaced.
    #[schema(min_length = 1, max_length = 512)]
    pub key: String,
    /// Any text, at most 256 KiB.
    #[schema(max_length = 262_144)]
    pub value: String,
    /// At most 64, each 1 to 128 bytes without control characters and commas.
    #[schema(max_items = 64)]
    pub tags: Option<Vec<String>>,
    /// Seconds from now on, at most ten years; null or left out: for ever.
    #[schema(minimum = 1, maximum = 315_360_000)]
    pub ttl_seconds: Option<u64>,
    /// 1 to 128 of `A-Z a-z 0-9 . _ : / -`. One that the settings name as shared is everybody's who has the scope
    /// `memory`; all others are the caller's own.
    #[schema(min_length = 1, max_length = 128, default = "default")]
    pub namespace: Option<String>,
    /// What it is a part of, such as a conversation: its neighbours there help to find it. 1 to 128 bytes. Where it is
    /// left out, the tags `conversation:…`, `conv:…`, `thread:…` and `session:…` name it.
    #[schema(min_length = 1, max_length = 128)]
    pub thread: Option<String>,
    /// 0 to 1: what matters more ranks a little higher.
    #[schema(minimum = 0, maximum = 1)]
    pub importance: Option<f32>,
    /// ISO 639-1, such as `de`; told from the text where it is left out.
    #[schema(pattern = "^[a-z]{2}$")]
    pub language: Option<String>,
}

/// An entry that was sent.
#[derive(Debug)]
pub struct SentEntry(pub(super) NewEntry);

impl FromJson for SentEntry {
    fn read(fields: &mut Fields<'_>) -> Self {
        let key = fit(fields, "key", unfit_key);
        let value =
            fit(fields, "value", |text| (text.len() > MAX_VALUE).then(|| format!("must be at most {MAX_VALUE} bytes")));
        let namespace = fit(fields, "namespace", unfit_namespace);
        let language = fit(fields, "language", |code| {
            (!is_language(code)).then(|| "must be an ISO 639-1 code, such as `de`".to_owned())
        });
        Self(NewEntry {
            key: fields.require("key", key).unwrap_or_default(),
            value: fields.require("value", value).unwrap_or_default(),
            tags: tags(fields, "tags"),
            ttl_seconds: fields
                .integer("ttl_seconds", 1..=i64::try_from(MAX_TTL).unwrap_or(i64::MAX))
                .and_then(|seconds| u64::try_from(seconds).ok()),
            namespace,
            thread: fit(fields, "thread", unfit_thread),
            importance: fields.number("importance", 0.0..=1.0).map(|number| number as f32),
            language,
        })
    }
}

/// A text, and what keeps it from being what it is to be.
pub(super) fn fit(fields: &mut Fields<'_>, name: &str, unfit: impl Fn(&str) -> Option<String>) -> Option<String> {
    let text = fields.string(name)?;
    if let Some(why) = unfit(&text) {
        fields.fail(name, why);
    }
    Some(text)
}

/// What keeps a text from being a key, a tag or a thread of at most `most` bytes.
fn unfit(text: &str, most: usize) -> Option<String> {
    Some(match rules::unfit(text, most)? {
        Unfit::Length => format!("must be 1 to {most} bytes"),
        Unfit::Control => "must have no control characters".to_owned(),
    })
}

/// What keeps a text from being a key.
pub(super) fn unfit_key(text: &str) -> Option<String> {
    unfit(text, MAX_KEY)
}

/// What keeps a text from being a tag.
pub(super) fn unfit_tag(text: &str) -> Option<String> {
    let comma = || text.contains(',').then(|| "must have no comma: filters put it between tags".to_owned());
    unfit(text, MAX_NAME).or_else(comma)
}

/// What keeps a text from being a thread.
pub(super) fn unfit_thread(text: &str) -> Option<String> {
    unfit(text, MAX_NAME)
}

/// What keeps a text from being an owner.
pub(super) fn unfit_owner(text: &str) -> Option<String> {
    unfit(text, MAX_NAME)
}

/// What keeps a text from being a namespace.
pub(super) fn unfit_namespace(text: &str) -> Option<String> {
    (!rules::is_namespace(text)).then(|| format!("must be {}", rules::NAMESPACE))
}

fn is_language(code: &str) -> bool {
    code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Tags, as an array.
pub(super) fn tags(fields: &mut Fields<'_>, name: &str) -> Vec<String> {
    let Some(value) = fields.value(name) else { return Vec::new() };
    let Some(items) = value.as_array() else {
        fields.fail(name, "must be an array of strings");
        return Vec::new();
    };
    if items.len() > MAX_TAGS {
        fields.fail(name, format!("must be at most {MAX_TAGS}"));
        return Vec::new();
    }
    let mut tags = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        match item.as_str().map(|tag| (tag, unfit_tag(tag))) {
            Some((tag, None)) => tags.push(tag.to_owned()),
            Some((_, Some(why))) => fields.fail(&format!("{name}.{at}"), why),
            None => fields.fail(&format!("{name}.{at}"), "must be a string"),
        }
    }
    tags
}
