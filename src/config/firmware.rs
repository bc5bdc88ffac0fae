//! Settings of firmware.

use muster_network::firmware::{FirmwareRules, is_public_key};
use serde::{Deserialize, Serialize};

use super::ConfigError;

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Firmware {
    /// Largest image, in bytes.
    pub max_image_bytes: u64,
    /// Largest number of devices of one job.
    pub max_devices: usize,
    /// Number of approvals of a job that does not require two anyway: 0 to 2.
    pub approvals: u32,
    /// Ed25519 public keys (32 bytes, base64url) that may sign images, in addition to those added over the API.
    pub trusted_keys: Vec<String>,
}

impl Default for Firmware {
    fn default() -> Self {
        let rules = FirmwareRules::default();
        Self {
            max_image_bytes: rules.max_image_bytes,
            max_devices: rules.max_devices,
            approvals: rules.approvals,
            trusted_keys: Vec::new(),
        }
    }
}

impl Firmware {
    pub fn rules(&self) -> FirmwareRules {
        FirmwareRules {
            max_image_bytes: self.max_image_bytes,
            max_devices: self.max_devices,
            approvals: self.approvals,
            ..FirmwareRules::default()
        }
    }

    /// # Errors
    /// A value is out of its range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad = |name: &str, why: &str| Err(ConfigError::Bad { setting: name.to_owned(), why: why.to_owned() });
        if !(1..=16 << 30).contains(&self.max_image_bytes) {
            return bad("firmware.max_image_bytes", "takes 1 to 17179869184");
        }
        if !(1..=100_000).contains(&self.max_devices) {
            return bad("firmware.max_devices", "takes 1 to 100000");
        }
        if self.approvals > 2 {
            return bad("firmware.approvals", "takes 0 to 2");
        }
        if let Some(wrong) = self.trusted_keys.iter().find(|key| !is_public_key(key)) {
            let why = format!(
                "`{wrong}` is no Ed25519 public key: it takes the member `x` of the JWK, 32 bytes in base64url"
            );
            return bad("firmware.trusted_keys", &why);
        }
        Ok(())
    }
}
