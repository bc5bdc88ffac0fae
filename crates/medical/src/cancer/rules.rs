//! The referral and screening rules, parsed from data.

use super::expr::Criterion;
use super::organ::ORGANS;
use crate::base::{Review, Source};
use crate::text::{ConceptId, Lexicon};
use serde::Deserialize;
use std::collections::BTreeSet;

/// What a rule leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    Referral,
    Test,
    Advice,
}

/// How soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Timescale {
    #[serde(rename = "immediate")]
    Immediate,
    #[serde(rename = "very_urgent_48h")]
    VeryUrgent,
    #[serde(rename = "suspected_cancer_pathway")]
    Pathway,
    #[serde(rename = "urgent_2w")]
    TwoWeeks,
    #[serde(rename = "test_now")]
    TestNow,
    #[serde(rename = "non_urgent")]
    NonUrgent,
    #[serde(rename = "safety_net")]
    SafetyNet,
}

impl Timescale {
    /// The word of the data.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::VeryUrgent => "very_urgent_48h",
            Self::Pathway => "suspected_cancer_pathway",
            Self::TwoWeeks => "urgent_2w",
            Self::TestNow => "test_now",
            Self::NonUrgent => "non_urgent",
            Self::SafetyNet => "safety_net",
        }
    }
}

/// A referral rule as written in the data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferralData {
    pub id: String,
    /// Number of the recommendation.
    pub rec: String,
    pub site: String,
    #[serde(default)]
    pub min_age: Option<f64>,
    /// Whole years: 24 holds until the 25th birthday.
    #[serde(default)]
    pub max_age: Option<f64>,
    #[serde(default)]
    pub organ: Option<String>,
    pub when: String,
    /// Symptoms of the site itself.
    #[serde(default)]
    pub local: Vec<String>,
    /// The laboratory value that decides it.
    #[serde(default)]
    pub labs: Option<String>,
    pub action: String,
    pub kind: RuleKind,
    pub timescale: Timescale,
    pub strength: String,
    pub assumes: Vec<String>,
    pub positive: Vec<String>,
    pub negative: Vec<String>,
}

/// A referral rule, ready to evaluate.
#[derive(Debug, Clone)]
pub struct Referral {
    pub data: ReferralData,
    pub when: Criterion,
    pub local: Vec<ConceptId>,
}

/// A screening rule as written in the data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScreeningData {
    pub id: String,
    pub site: String,
    pub min_age: f64,
    pub max_age: f64,
    #[serde(default)]
    pub organ: Option<String>,
    /// `female` where the recommendation is for women without naming an organ
    /// of the list.
    #[serde(default)]
    pub sex: Option<String>,
    #[serde(default)]
    pub when: Option<String>,
    pub text: String,
    pub grade: String,
    pub source: String,
    pub locator: String,
    pub positive: Vec<String>,
    pub negative: Vec<String>,
}

/// A screening rule, ready to evaluate.
#[derive(Debug, Clone)]
pub struct ScreeningRule {
    pub data: ScreeningData,
    pub when: Option<Criterion>,
}

/// The referral rules of one guideline.
#[derive(Debug, Clone)]
pub struct Referrals {
    pub rules: Vec<Referral>,
    pub general: BTreeSet<ConceptId>,
    pub not_features: BTreeSet<ConceptId>,
    /// Years by which an age bound may be missed to be noted.
    pub noted_years: f64,
    /// Symptoms of the whole body.
    pub constitutional: BTreeSet<ConceptId>,
    /// Where a rule is listed that they alone meet while local symptoms are denied.
    pub non_site: String,
    pub source: Source,
    pub review: Review,
}

/// The screening recommendations of one body.
#[derive(Debug, Clone)]
pub struct Screenings {
    pub rules: Vec<ScreeningRule>,
    pub sources: Vec<Source>,
    pub review: Review,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferralFile {
    general: Vec<String>,
    not_features: Vec<String>,
    noted_years: f64,
    constitutional: Vec<String>,
    non_site: String,
    source: Source,
    review: Review,
    rules: Vec<ReferralData>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScreeningFile {
    sources: Vec<Source>,
    review: Review,
    rules: Vec<ScreeningData>,
}

fn known_organ(id: &str, organ: Option<&String>) -> Result<(), String> {
    match organ {
        Some(organ) if !ORGANS.iter().any(|(known, _, _)| known == organ) => {
            Err(format!("{id}: the organ {organ} is unknown"))
        }
        _ => Ok(()),
    }
}

impl Referrals {
    /// Parses a file of referral rules.
    ///
    /// # Errors
    /// The first record that is invalid.
    pub fn parse(text: &str, lexicon: &Lexicon) -> Result<Self, String> {
        let file: ReferralFile = toml::from_str(text).map_err(|e| e.to_string())?;
        let ids = |names: &[String]| -> Result<BTreeSet<ConceptId>, String> {
            names.iter().map(|n| lexicon.id(n).ok_or_else(|| format!("the concept {n} is unknown"))).collect()
        };
        let mut rules: Vec<Referral> = Vec::with_capacity(file.rules.len());
        for data in file.rules {
            known_organ(&data.id, data.organ.as_ref())?;
            if rules.iter().any(|r| r.data.id == data.id) {
                return Err(format!("{} occurs twice", data.id));
            }
            let when = Criterion::parse(&data.when, lexicon).map_err(|e| format!("{}: {e}", data.id))?;
            let local = ids(&data.local)?.into_iter().collect();
            rules.push(Referral { data, when, local });
        }
        Ok(Self {
            rules,
            general: ids(&file.general)?,
            not_features: ids(&file.not_features)?,
            noted_years: file.noted_years,
            constitutional: ids(&file.constitutional)?,
            non_site: file.non_site,
            source: file.source,
            review: file.review,
        })
    }
}

impl Screenings {
    /// Parses a file of screening rules.
    ///
    /// # Errors
    /// The first record that is invalid.
    pub fn parse(text: &str, lexicon: &Lexicon) -> Result<Self, String> {
        let file: ScreeningFile = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut rules = Vec::with_capacity(file.rules.len());
        for data in file.rules {
            known_organ(&data.id, data.organ.as_ref())?;
            if !file.sources.iter().any(|s| s.id == data.source) {
                return Err(format!("{}: the source {} is unknown", data.id, data.source));
            }
            let when = data.when.as_ref().map(|w| Criterion::parse(w, lexicon)).transpose();
            rules.push(ScreeningRule { when: when.map_err(|e| format!("{}: {e}", data.id))?, data });
        }
        Ok(Self { rules, sources: file.sources, review: file.review })
    }
}
