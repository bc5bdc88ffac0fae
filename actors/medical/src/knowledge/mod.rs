//! The knowledge base as the server holds it: loaded once, named by a hash of all its data, and tested while it runs.

mod capabilities;
mod complete;

use std::sync::atomic::{AtomicUsize, Ordering};

use muster_medical::base::{Base, Rule};
use muster_medical::data;
use muster_medical::input::Input;
use sha2::{Digest, Sha256};

pub use capabilities::Capabilities;

/// Characters of the hash that name a rule set.
const SHOWN: usize = 16;

/// What is wrong with the knowledge base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect(pub String);

/// One of the problems that a whole verification finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `hash`, `scores`, `examples` or `completeness`.
    pub check: &'static str,
    /// What is wrong, with the record.
    pub what: String,
}

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
        Ok(Self::of(base, hash()))
    }

    /// Takes a base that was loaded before under this hash of its data.
    #[must_use]
    pub const fn of(base: &'static Base, ruleset: String) -> Self {
        Self { base, ruleset, next: AtomicUsize::new(0) }
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
        self.hash_holds()?;
        muster_medical::self_test::scores().map_err(Defect)?;
        for _ in 0..count.min(self.base.rules.len()) {
            let next = self.next.fetch_add(1, Ordering::Relaxed) % self.base.rules.len().max(1);
            if let Some(rule) = self.base.rules.get(next) {
                self.examples(rule).map_or(Ok(()), Err)?;
            }
        }
        Ok(())
    }

    /// Tests everything: hash, all scores, the examples of all red flags, and that no record lacks a part.
    #[must_use]
    pub fn verify(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |check, what| problems.push(Problem { check, what });
        if let Err(Defect(what)) = self.hash_holds() {
            add("hash", what);
        }
        if let Err(what) = muster_medical::self_test::scores() {
            add("scores", what);
        }
        for Defect(what) in self.base.rules.iter().filter_map(|rule| self.examples(rule)) {
            add("examples", what);
        }
        for what in complete::lacking(self.base) {
            add("completeness", what);
        }
        problems
    }

    /// Tests each of the capabilities that the status names.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        Capabilities::test(self.base)
    }

    fn hash_holds(&self) -> Result<(), Defect> {
        if hash() == self.ruleset {
            return Ok(());
        }
        Err(Defect("the data differs from what was loaded: restart the server".to_owned()))
    }

    /// Returns the first example of a rule that does not hold.
    fn examples(&self, rule: &Rule) -> Option<Defect> {
        let examples =
            rule.positive.iter().map(|text| (text, true)).chain(rule.negative.iter().map(|text| (text, false)));
        for (text, expected) in examples {
            let input = Input { texts: vec![text.clone()], language: "en".to_owned(), ..Input::default() };
            let assessed = muster_medical::assess::assess(self.base, &input);
            let fired = assessed.is_ok_and(|a| {
                a.triage.fired.iter().any(|f| self.base.rules.get(f.rule).is_some_and(|r| r.id == rule.id))
            });
            if fired != expected {
                let what = if expected { "does not fire on" } else { "fires on" };
                return Some(Defect(format!("rule {} {what} its example: {text}", rule.id)));
            }
        }
        None
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

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(change: impl FnOnce(&mut Base)) -> Knowledge {
        let mut base = Base::load().unwrap();
        change(&mut base);
        Knowledge::of(Box::leak(Box::new(base)), hash())
    }

    #[test]
    fn an_example_that_does_not_hold_is_a_defect() {
        let wrong = "my garden is green";
        let knowledge = planted(|base| base.rules[0].positive.push(wrong.to_owned()));
        let id = knowledge.base().rules[0].id.clone();
        let expected = format!("rule {id} does not fire on its example: {wrong}");
        assert_eq!(knowledge.examples(&knowledge.base().rules[0]), Some(Defect(expected.clone())));
        assert!(knowledge.verify().contains(&Problem { check: "examples", what: expected }));
    }

    #[test]
    fn a_negative_example_that_fires_is_a_defect() {
        let knowledge = planted(|base| {
            let positive = base.rules[0].positive[0].clone();
            base.rules[0].negative.push(positive);
        });
        let Defect(what) = knowledge.examples(&knowledge.base().rules[0]).unwrap();
        assert!(what.contains("fires on its example"), "{what}");
    }

    #[test]
    fn data_that_differs_from_its_hash_is_a_defect() {
        let knowledge = Knowledge::of(muster_medical::shared().unwrap(), "0123456789abcdef".to_owned());
        let Defect(what) = knowledge.test(0).unwrap_err();
        assert!(what.contains("the data differs"), "{what}");
        assert!(knowledge.verify().iter().any(|problem| problem.check == "hash"));
    }

    #[test]
    fn a_review_is_overdue_after_its_day() {
        let knowledge = planted(|base| base.protocols[0].data.review.due = "2026-05-31".to_owned());
        let others = Knowledge::load().unwrap();
        assert_eq!(knowledge.overdue("2026-05-31"), others.overdue("2026-05-31"));
        assert_eq!(knowledge.overdue("2026-06-01"), others.overdue("2026-06-01") + 1);
    }

    #[test]
    fn a_record_without_a_part_is_a_problem() {
        let knowledge = planted(|base| {
            base.protocols[0].data.follow_up.clear();
            base.protocols[1].data.actions[0].locator.clear();
        });
        let found: Vec<_> = knowledge.verify().into_iter().filter(|problem| problem.check == "completeness").collect();
        let ids = [0, 1].map(|at| knowledge.base().protocols[at].data.id.clone());
        assert!(found.iter().any(|p| p.what == format!("{}: has no follow-up", ids[0])), "{found:?}");
        assert!(found.iter().any(|p| p.what.starts_with(&ids[1]) && p.what.contains("locator")), "{found:?}");
    }

    #[test]
    fn a_capability_is_not_given_where_its_test_fails() {
        let knowledge = planted(|base| base.rules.clear());
        let capabilities = knowledge.capabilities();
        assert!(
            !capabilities.clinical_cdss && !capabilities.medical_ai && !capabilities.multi_language,
            "{capabilities:?}"
        );
    }
}
