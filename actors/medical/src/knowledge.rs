//! The knowledge base as the server holds it: loaded once, named by a hash of all its data, and tested while it runs.

use std::sync::atomic::{AtomicUsize, Ordering};

use muster_medical::base::{Base, Rule};
use muster_medical::data;
use muster_medical::input::Input;
use sha2::{Digest, Sha256};

/// Characters of the hash that name a rule set.
const SHOWN: usize = 16;

/// What is wrong with the knowledge base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect(pub String);

/// The knowledge base.
#[derive(Debug)]
pub struct Knowledge {
    base: &'static Base,
    ruleset: String,
    /// The rule whose examples are tested next.
    next: AtomicUsize,
}

impl Knowledge {
    /// Loads the compiled-in data.
    ///
    /// # Errors
    /// A record of the data is invalid.
    pub fn load() -> Result<Self, Defect> {
        let base = muster_medical::shared().map_err(|error| Defect(error.to_string()))?;
        Ok(Self { base, ruleset: hash(), next: AtomicUsize::new(0) })
    }

    /// The rules, protocols and words.
    #[must_use]
    pub const fn base(&self) -> &'static Base {
        self.base
    }

    /// The hash of the data, which names the rule set in every answer.
    #[must_use]
    pub fn ruleset(&self) -> &str {
        &self.ruleset
    }

    /// Tests the data's hash, the vectors of the scores and the examples of the next `count` red flags.
    ///
    /// # Errors
    /// The first of them that does not hold.
    pub fn test(&self, count: usize) -> Result<(), Defect> {
        if hash() != self.ruleset {
            return Err(Defect("the data differs from what was loaded: restart the server".to_owned()));
        }
        muster_medical::self_test::scores().map_err(Defect)?;
        for _ in 0..count.min(self.base.rules.len()) {
            let next = self.next.fetch_add(1, Ordering::Relaxed) % self.base.rules.len().max(1);
            if let Some(rule) = self.base.rules.get(next) {
                self.examples(rule)?;
            }
        }
        Ok(())
    }

    fn examples(&self, rule: &Rule) -> Result<(), Defect> {
        for (texts, expected) in [(&rule.positive, true), (&rule.negative, false)] {
            for text in texts {
                let input = Input { texts: vec![text.clone()], language: "en".to_owned(), ..Input::default() };
                let assessed = muster_medical::assess::assess(self.base, &input);
                let fired = assessed.is_ok_and(|a| {
                    a.triage.fired.iter().any(|f| self.base.rules.get(f.rule).is_some_and(|r| r.id == rule.id))
                });
                if fired != expected {
                    let what = if expected { "does not fire on" } else { "fires on" };
                    return Err(Defect(format!("rule {} {what} its example: {text}", rule.id)));
                }
            }
        }
        Ok(())
    }

    /// Records whose review is due before a day, as `2027-01-31`.
    #[must_use]
    pub fn overdue(&self, today: &str) -> usize {
        let protocols = self.base.protocols.iter().map(|protocol| protocol.data.review.due.as_str());
        protocols.chain(self.base.rules.iter().map(|rule| rule.review.due.as_str())).filter(|due| *due < today).count()
    }
}

/// Hashes every data file with its name.
fn hash() -> String {
    let mut hash = Sha256::new();
    for (name, text) in data::files() {
        hash.update(name.as_bytes());
        hash.update([0]);
        hash.update(text.as_bytes());
        hash.update([0]);
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    hex.chars().take(SHOWN).collect()
}
