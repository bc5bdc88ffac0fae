//! Referral rules for suspected cancer and published risk models.

pub mod organ;
pub mod request;

/// The parsed rules.
#[derive(Debug)]
pub struct Base {}

impl Base {
    /// # Errors
    /// A record of the compiled-in data is invalid.
    pub fn load() -> Result<Self, String> {
        Ok(Self {})
    }
}
