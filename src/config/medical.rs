//! Settings of the medical interface.

use serde::{Deserialize, Serialize};

use super::{ConfigError, Provider, Secret};

/// Endpoints of the medical interface that a plan may be required for.
const ENDPOINTS: [&str; 3] = ["chat", "clinical-protocols", "cancer-diagnosis"];
const JURISDICTIONS: [&str; 3] = ["GB", "US", "none"];
/// A year.
const LONGEST_KEEP_HOURS: u64 = 8_760;

/// Who phrases the explanation of a consultation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phrasing {
    /// The rules.
    #[default]
    Rules,
    /// A model of `providers`, whose text is checked.
    Model,
}

/// What a provider gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// Recognised concepts and cited facts.
    #[default]
    Facts,
    /// The message too, without what could name a person.
    RedactedText,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Medical {
    /// Telephone number of the emergency service, which calls to action name.
    pub emergency_number: String,
    /// Whose guidance counts where a request names none: `GB`, `US` or `none`.
    pub jurisdiction: String,
    /// Endpoints that need a key with `plan_a` pro or enterprise.
    pub pro_endpoints: Vec<String>,
    /// Hours for which a conversation is kept after its last message; 0 keeps nothing.
    pub keep_hours: u64,
    /// Most conversations of one API key.
    pub max_conversations: usize,
    pub phrasing: Phrasing,
    /// Providers that may see medical content.
    pub providers: Vec<String>,
    pub send: Sent,
    /// Providers that may see pictures of requests that permit it.
    pub image_providers: Vec<String>,
    /// Seconds after which the answer goes out without what a model wrote.
    pub phrasing_seconds: u64,
    /// What kept conversations are sealed with: `MUSTER_MEDICAL_KEY`.
    #[serde(skip)]
    pub key: Option<Secret>,
}

impl Default for Medical {
    fn default() -> Self {
        Self {
            emergency_number: "112".to_owned(),
            jurisdiction: "GB".to_owned(),
            pro_endpoints: vec!["chat".to_owned(), "cancer-diagnosis".to_owned()],
            keep_hours: 0,
            max_conversations: 200,
            phrasing: Phrasing::Rules,
            providers: Vec::new(),
            send: Sent::Facts,
            image_providers: Vec::new(),
            phrasing_seconds: 20,
            key: None,
        }
    }
}

impl Medical {
    /// # Errors
    /// A value is not accepted.
    pub(super) fn check(&self, providers: &[Provider]) -> Result<(), ConfigError> {
        let bad = |name: &str, why: String| Err(ConfigError::Bad { setting: format!("medical.{name}"), why });
        let number = &self.emergency_number;
        let dialled = |c: char| c.is_ascii_digit() || matches!(c, '+' | ' ' | '-' | '/');
        if !(2..=20).contains(&number.chars().count()) || !number.chars().all(dialled) {
            return bad(
                "emergency_number",
                "takes a telephone number of 2 to 20 characters, such as \"112\"".to_owned(),
            );
        }
        if !JURISDICTIONS.contains(&self.jurisdiction.as_str()) {
            return bad("jurisdiction", format!("takes {}", JURISDICTIONS.join(", ")));
        }
        if self.keep_hours > LONGEST_KEEP_HOURS {
            return bad("keep_hours", format!("takes 0 to {LONGEST_KEEP_HOURS}"));
        }
        if !(1..=100_000).contains(&self.max_conversations) {
            return bad("max_conversations", "takes 1 to 100000".to_owned());
        }
        if !(1..=120).contains(&self.phrasing_seconds) {
            return bad("phrasing_seconds", "takes 1 to 120".to_owned());
        }
        let lists = [
            ("providers", &self.providers, "the embedded model neither phrases nor translates"),
            ("image_providers", &self.image_providers, "the embedded model reads no pictures of patients"),
        ];
        for (name, id, why) in lists.iter().flat_map(|(name, ids, why)| ids.iter().map(move |id| (name, id, why))) {
            match providers.iter().find(|provider| provider.id == *id) {
                Some(provider) if provider.kind != "embedded" => {}
                Some(_) => return bad(name, (*why).to_owned()),
                None => return bad(name, format!("`{id}` is the id of no [[provider]]")),
            }
        }
        if self.phrasing == Phrasing::Model && self.providers.is_empty() {
            let why = "\"model\" needs medical.providers: the ids of the providers that may see medical content";
            return bad("phrasing", why.to_owned());
        }
        match self.pro_endpoints.iter().find(|name| !ENDPOINTS.contains(&name.as_str())) {
            Some(unknown) => bad("pro_endpoints", format!("`{unknown}` is none of {}", ENDPOINTS.join(", "))),
            None => Ok(()),
        }
    }

    /// The settings after a reload: what is kept, and how, needs a restart.
    pub(crate) fn reloaded(&self, new: Self) -> Self {
        Self { keep_hours: self.keep_hours, max_conversations: self.max_conversations, key: self.key.clone(), ..new }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(id: &str, kind: &str) -> Provider {
        toml::from_str(&format!("id = \"{id}\"\nkind = \"{kind}\"\nmodels = [\"m\"]")).unwrap()
    }

    #[test]
    fn settings_out_of_range_are_reported() {
        let providers = [provider("cloud", "openai"), provider("own", "embedded")];
        let refused = |medical: Medical| medical.check(&providers).unwrap_err().to_string();
        assert!(Medical::default().check(&[]).is_ok());
        let number = Medical { emergency_number: "call us".to_owned(), ..Medical::default() };
        assert!(refused(number).starts_with("medical.emergency_number: "));
        let endpoint = Medical { pro_endpoints: vec!["surgery".to_owned()], ..Medical::default() };
        assert_eq!(
            refused(endpoint),
            "medical.pro_endpoints: `surgery` is none of chat, clinical-protocols, cancer-diagnosis"
        );
        let of = |providers: &[&str]| Medical {
            phrasing: Phrasing::Model,
            providers: providers.iter().map(|id| (*id).to_owned()).collect(),
            ..Medical::default()
        };
        assert!(of(&["cloud"]).check(&providers).is_ok());
        assert!(refused(of(&[])).contains("needs medical.providers"));
        assert_eq!(refused(of(&["other"])), "medical.providers: `other` is the id of no [[provider]]");
        assert!(refused(of(&["own"])).contains("embedded model"));
        assert!(refused(Medical { keep_hours: 8_761, ..Medical::default() }).contains("0 to 8760"));
        assert!(
            refused(Medical { max_conversations: 0, ..Medical::default() }).starts_with("medical.max_conversations")
        );
        assert!(refused(Medical { phrasing_seconds: 0, ..Medical::default() }).starts_with("medical.phrasing_seconds"));
    }
}
