//! What a sealed record contains.

use std::collections::{BTreeMap, BTreeSet};

use muster_core::Millis;
use muster_medical::input::Previous;
use serde::{Deserialize, Serialize};

/// Most turns of a conversation; of a longer one the oldest are dropped. What was recognised in them stays.
const MAX_TURNS: usize = 100;
/// Most bytes of the texts of a conversation.
const MAX_BYTES: usize = 512 << 10;
/// Most concepts of a list; the lexicon has fewer.
const MAX_CONCEPTS: usize = 1_000;

/// One message and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Time of the answer.
    pub at: Millis,
    /// Identifier of the request.
    pub request_id: String,
    /// The message.
    pub message: String,
    /// The text of the answer.
    pub response: String,
    /// Level of care of the answer; `None` where nothing was assessed.
    pub level: Option<String>,
    /// Hash of the data that it followed from.
    pub ruleset: String,
}

/// What the messages of a conversation said so far. It only grows, so that a later message cannot lower the level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownFacts {
    /// Present concepts, and whether they came on suddenly.
    pub present: BTreeMap<String, bool>,
    /// Denied concepts.
    pub absent: BTreeSet<String>,
    /// Lowest and highest value by field.
    pub values: BTreeMap<String, (f64, f64)>,
}

impl KnownFacts {
    /// Adds what another message said. A concept that is present once is not denied.
    pub fn join(&mut self, other: Self) {
        for (concept, sudden) in other.present {
            if self.present.len() < MAX_CONCEPTS || self.present.contains_key(&concept) {
                *self.present.entry(concept).or_default() |= sudden;
            }
        }
        self.absent.extend(other.absent.into_iter().take(MAX_CONCEPTS.saturating_sub(self.absent.len())));
        self.absent.retain(|concept| !self.present.contains_key(concept));
        for (field, (low, high)) in other.values {
            let joined = self.values.entry(field).or_insert((low, high));
            *joined = (joined.0.min(low), joined.1.max(high));
        }
    }
}

impl From<KnownFacts> for Previous {
    fn from(known: KnownFacts) -> Self {
        let mut values = Vec::new();
        for (field, (low, high)) in known.values {
            if low < high {
                values.push((field.clone(), high));
            }
            values.push((field, low));
        }
        Self { present: known.present.into_iter().collect(), absent: known.absent.into_iter().collect(), values }
    }
}

/// The content of a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) known: KnownFacts,
    pub(super) turns: Vec<Turn>,
    /// Turns that were dropped.
    pub(super) dropped: u32,
}

impl Content {
    pub(super) fn add(&mut self, turn: Turn, known: KnownFacts) {
        self.known.join(known);
        self.turns.push(turn);
        let bytes = |turns: &[Turn]| turns.iter().map(|turn| turn.message.len() + turn.response.len()).sum::<usize>();
        while self.turns.len() > 1 && (self.turns.len() > MAX_TURNS || bytes(&self.turns) > MAX_BYTES) {
            self.turns.remove(0);
            self.dropped += 1;
        }
    }
}
