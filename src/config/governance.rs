//! Settings of governance.

use std::path::PathBuf;

use muster_tlog::{SignatureType, VerifierKey};
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// The audit log: its name, and where its checkpoints go.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Governance {
    /// Name of this server in the origin of its audit log, without a scheme; the identifier of the installation if empty.
    pub name: String,
    /// File to which each signed checkpoint is copied, best on another machine; none if empty.
    pub checkpoint_copy: PathBuf,
    /// Servers that cosign checkpoints.
    pub witnesses: Vec<WitnessSetting>,
}

/// A witness (C2SP tlog-witness).
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WitnessSetting {
    /// Submission prefix: `add-checkpoint` is below it.
    pub url: String,
    /// Verifier key of its cosignatures.
    pub vkey: String,
}

impl Governance {
    /// Returns the name of the server in the origin of the log.
    pub fn log_name(&self) -> Option<String> {
        Some(self.name.clone()).filter(|name| !name.is_empty())
    }

    /// Returns the file of copies.
    pub fn copy(&self) -> Option<PathBuf> {
        Some(self.checkpoint_copy.clone()).filter(|path| !path.as_os_str().is_empty())
    }

    /// # Errors
    /// A value is not accepted.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad = |name: &str, why: String| Err(ConfigError::Bad { setting: name.to_owned(), why });
        let named = self.name.chars().all(|c| c.is_ascii_graphic() && c != '+') && self.name.len() <= 200;
        if !named || self.name.contains("://") || self.name.ends_with('/') {
            let why = "takes up to 200 visible characters without a scheme, `+` and a slash at the end, such as muster.example.org";
            return bad("governance.name", why.to_owned());
        }
        if self.witnesses.len() > 16 {
            return bad("governance.witnesses", "takes at most 16 witnesses".to_owned());
        }
        for witness in &self.witnesses {
            if !witness.url.starts_with("https://") && !witness.url.starts_with("http://") {
                return bad("governance.witnesses", format!("`{}` is no URL", witness.url));
            }
            let key: Result<VerifierKey, _> = witness.vkey.parse();
            match key {
                Ok(key) if key.kind() == SignatureType::CosignatureV1 => {}
                Ok(_) => return bad("governance.witnesses", format!("`{}` is no key of cosignatures", witness.vkey)),
                Err(error) => return bad("governance.witnesses", format!("`{}`: {error}", witness.vkey)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        toml::from_str::<Governance>(text).unwrap().check().unwrap_err().to_string()
    }

    #[test]
    fn names_and_witnesses_that_cannot_be_used_are_reported() {
        assert!(Governance::default().check().is_ok());
        assert!(toml::from_str::<Governance>("name = \"muster.example.org\"").unwrap().check().is_ok());
        for name in ["https://muster.example.org", "a b", "a+b", "a/"] {
            assert!(refused(&format!("name = \"{name}\"")).starts_with("governance.name: "), "{name}");
        }
        // The vkey of the design's vector: an Ed25519 key, which cosigns nothing.
        let vkey = "muster.example.org/audit/1+76bd6027+ASmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X";
        let witness = |url: &str, vkey: &str| format!("witnesses = [{{ url = \"{url}\", vkey = \"{vkey}\" }}]");
        assert!(refused(&witness("https://w.example", vkey)).contains("no key of cosignatures"));
        assert!(refused(&witness("https://w.example", "w+1+x")).contains("verifier key"));
        assert!(refused(&witness("w.example", vkey)).contains("is no URL"));
    }
}
