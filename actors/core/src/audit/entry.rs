//! What is logged of an action.

use muster_store::{Op, Record, StoreError, Tree};
use muster_tlog::{Leaf, Outcome, Salt, canonical, commitment, fingerprint};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::AuditRecord;
use crate::Millis;
use crate::ids::{IdKind, new_id};

/// Bounds of the texts of an entry, in bytes of JSON. Together with the other members they keep a leaf below its bound.
const MAX_ACTOR: usize = 200;
const MAX_ACTION: usize = 160;
const MAX_RESOURCE: usize = 700;
const MAX_VIA: usize = 100;
const MAX_APPROVAL: usize = 64;
const MAX_REQUEST: usize = 258;
/// Depth at which details become text.
const MAX_DEPTH: u8 = 24;
/// The largest integer that every reader of JSON reads alike.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// An entry of the audit log. Never contains a secret, a prompt, a memory or clinical text; all but the details are
/// identifiers, because they stay when the details are erased.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    /// `aud_…`; sorts by time.
    pub id: String,
    /// Time of the action.
    pub at: Millis,
    /// `usr_…`, `key_…`, `dev_…` or `system`.
    pub actor: String,
    /// What acted for the actor: `cli`, `import`, an agent.
    pub via: Option<String>,
    /// Name of the action, such as `refresh_reuse_detected`.
    pub action: String,
    /// Identifier of the resource that the action affected.
    pub resource: String,
    /// How the action ended.
    pub outcome: Outcome,
    /// Approval under which it was done.
    pub approval: Option<String>,
    /// Request by which it was done.
    pub request: Option<String>,
    /// Further details of the action; null if there are none or they were erased.
    pub details: Value,
    /// Hash of what the record now allows.
    pub after: Option<String>,
}

impl AuditEntry {
    /// Creates an entry for an action of the principal `actor`, who may have been deleted since.
    pub fn new(at: Millis, actor: &str, action: &str, resource: &str, details: Value) -> Self {
        Self {
            id: new_id(IdKind::Audit),
            at,
            actor: actor.to_owned(),
            via: None,
            action: action.to_owned(),
            resource: resource.to_owned(),
            outcome: Outcome::Ok,
            approval: None,
            request: None,
            details,
            after: None,
        }
    }

    /// Says how the action ended.
    #[must_use]
    pub fn with_outcome(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }

    /// Names what acted for the actor.
    #[must_use]
    pub fn via(self, via: &str) -> Self {
        Self { via: Some(via.to_owned()), ..self }
    }

    /// Names the approval under which it was done.
    #[must_use]
    pub fn approval(self, id: &str) -> Self {
        Self { approval: Some(id.to_owned()), ..self }
    }

    /// Names the request by which it was done.
    #[must_use]
    pub fn request(self, id: &str) -> Self {
        Self { request: Some(id.to_owned()), ..self }
    }

    /// Adds the hash of what the changed record now allows: roles, scopes, keys, and nothing personal. Whoever has the
    /// record can compare it with its newest entry.
    #[must_use]
    pub fn after(self, allows: &Value) -> Self {
        // A value without a canonical form is one that no comparison finds equal.
        Self { after: Some(fingerprint(&readable(allows)).unwrap_or_default()), ..self }
    }

    /// Returns the write to add to the batch of the action. The store numbers the entry as it applies the batch.
    ///
    /// # Errors
    ///
    /// Fails if the entry is too large to be stored.
    pub fn op(&self) -> Result<Op, StoreError> {
        Ok(Op::Append { tree: Tree::AuditLog, rec: self.record()?.encode()? })
    }

    /// Returns the record that is appended: the canonical leaf, and beside it what can be erased.
    ///
    /// # Errors
    ///
    /// Fails if the entry has no canonical form, or there are no random bytes for its salt.
    pub fn record(&self) -> Result<AuditRecord, StoreError> {
        let mut leaf = Leaf::new(
            bounded(&self.id, MAX_APPROVAL),
            self.at.rfc3339(),
            bounded(&self.actor, MAX_ACTOR),
            bounded(&self.action, MAX_ACTION),
            bounded(&self.resource, MAX_RESOURCE),
            self.outcome,
        );
        leaf.via = self.via.as_deref().map(|via| bounded(via, MAX_VIA));
        leaf.approval = self.approval.as_deref().map(|approval| bounded(approval, MAX_APPROVAL));
        leaf.request = self.request.as_deref().map(|request| bounded(request, MAX_REQUEST));
        leaf.after.clone_from(&self.after);
        let invalid = |error: &dyn std::fmt::Display| StoreError::BadRequest(format!("an audit entry: {error}"));
        let (mut salt, mut details) = (None, None);
        if !self.details.is_null() {
            let kept = readable(&self.details);
            let fresh = fresh_salt()?;
            leaf.details = Some(commitment(Salt::new(fresh), &kept).map_err(|error| invalid(&error))?);
            (salt, details) = (Some(fresh), Some(kept.to_string()));
        }
        let bytes = leaf.to_bytes().map_err(|error| invalid(&error))?;
        let leaf = String::from_utf8(bytes).map_err(|error| invalid(&error))?;
        Ok(AuditRecord { leaf, salt, details })
    }
}

