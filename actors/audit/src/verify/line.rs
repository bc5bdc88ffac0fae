//! One line of an export, and what it says of itself.

use muster_tlog::canonical::{parse_within, to_canonical};
use muster_tlog::{Hash, MAX_LEAF, Salt, commitment};
use serde_json::{Map, Value};

/// Longest line, in bytes.
pub(super) const MAX_LINE: usize = 4 << 20;
/// Depth of a line: its object, and details at their depth.
const MAX_DEPTH: u8 = 34;

/// What a line is.
pub(super) enum LineContent {
    /// An entry, by the hash of its leaf.
    Entry(Hash),
    /// The checkpoint at the end.
    Last(Map<String, Value>),
    /// No entry, for this reason.
    Altered(String),
}

/// Checks a line that must be the entry `seq`, or the last one.
pub(super) fn check(line: &[u8], seq: u64) -> LineContent {
    if line.len() > MAX_LINE {
        return LineContent::Altered(format!("the line is longer than {MAX_LINE} bytes"));
    }
    let line = match parse_within(line, MAX_LINE, MAX_DEPTH) {
        Ok(Value::Object(line)) => line,
        Ok(_) => return LineContent::Altered("the line is not unambiguous JSON: it is no object".to_owned()),
        Err(error) => return LineContent::Altered(format!("the line is not unambiguous JSON: {error}")),
    };
    if line.contains_key("checkpoint") {
        return LineContent::Last(line);
    }
    entry(&line, seq).map_or_else(LineContent::Altered, LineContent::Entry)
}

fn entry(line: &Map<String, Value>, seq: u64) -> Result<Hash, String> {
    let known = ["seq", "entry", "leaf", "salt", "details"];
    if let Some(name) = line.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("nothing vouches for the member {}", Value::from(name.as_str())));
    }
    let number = line.get("seq").unwrap_or(&Value::Null);
    if number.as_u64() != Some(seq) {
        return Err(format!("the line is numbered {number}: an entry is missing or was moved"));
    }
    let (Some(entry @ Value::Object(members)), Some(Value::String(leaf))) = (line.get("entry"), line.get("leaf"))
    else {
        return Err("the line has no entry or leaf".to_owned());
    };
    if leaf.len() > MAX_LEAF {
        return Err(format!("the leaf is longer than {MAX_LEAF} bytes"));
    }
    if to_canonical(entry).ok().as_ref() != Some(leaf) {
        return Err("the leaf is not the canonical form of the entry".to_owned());
    }
    let given = |name| line.get(name).filter(|value| !value.is_null());
    match (given("salt"), given("details")) {
        (None, None) => {}
        (Some(salt), Some(details)) => {
            let committed = members.get("details").filter(|details| !details.is_null());
            let committed = committed.ok_or("the entry has no commitment to details")?;
            let salt = salt.as_str().and_then(Salt::from_base64url).ok_or("the salt is not base64url of 16 bytes")?;
            if commitment(salt, details).ok().as_deref() != committed.as_str() {
                return Err("salt and details are not those of the entry's commitment".to_owned());
            }
        }
        _ => return Err("salt and details are erased together or not at all".to_owned()),
    }
    Ok(Hash::of_leaf(leaf.as_bytes()))
}
