//! Settings of pictures from text.

use muster_imaging::pictures::PictureLimits;
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// What draws where no provider does and the request names no model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageFallback {
    /// An illustration by rules.
    #[default]
    Sketch,
    /// Nothing.
    None,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Images {
    /// What draws where no provider does and the request names no model.
    pub fallback: ImageFallback,
    /// Largest number of stored pictures of one owner.
    pub owner_pictures: u64,
    /// Largest size of the stored pictures of one owner, in MiB.
    pub owner_mib: u64,
    /// Largest size of all stored pictures, in MiB.
    pub total_mib: u64,
}

impl Default for Images {
    fn default() -> Self {
        Self { fallback: ImageFallback::default(), owner_pictures: 200, owner_mib: 256, total_mib: 4_096 }
    }
}

/// Most MiB of a setting.
const MAX_MIB: u64 = 1 << 20;

impl Images {
    /// # Errors
    /// A value is not accepted.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad = |name: &str, why: String| Err(ConfigError::Bad { setting: format!("images.{name}"), why });
        if !(1..=100_000).contains(&self.owner_pictures) {
            return bad("owner_pictures", "takes 1 to 100000".to_owned());
        }
        for (name, mib) in [("owner_mib", self.owner_mib), ("total_mib", self.total_mib)] {
            if !(1..=MAX_MIB).contains(&mib) {
                return bad(name, format!("takes 1 to {MAX_MIB}"));
            }
        }
        Ok(())
    }

    /// Returns the quotas.
    pub fn limits(&self) -> PictureLimits {
        PictureLimits {
            owner_pictures: self.owner_pictures,
            owner_bytes: self.owner_mib << 20,
            total_bytes: self.total_mib << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_quotas_of_the_service_and_values_out_of_range_are_reported() {
        assert_eq!(Images::default().limits(), PictureLimits::default());
        assert!(Images::default().check().is_ok());
        let refused = |images: Images| images.check().unwrap_err().to_string();
        let none = Images { owner_pictures: 0, ..Images::default() };
        assert_eq!(refused(none), "images.owner_pictures: takes 1 to 100000");
        let large = Images { total_mib: MAX_MIB + 1, ..Images::default() };
        assert!(refused(large).starts_with("images.total_mib: "));
    }
}
