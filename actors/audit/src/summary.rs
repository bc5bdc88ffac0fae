//! What a tile's 256 entries are about, so that a search reads only entries that may match. Pure.

use std::borrow::Cow;
use std::collections::BTreeSet;

use muster_core::Millis;
use muster_core::audit::{AuditRecord, Outcome};
use muster_store::{Record, StoreError, Tree};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::AuditFilter;

/// First byte of the keys of summaries. Tiles begin with their level.
const PREFIX: u8 = 0x80;
/// Bytes of the Bloom filter: 13 bits for each of 600 names, of which one in 500 that is not there seems to be.
const BLOOM: usize = 1024;
/// Bits that a name sets.
const BITS: usize = 6;
/// Actions that are listed; of entries with more, every action is assumed.
const MOST_ACTIONS: usize = 64;

/// The summary of the 256 entries of a tile of level 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Summary {
    first_at: Millis,
    last_at: Millis,
    /// Empty if there are more than [`MOST_ACTIONS`].
    actions: BTreeSet<String>,
    outcomes: u8,
    bloom: Vec<u8>,
}

/// What is summarized of a leaf.
#[derive(Deserialize)]
struct Summarized<'a> {
    #[serde(borrow)]
    at: Cow<'a, str>,
    #[serde(borrow)]
    actor: Cow<'a, str>,
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow)]
    resource: Cow<'a, str>,
    outcome: Outcome,
    #[serde(borrow, default)]
    approval: Option<Cow<'a, str>>,
}

impl Record for Summary {
    const TREE: Tree = Tree::AuditTiles;
    const SCHEMA: u16 = 1;
}

impl Summary {
    /// Summarizes entries.
    ///
    /// # Errors
    /// A leaf cannot be parsed.
    pub(crate) fn of<'a>(records: impl IntoIterator<Item = &'a AuditRecord>) -> Result<Self, StoreError> {
        let mut summary = Self {
            first_at: Millis(u64::MAX),
            last_at: Millis(0),
            actions: BTreeSet::new(),
            outcomes: 0,
            bloom: vec![0; BLOOM],
        };
        let mut actions = BTreeSet::new();
        let corrupt = |why: &str| StoreError::Corrupt(format!("an entry of the audit log: {why}"));
        for record in records {
            let leaf: Summarized<'_> =
                serde_json::from_str(&record.leaf).map_err(|error| corrupt(&error.to_string()))?;
            let at = Millis::parse_rfc3339(&leaf.at).ok_or_else(|| corrupt("its time is no time"))?;
            summary.first_at = summary.first_at.min(at);
            summary.last_at = summary.last_at.max(at);
            summary.outcomes |= outcome_bit(leaf.outcome);
            if actions.len() <= MOST_ACTIONS {
                actions.insert(leaf.action);
            }
            summary.insert('a', &leaf.actor);
            summary.insert('r', &leaf.resource);
            if let Some(approval) = &leaf.approval {
                summary.insert('p', approval);
            }
        }
        if actions.len() <= MOST_ACTIONS {
            summary.actions = actions.into_iter().map(Cow::into_owned).collect();
        }
        Ok(summary)
    }

    /// Returns the key under which the summary of a tile is stored.
    pub(crate) fn key(index: u64) -> Vec<u8> {
        [&[PREFIX][..], &index.to_be_bytes()].concat()
    }

    /// Returns the prefix of all keys.
    pub(crate) fn prefix() -> Vec<u8> {
        vec![PREFIX]
    }

    /// Returns the index of the tile whose summary has this key.
    pub(crate) fn index(key: &[u8]) -> Option<u64> {
        let (prefix, index) = key.split_first()?;
        (*prefix == PREFIX).then(|| index.try_into().ok().map(u64::from_be_bytes)).flatten()
    }

    /// Returns whether an entry of the tile may meet the conditions.
    pub(crate) fn may_match(&self, filter: &AuditFilter) -> bool {
        let action = |wanted: &String| {
            self.actions.is_empty() || self.actions.iter().any(|action| crate::search::is_action(wanted, action))
        };
        filter.from.is_none_or(|from| self.last_at >= from)
            && filter.to.is_none_or(|to| self.first_at < to)
            && filter.outcome.is_none_or(|outcome| self.outcomes & outcome_bit(outcome) != 0)
            && filter.action.as_ref().is_none_or(action)
            && filter.actor.as_ref().is_none_or(|actor| self.contains('a', actor))
            && filter.resource.as_ref().is_none_or(|resource| self.contains('r', resource))
            && filter.approval.as_ref().is_none_or(|approval| self.contains('p', approval))
    }

    fn insert(&mut self, kind: char, name: &str) {
        for bit in bits(kind, name) {
            if let Some(byte) = self.bloom.get_mut(bit / 8) {
                *byte |= 1 << (bit % 8);
            }
        }
    }

    fn contains(&self, kind: char, name: &str) -> bool {
        bits(kind, name).all(|bit| self.bloom.get(bit / 8).is_some_and(|byte| byte & 1 << (bit % 8) != 0))
    }
}

