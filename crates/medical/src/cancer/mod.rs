//! Referral rules for suspected cancer and published risk models.

pub mod evaluate;
pub mod expr;
pub mod factors;
pub mod facts;
pub mod model;
pub mod organ;
pub mod request;
pub mod rules;

#[cfg(test)]
mod tests;

use crate::data;
use crate::text::Lexicon;

/// The parsed rules and constants.
#[derive(Debug)]
pub struct Base {
    /// NICE NG12.
    pub ng12: rules::Referrals,
    /// Screening recommendations of the US Preventive Services Task Force.
    pub uspstf: rules::Screenings,
    pub constants: model::Constants,
}

impl Base {
    /// Parses the compiled-in rules and constants.
    ///
    /// # Errors
    /// A record of the compiled-in data is invalid.
    pub fn load(lexicon: &Lexicon) -> Result<Self, String> {
        Ok(Self {
            ng12: rules::Referrals::parse(data::NG12, lexicon).map_err(|e| format!("ng12.toml: {e}"))?,
            uspstf: rules::Screenings::parse(data::USPSTF, lexicon).map_err(|e| format!("uspstf.toml: {e}"))?,
            constants: model::Constants::parse(data::CANCER_MODELS, data::BCRAT)?,
        })
    }
}
