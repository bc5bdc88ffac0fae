//! Which referral and screening rules a patient meets.

use super::expr::{Part, Quantity};
use super::facts::CancerFacts;
use super::organ::{Has, has};
use super::rules::{Referral, Referrals, ScreeningRule, Screenings};
use crate::rank::Sex;
use std::collections::BTreeSet;

/// A rule that is met, or that one age bound keeps from being met.
#[derive(Debug, Clone)]
pub struct Met<'a> {
    pub rule: &'a Referral,
    /// The site that it is listed under.
    pub site: &'a str,
    pub because: BTreeSet<Part>,
    /// The age from which it would be met.
    pub from_age: Option<f64>,
    /// The organ that it needs and that is not known to be there.
    pub conditional: Option<&'a str>,
}

/// Evaluates every referral rule; `organs` are those of the request.
#[must_use]
pub fn referrals<'a>(rules: &'a Referrals, facts: &CancerFacts<'_>, organs: &[String]) -> Vec<Met<'a>> {
    rules.rules.iter().filter_map(|rule| one(rules, rule, facts, organs)).collect()
}

fn one<'a>(all: &'a Referrals, rule: &'a Referral, facts: &CancerFacts<'_>, organs: &[String]) -> Option<Met<'a>> {
    let conditional = match rule.data.organ.as_deref() {
        None => None,
        Some(organ) => match has(organ, organs, facts.sex()) {
            Has::Yes => None,
            Has::No => return None,
            Has::Unknown => Some(organ),
        },
    };
    if let Some(because) = met(all, rule, facts) {
        let site = site(all, rule, facts, &because);
        return Some(Met { rule, site, because, from_age: None, conditional });
    }
    // Noted are only symptoms that last: a day's pain at 45 is no near miss at 60.
    // A laboratory threshold that changes with age is not looked up at another age.
    if rule.data.labs.is_some() {
        return None;
    }
    let mut ages = rule.when.ages();
    ages.extend(rule.data.min_age);
    ages.retain(|&a| a > facts.age() && a <= facts.age() + all.noted_years);
    ages.sort_by(f64::total_cmp);
    let (age, because) = ages.into_iter().find_map(|a| met(all, rule, &facts.at_age(a)).map(|b| (a, b)))?;
    let noted = because.iter().all(|part| !matches!(part, Part::Concept(id) if !facts.lasts(*id)));
    noted.then(|| Met { rule, site: &rule.data.site, because, from_age: Some(age), conditional })
}

/// The site that a rule is listed under: its own, unless only symptoms of the
/// whole body met it and at least two of its local symptoms are denied.
fn site<'a>(all: &'a Referrals, rule: &'a Referral, facts: &CancerFacts<'_>, because: &BTreeSet<Part>) -> &'a str {
    let general = because.iter().all(|part| match part {
        Part::Concept(id) | Part::Lasting(id) => all.constitutional.contains(id) || all.not_features.contains(id),
        Part::Quantity(quantity) => *quantity == Quantity::Age,
    });
    let denied = rule.local.iter().filter(|id| facts.denies(**id)).count();
    if general && denied >= 2 { &all.non_site } else { &rule.data.site }
}

/// What made a rule hold, at the age of the facts.
fn met(all: &Referrals, rule: &Referral, facts: &CancerFacts<'_>) -> Option<BTreeSet<Part>> {
    let d = &rule.data;
    if d.min_age.is_some_and(|m| facts.age() < m) || d.max_age.is_some_and(|m| facts.age() >= m + 1.0) {
        return None;
    }
    let mut because = BTreeSet::new();
    (rule.when.holds(facts, &mut because) && !only_general(all, facts, &because)).then_some(because)
}

/// Whether all that made a rule hold is one general symptom of no stated
/// duration: a cough of two days is no reason for a chest X-ray.
fn only_general(all: &Referrals, facts: &CancerFacts<'_>, because: &BTreeSet<Part>) -> bool {
    let mut features = because.iter().filter(|part| match part {
        Part::Concept(id) => !all.not_features.contains(id),
        Part::Quantity(Quantity::Age) => false,
        Part::Quantity(_) | Part::Lasting(_) => true,
    });
    match (features.next(), features.next()) {
        (Some(Part::Concept(id)), None) => all.general.contains(id) && !facts.lasts(*id),
        _ => false,
    }
}

/// A screening recommendation that applies.
#[derive(Debug, Clone)]
pub struct Due<'a> {
    pub rule: &'a ScreeningRule,
    pub because: BTreeSet<Part>,
    pub conditional: Option<&'a str>,
}

/// Evaluates every screening rule.
#[must_use]
pub fn screenings<'a>(rules: &'a Screenings, facts: &CancerFacts<'_>, organs: &[String]) -> Vec<Due<'a>> {
    rules.rules.iter().filter_map(|rule| due(rule, facts, organs)).collect()
}

fn due<'a>(rule: &'a ScreeningRule, facts: &CancerFacts<'_>, organs: &[String]) -> Option<Due<'a>> {
    let d = &rule.data;
    if facts.age() < d.min_age || facts.age() >= d.max_age + 1.0 {
        return None;
    }
    let of_sex = match (d.sex.as_deref(), facts.sex()) {
        (None, _) | (Some("female"), Some(Sex::Female)) | (Some("male"), Some(Sex::Male)) => Has::Yes,
        (Some(_), None) => Has::Unknown,
        (Some(_), Some(_)) => Has::No,
    };
    let of_organ = d.organ.as_deref().map_or(Has::Yes, |organ| has(organ, organs, facts.sex()));
    let conditional = match (of_sex, of_organ) {
        (Has::No, _) | (_, Has::No) => return None,
        (Has::Yes, Has::Yes) => None,
        (Has::Unknown, _) => d.sex.as_deref(),
        (_, Has::Unknown) => d.organ.as_deref(),
    };
    let mut because = BTreeSet::new();
    let holds = rule.when.as_ref().is_none_or(|w| w.holds(facts, &mut because));
    because.insert(Part::Quantity(Quantity::Age));
    holds.then_some(Due { rule, because, conditional })
}
