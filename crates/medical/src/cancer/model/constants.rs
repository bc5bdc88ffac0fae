//! Coefficients of the models, parsed from data in which they stand twice.

use crate::base::{Review, Source};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The coefficients of one model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConstants {
    pub id: String,
    pub source: Source,
    pub locator: String,
    /// The same numbers in the order of the names' alphabet.
    second: Vec<f64>,
    coefficients: BTreeMap<String, f64>,
}

impl ModelConstants {
    /// A coefficient; NaN for a name that does not exist, so that no value
    /// comes of a misspelt one.
    #[must_use]
    pub fn of(&self, name: &str) -> f64 {
        self.coefficients.get(name).copied().unwrap_or(f64::NAN)
    }
}

/// The constants of the breast cancer model for one race group.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Race {
    /// 1 to 11.
    pub code: u8,
    pub name: String,
    pub source: String,
    pub locator: String,
    /// Incidence a year in the age groups 20–24 to 85–89.
    pub lambda1: [f64; 14],
    /// Competing mortality a year in the same groups.
    pub lambda2: [f64; 14],
    /// One minus the attributable risk, under 50 and from 50.
    pub one_minus_ar: [f64; 2],
    /// Log relative risks: biopsies, menarche, first birth, relatives,
    /// biopsies from 50, first birth and relatives together.
    pub beta: [f64; 6],
}

/// All constants.
#[derive(Debug, Clone)]
pub struct Constants {
    models: Vec<ModelConstants>,
    pub races: Vec<Race>,
    pub review: Review,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelsFile {
    review: Review,
    models: Vec<ModelConstants>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RacesFile {
    #[serde(rename = "review")]
    _review: Review,
    races: Vec<Race>,
}

impl Constants {
    /// Parses the coefficients and the constants by race.
    ///
    /// # Errors
    /// Malformed data, or two entries of a coefficient that differ.
    pub fn parse(models: &str, races: &str) -> Result<Self, String> {
        let file: ModelsFile = toml::from_str(models).map_err(|e| format!("cancer_models.toml: {e}"))?;
        for model in &file.models {
            let agree = model.second.len() == model.coefficients.len()
                && model.coefficients.values().zip(&model.second).all(|(a, b)| a.to_bits() == b.to_bits());
            if !agree {
                return Err(format!("cancer_models.toml: the two entries of {} differ", model.id));
            }
        }
        let races: RacesFile = toml::from_str(races).map_err(|e| format!("bcrat.toml: {e}"))?;
        Ok(Self { models: file.models, races: races.races, review: file.review })
    }

    /// The coefficients of a model.
    #[must_use]
    pub fn model(&self, id: &str) -> Option<&ModelConstants> {
        self.models.iter().find(|m| m.id == id)
    }
}
