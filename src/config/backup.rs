//! Settings of backups.

use muster_seal::{AgeRecipient, MAX_RECIPIENTS};
use serde::{Deserialize, Serialize};

use super::ConfigError;

#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Backup {
    /// Public keys of age, to whose owners backups are encrypted. None: a backup has a passphrase.
    pub recipients: Vec<String>,
}

impl Backup {
    /// # Errors
    /// A recipient is not accepted.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad = |why: String| Err(ConfigError::Bad { setting: "backup.recipients".to_owned(), why });
        if self.recipients.len() > MAX_RECIPIENTS {
            return bad(format!("takes at most {MAX_RECIPIENTS} recipients"));
        }
        match self.recipients.iter().find(|text| text.parse::<AgeRecipient>().is_err()) {
            Some(text) if text.starts_with("AGE-SECRET-KEY") => bad(
                "takes public keys of age; this is a private one, which does not belong here: `age-keygen -y FILE` prints \
                 its public key"
                    .to_owned(),
            ),
            Some(text) => bad(format!("{text:?} is no public key of age (`age1` and 58 letters and digits)")),
            None => Ok(()),
        }
    }

    /// Returns the recipients.
    pub fn recipients(&self) -> Vec<AgeRecipient> {
        // All of them were parsed by `check`.
        self.recipients.iter().filter_map(|text| text.parse().ok()).collect()
    }
}
