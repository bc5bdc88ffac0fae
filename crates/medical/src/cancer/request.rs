//! What a request for cancer diagnosis support gives, already validated.

use super::factors::of_relatives;
use crate::input::{Audience, Input, Patient};
use crate::rank::Sex;
use serde::Serialize;

/// Whose referral rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum Jurisdiction {
    /// NICE NG12.
    #[default]
    #[serde(rename = "GB")]
    Gb,
    /// Screening recommendations of the US Preventive Services Task Force.
    #[serde(rename = "US")]
    Us,
    /// No rules; published models only.
    #[serde(rename = "none")]
    None,
}

impl Jurisdiction {
    /// Reads `GB`, `US` or `none`, in any case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "gb" => Some(Self::Gb),
            "us" => Some(Self::Us),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

/// Laboratory values. Units: FIT µg/g, CA125 IU/mL, PSA µg/L, haemoglobin
/// g/dL, platelets 10⁹/L.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CancerLabs {
    pub fit: Option<f64>,
    pub ca125: Option<f64>,
    pub psa: Option<f64>,
    pub hb: Option<f64>,
    pub platelets: Option<f64>,
}

/// A validated request.
#[derive(Debug, Clone, Default)]
pub struct CancerRequest {
    /// Years, 0 to 120.
    pub age: f64,
    /// `None` for intersex, unknown or not given.
    pub sex: Option<Sex>,
    pub symptoms: Option<String>,
    pub risk_factors: Vec<String>,
    pub labs: CancerLabs,
    /// Organs that the patient has ("ovaries", "prostate"), or has not ("no
    /// uterus"). See [`super::organ::ORGANS`] for the names that are read.
    pub organs: Vec<String>,
    pub jurisdiction: Jurisdiction,
}

impl CancerRequest {
    /// The input that [`crate::assess::assess`] reads. Risk factors tell
    /// lasting conditions and exposures, never a symptom of today.
    #[must_use]
    pub fn input(&self, language: &str, audience: Audience) -> Input {
        Input {
            texts: self.symptoms.iter().cloned().collect(),
            history: self.risk_factors.iter().map(|entry| history(entry)).collect(),
            patient: Patient { age: Some(self.age), sex: self.sex, pregnant: None },
            language: language.to_owned(),
            audience,
            ..Input::default()
        }
    }
}

/// An entry as the assessment may read it: what relatives had is told as
/// family history, so that it is never the patient's own.
fn history(entry: &str) -> String {
    if of_relatives(entry) { format!("Family history: {entry}") } else { entry.to_owned() }
}
