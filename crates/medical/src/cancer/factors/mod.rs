//! Reads free-text risk factors: "20/day for 30 years", "mother breast
//! cancer", "menarche 12". What is read is echoed; the rest is named as unread.

mod cancers;
mod read;
mod smoking;
mod words;

use crate::answer::cancer::ReadFactor;
use crate::rank::Sex;
use serde_json::Value;

/// Risk factors as read. `None` is unknown, never no.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RiskFactors {
    pub current_smoker: Option<bool>,
    pub never_smoked: bool,
    pub cigarettes_per_day: Option<f64>,
    pub years_smoked: Option<f64>,
    pub years_quit: Option<f64>,
    /// As said; [`RiskFactors::pack_years`] computes it where it was not.
    pub said_pack_years: Option<f64>,
    /// 1 less than high school, 2 high school, 3 training after it, 4 some
    /// college, 5 college degree, 6 postgraduate.
    pub education_level: Option<f64>,
    pub bmi: Option<f64>,
    pub copd: Option<bool>,
    pub emphysema: Option<bool>,
    pub asbestos: bool,
    pub personal_cancer: Option<bool>,
    pub personal_breast: bool,
    pub brca: bool,
    pub chest_radiotherapy: bool,
    pub family_lung: Option<bool>,
    /// Mother, sisters, daughters.
    pub breast_relatives: Option<u8>,
    pub ovarian_relatives: Option<u8>,
    pub menarche: Option<f64>,
    /// Age at the first live birth; 98 if there was none.
    pub first_birth: Option<f64>,
    pub biopsies: Option<f64>,
    pub hyperplasia: Option<bool>,
    pub postmenopausal: Option<bool>,
    /// Word of the lung cancer model.
    pub race: Option<&'static str>,
    /// Code of the breast cancer model.
    pub race_code: Option<f64>,
    pub nodule_mm: Option<f64>,
    pub nodule_count: Option<f64>,
    pub nodule_type: Option<&'static str>,
    pub upper_lobe: Option<bool>,
    pub spiculated: Option<bool>,
    pub ultrasound_features: Option<f64>,
    /// Asymmetry, border, colours, structures of the dermoscopy score.
    pub dermoscopy: [Option<f64>; 4],
    pub read: Vec<ReadFactor>,
    pub unread: Vec<String>,
}

/// Whether an entry speaks of relatives.
#[must_use]
pub fn of_relatives(entry: &str) -> bool {
    cancers::of_family(&words::Words::of(entry))
}

/// Entries and characters of an entry that are read at most.
const MOST_ENTRIES: usize = 50;
const MOST_CHARACTERS: usize = 300;

impl RiskFactors {
    /// Reads a list of entries.
    #[must_use]
    pub fn of(entries: &[String]) -> Self {
        let mut factors = Self::default();
        for entry in entries.iter().take(MOST_ENTRIES) {
            let entry: String = entry.chars().take(MOST_CHARACTERS).collect();
            let before = factors.read.len();
            read::entry(&mut factors, &entry);
            if factors.read.len() == before && !entry.trim().is_empty() {
                factors.unread.push(entry.chars().take(120).collect());
            }
        }
        factors
    }

    /// Notes what was read.
    fn note(&mut self, field: &'static str, value: impl Into<Value>, from: &str) {
        let value = value.into();
        if !self.read.iter().any(|r| r.field == field && r.value == value) {
            self.read.push(ReadFactor { field, value, from: from.trim().chars().take(120).collect() });
        }
    }

    /// Whether the patient ever smoked.
    #[must_use]
    pub fn ever_smoked(&self) -> Option<bool> {
        let said = self.current_smoker.is_some()
            || self.cigarettes_per_day.is_some()
            || self.years_smoked.is_some()
            || self.said_pack_years.is_some_and(|p| p > 0.0)
            || self.years_quit.is_some();
        if said {
            Some(true)
        } else if self.never_smoked {
            Some(false)
        } else {
            None
        }
    }

    /// As said, else packs a day times years.
    #[must_use]
    pub fn pack_years(&self) -> Option<f64> {
        self.said_pack_years.or_else(|| Some(self.cigarettes_per_day? / 20.0 * self.years_smoked?))
    }

    /// Years since smoking stopped; 0 for who smokes.
    #[must_use]
    pub fn smoke_free_years(&self) -> Option<f64> {
        if self.current_smoker == Some(true) { Some(0.0) } else { self.years_quit }
    }

    /// The inputs of a model that are known.
    #[must_use]
    pub fn features(&self, age: f64, sex: Option<Sex>, ca125: Option<f64>) -> super::model::Features {
        let mut f = super::model::Features::default();
        f.number("age", Some(age));
        f.word("sex", sex.map(|s| if s == Sex::Female { "female" } else { "male" }));
        f.flag("ever_smoked", self.ever_smoked());
        f.flag("current_smoker", self.current_smoker);
        f.number("cigarettes_per_day", self.cigarettes_per_day);
        f.number("years_smoked", self.years_smoked);
        f.number("years_quit", self.years_quit);
        f.number("education_level", self.education_level);
        f.number("bmi", self.bmi);
        f.flag("copd", self.copd);
        f.flag("emphysema", self.emphysema);
        f.flag("personal_cancer_history", self.personal_cancer);
        f.flag("cancer_history", self.personal_cancer);
        f.flag("family_lung_cancer", self.family_lung);
        f.word("race", self.race);
        f.number("race_code", self.race_code);
        f.number("biopsies", self.biopsies);
        f.flag("atypical_hyperplasia", self.hyperplasia);
        f.number("age_menarche", self.menarche);
        f.number("age_first_birth", self.first_birth);
        f.number("first_degree_relatives", self.breast_relatives.map(f64::from));
        f.flag("personal_breast_cancer", self.personal_breast.then_some(true));
        f.flag("brca", self.brca.then_some(true));
        f.flag("chest_radiotherapy", self.chest_radiotherapy.then_some(true));
        f.number("diameter_mm", self.nodule_mm);
        f.number("nodule_count", self.nodule_count);
        f.word("nodule_type", self.nodule_type);
        f.flag("upper_lobe", self.upper_lobe);
        f.flag("spiculated", self.spiculated);
        f.flag("postmenopausal", self.postmenopausal);
        f.number("ultrasound_features", self.ultrasound_features);
        f.number("ca125", ca125);
        for (name, value) in ["asymmetry", "border", "colours", "structures"].into_iter().zip(self.dermoscopy) {
            f.number(name, value);
        }
        f
    }
}
