//! Settings of governance.

use std::collections::BTreeMap;
use std::path::PathBuf;

use muster_core::guard::{GuardedAction, QuorumRole};
use muster_governance::policy::{GuardSetting, PolicyDocument};
use muster_tlog::{SignatureType, VerifierKey};
use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::sentinel_responses::{self, SentinelResponse};

/// The audit log, the policy while there is no quorum of deciders, and what stops guarded actions at once.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Governance {
    /// Name of this server in the origin of its audit log, without a scheme; the identifier of the installation if empty.
    pub name: String,
    /// File to which each signed checkpoint is copied, best on another machine; none if empty.
    pub checkpoint_copy: PathBuf,
    /// Servers that cosign checkpoints.
    pub witnesses: Vec<WitnessSetting>,
    /// Roles of which each takes another person.
    pub quorum: Vec<QuorumRole>,
    /// Risk, roles and threshold of single actions.
    pub guards: BTreeMap<GuardedAction, GuardSetting>,
    /// Veto rules in Cedar.
    pub veto: String,
    /// Whether every guarded action is vetoed.
    pub freeze: bool,
    /// What follows verdicts of the sentinels on what the server gathers itself; by default nothing.
    pub response: Vec<SentinelResponse>,
}

impl Default for Governance {
    fn default() -> Self {
        let PolicyDocument { quorum, guards, veto } = PolicyDocument::default();
        Self {
            name: String::new(),
            checkpoint_copy: PathBuf::new(),
            witnesses: Vec::new(),
            quorum,
            guards,
            veto,
            freeze: false,
            response: Vec::new(),
        }
    }
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

    /// Returns the policy that the settings describe.
    pub fn policy(&self) -> PolicyDocument {
        PolicyDocument { quorum: self.quorum.clone(), guards: self.guards.clone(), veto: self.veto.clone() }
    }

    /// Returns the settings after a reload: the log's need a restart.
    pub(crate) fn reloaded(&self, new: Self) -> Self {
        let Self { name, checkpoint_copy, witnesses, .. } = self.clone();
        Self { name, checkpoint_copy, witnesses, ..new }
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
        sentinel_responses::check(&self.response)?;
        match self.policy().check() {
            Ok(_) => Ok(()),
            Err(fault) => bad(&format!("governance.{}", fault.member), fault.why),
        }
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

    #[test]
    fn a_policy_that_cannot_be_used_is_reported_with_its_setting() {
        assert!(Governance::default().check().is_ok());
        let guards = "quorum = [\"operations\"]\n[guards.\"firmware.rollout\"]\nover = 500\nrisk = \"critical\"";
        let read: Governance = toml::from_str(guards).unwrap();
        assert!(read.check().is_ok());
        assert_eq!(read.guards[&GuardedAction::FirmwareRollout].over, Some(500));
        assert_eq!(refused("quorum = []"), "governance.quorum: takes 1 to 8 roles of security, operations");
        assert!(
            refused("[guards.\"role.grant\"]\nroles = [\"security\"]").starts_with("governance.guards.role.grant: ")
        );
        let rule = "veto = 'forbid (principal, action, resource) when { context.blasts > 1 };'";
        let why = refused(rule);
        assert!(why.starts_with("governance.veto: rule policy0, line 1: ") && why.contains("blasts"), "{why}");
        assert!(toml::from_str::<Governance>("[guards.\"all\"]").is_err());
    }
}