/// The bits of a name: each of two bytes of its hash.
fn bits(kind: char, name: &str) -> impl Iterator<Item = usize> {
    let digest: [u8; 32] = Sha256::new().chain_update([kind as u8]).chain_update(name).finalize().into();
    let (pairs, _) = digest.as_chunks::<2>();
    let pairs: Vec<usize> = pairs.iter().take(BITS).map(|pair| usize::from(u16::from_be_bytes(*pair))).collect();
    pairs.into_iter().map(|number| number % (BLOOM * 8))
}

const fn outcome_bit(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Ok => 1,
        Outcome::Refused => 2,
        Outcome::Failed => 4,
    }
}

/// Decodes the summary of a tile, if it is intact.
pub(crate) fn decode(rec: &muster_store::Rec) -> Result<Summary, StoreError> {
    Summary::decode(rec)
}

#[cfg(test)]
mod tests {
    use muster_core::audit::AuditEntry;
    use serde_json::Value;

    use super::*;

    fn entry(number: u64) -> AuditEntry {
        let (actor, action) = (format!("usr_{}", number % 40), format!("task.{}", number % 3));
        AuditEntry::new(Millis(1_000 + number), &actor, &action, &format!("task \"{number}\""), Value::Null)
            .approval(&format!("apr_{number}"))
    }

    fn summary(entries: &[AuditEntry]) -> Summary {
        let records: Vec<_> = entries.iter().map(|entry| entry.record().unwrap()).collect();
        Summary::of(&records).unwrap()
    }

    #[test]
    fn what_is_there_is_found_and_most_of_what_is_not_is_ruled_out() {
        let entries: Vec<_> = (0..256).map(entry).collect();
        let summary = summary(&entries);
        assert_eq!(summary, decode(&summary.encode().unwrap()).unwrap());
        for entry in &entries {
            let filter = AuditFilter {
                actor: Some(entry.actor.clone()),
                action: Some(entry.action.clone()),
                resource: Some(entry.resource.clone()),
                approval: entry.approval.clone(),
                outcome: Some(Outcome::Ok),
                from: Some(entry.at),
                to: Some(Millis(entry.at.0 + 1)),
            };
            assert!(summary.may_match(&filter));
        }
        let ruled_out = |filter: AuditFilter| !summary.may_match(&filter);
        assert!(ruled_out(AuditFilter { outcome: Some(Outcome::Failed), ..AuditFilter::default() }));
        assert!(ruled_out(AuditFilter { action: Some("task.9".into()), ..AuditFilter::default() }));
        assert!(ruled_out(AuditFilter { action: Some("key.*".into()), ..AuditFilter::default() }));
        assert!(ruled_out(AuditFilter { from: Some(Millis(1_256)), ..AuditFilter::default() }));
        assert!(ruled_out(AuditFilter { to: Some(Millis(1_000)), ..AuditFilter::default() }));
        let strangers = 10_000;
        let seeming = (0..strangers)
            .filter(|n| summary.may_match(&AuditFilter { actor: Some(format!("key_{n}")), ..AuditFilter::default() }));
        // 552 names of 6 bits in 8,192 bits: (1 - e^(-6 * 552 / 8192))^6 = 0.14 %.
        assert!(seeming.count() < strangers / 200);
    }

    #[test]
    fn of_too_many_actions_none_is_ruled_out() {
        let entries: Vec<_> =
            (0..256).map(|n| AuditEntry::new(Millis(n), "a", &format!("act.{n}"), "r", Value::Null)).collect();
        let summary = summary(&entries);
        assert!(summary.may_match(&AuditFilter { action: Some("act.77".into()), ..AuditFilter::default() }));
        assert!(summary.encode().unwrap().bytes.len() < 1_100);
    }
}