fn fresh_salt() -> Result<[u8; Salt::LEN], StoreError> {
    let mut salt = [0; Salt::LEN];
    getrandom::fill(&mut salt)
        .map_err(|error| StoreError::Io(format!("no random bytes for an audit entry: {error}")))?;
    Ok(salt)
}

/// Shortens a text whose JSON is longer than `most` bytes: its beginning, and the hash of the whole.
fn bounded(text: &str, most: usize) -> String {
    let length = |text: &str| serde_json::to_string(text).map_or(usize::MAX, |json| json.len());
    if length(text) <= most {
        return text.to_owned();
    }
    let hash: String = Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let mut end = most.min(text.len());
    loop {
        let beginning = text.get(..end).unwrap_or_default();
        let shortened = format!("{beginning}…{hash}");
        if end == 0 || (text.is_char_boundary(end) && length(&shortened) <= most) {
            return shortened;
        }
        end -= 1;
    }
}

/// Returns the value with a canonical form that is nearest to `value`: integers that not every reader reads alike, and
/// what is nested too deeply, become texts.
fn readable(value: &Value) -> Value {
    if canonical::to_canonical(value).is_ok() { value.clone() } else { adapted(value, MAX_DEPTH) }
}

fn adapted(value: &Value, depth: u8) -> Value {
    let Some(deeper) = depth.checked_sub(1) else { return Value::String(value.to_string()) };
    match value {
        Value::Number(number) => {
            let magnitude = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
            let exact = magnitude.is_none_or(|magnitude| magnitude <= MAX_INTEGER);
            if exact { value.clone() } else { Value::String(number.to_string()) }
        }
        Value::Array(items) => items.iter().map(|item| adapted(item, deeper)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), adapted(member, deeper))).collect()
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use muster_tlog::MAX_LEAF;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_read_back_from_its_record() {
        let entry = AuditEntry::new(Millis(1_795_300_000_000), "usr_1", "login", "ses_1", json!({ "b": 1, "a": [2] }))
            .with_outcome(Outcome::Refused)
            .via("cli")
            .approval("apr_1")
            .request("req_1")
            .after(&json!({ "roles": ["viewer"] }));
        let record = entry.record().unwrap();
        assert_eq!(record.entry().unwrap(), entry);
        let Op::Append { tree, rec } = entry.op().unwrap() else { panic!("no append") };
        assert_eq!(tree, Tree::AuditLog);
        assert_eq!(AuditRecord::decode(&rec).unwrap().entry().unwrap(), entry);
        // The salt makes two commitments to the same details different.
        assert_ne!(record.leaf().unwrap().details, entry.record().unwrap().leaf().unwrap().details);
        assert_eq!(record.erased().entry().unwrap(), AuditEntry { details: Value::Null, ..entry });
        assert_eq!(record.erased().leaf, record.leaf);
    }

    #[test]
    fn the_hash_of_what_a_record_allows_is_that_of_its_canonical_form() {
        let entry =
            |allows: &Value| AuditEntry::new(Millis(0), "a", "b", "c", Value::Null).after(allows).after.unwrap();
        // printf '{"roles":["viewer"],"v":1}' | openssl dgst -sha256 -binary | basenc --base64url
        let expected = "7Yew-18K4X8KXpJ5uKRCh-oVxLMOBYzbsmYpAFOV6nY";
        assert_eq!(entry(&json!({ "v": 1, "roles": ["viewer"] })), expected);
    }

    #[test]
    fn what_cannot_be_read_alike_everywhere_becomes_text() {
        let mut deep = json!("bottom");
        for _ in 0..60 {
            deep = json!([deep]);
        }
        let details = json!({ "nanos": u64::MAX, "less": -9_007_199_254_740_993_i64, "fits": 9_007_199_254_740_991_u64, "deep": deep });
        let record = AuditEntry::new(Millis(0), "a", "b", "c", details).record().unwrap();
        let read = record.entry().unwrap().details;
        assert_eq!(read["nanos"], "18446744073709551615");
        assert_eq!(read["less"], "-9007199254740993");
        assert_eq!(read["fits"], 9_007_199_254_740_991_u64);
        assert!(read["deep"].to_string().contains("bottom"));
    }

    #[test]
    fn the_longest_texts_fit_into_a_leaf_and_differ_if_they_differed() {
        for text in ["x", "\u{1}", "\"", "ä", "🌍"] {
            let long = text.repeat(3_000);
            let entry = |resource: &str| {
                AuditEntry::new(Millis(u64::MAX), &long, &long, resource, json!("d"))
                    .via(&long)
                    .approval(&long)
                    .request(&long)
                    .after(&json!(1))
            };
            let record = entry(&long).record().unwrap();
            assert!(record.leaf.len() <= MAX_LEAF);
            let other = entry(&format!("{long}!")).record().unwrap();
            assert_ne!(record.entry().unwrap().resource, other.entry().unwrap().resource);
        }
        let fits = "/api/engines/q62/run";
        assert_eq!(
            AuditEntry::new(Millis(0), "a", "b", fits, Value::Null).record().unwrap().entry().unwrap().resource,
            fits
        );
    }
}
