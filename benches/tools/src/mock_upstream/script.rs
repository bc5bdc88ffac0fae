//! What a request asks of the upstream, found without parsing its JSON: the upstream must cost little.

use std::time::Duration;

use hyper::StatusCode;
use memchr::{memchr, memmem};

/// How a request is answered, by its model name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Script {
    Normal,
    Fail(StatusCode),
    Cut(usize),
    Hang,
    Slow(Duration),
}

impl Script {
    pub fn of(body: &[u8]) -> Self {
        let model = model(body);
        let number = |prefix| model.strip_prefix(prefix).and_then(|rest| rest.parse::<u64>().ok());
        if model == "hang" {
            return Self::Hang;
        }
        if let Some(status) = number("fail-") {
            let status = u16::try_from(status).ok().and_then(|status| StatusCode::from_u16(status).ok());
            return Self::Fail(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
        }
        if let Some(tokens) = number("cut-") {
            return Self::Cut(tokens as usize);
        }
        number("slow-").map_or(Self::Normal, |millis| Self::Slow(Duration::from_millis(millis)))
    }
}

pub fn contains(body: &[u8], what: &[u8]) -> bool {
    memmem::find(body, what).is_some()
}

/// Returns whether a member with this quoted name is `true` anywhere in the body.
pub fn is_true(body: &[u8], quoted_name: &[u8]) -> bool {
    memmem::find_iter(body, quoted_name).any(|at| {
        let after = &body[at + quoted_name.len()..];
        let value = after.iter().position(|byte| !matches!(byte, b' ' | b':')).unwrap_or(after.len());
        after[value..].starts_with(b"true")
    })
}

fn model(body: &[u8]) -> &str {
    let name = b"\"model\"";
    let found = memmem::find(body, name).and_then(|at| {
        let after = &body[at + name.len()..];
        let value = &after[memchr(b'"', after)? + 1..];
        std::str::from_utf8(&value[..memchr(b'"', value)?]).ok()
    });
    found.unwrap_or_default()
}
