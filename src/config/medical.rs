//! Settings of the medical interface.

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Endpoints of the medical interface that a plan may be required for.
const ENDPOINTS: [&str; 3] = ["chat", "clinical-protocols", "cancer-diagnosis"];
const JURISDICTIONS: [&str; 3] = ["GB", "US", "none"];

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Medical {
    /// Telephone number of the emergency service, which calls to action name.
    pub emergency_number: String,
    /// Whose guidance counts where a request names none: `GB`, `US` or `none`.
    pub jurisdiction: String,
    /// Endpoints that need a key with `plan_a` pro or enterprise.
    pub pro_endpoints: Vec<String>,
}

impl Default for Medical {
    fn default() -> Self {
        Self {
            emergency_number: "112".to_owned(),
            jurisdiction: "GB".to_owned(),
            pro_endpoints: vec!["chat".to_owned(), "cancer-diagnosis".to_owned()],
        }
    }
}

impl Medical {
    /// # Errors
    /// A value is not accepted.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad = |name: &str, why: String| Err(ConfigError::Bad { setting: format!("medical.{name}"), why });
        let number = &self.emergency_number;
        let dialled = |c: char| c.is_ascii_digit() || matches!(c, '+' | ' ' | '-' | '/');
        if !(2..=20).contains(&number.chars().count()) || !number.chars().all(dialled) {
            return bad("emergency_number", "takes a telephone number of 2 to 20 characters, such as \"112\"".to_owned());
        }
        if !JURISDICTIONS.contains(&self.jurisdiction.as_str()) {
            return bad("jurisdiction", format!("takes {}", JURISDICTIONS.join(", ")));
        }
        match self.pro_endpoints.iter().find(|name| !ENDPOINTS.contains(&name.as_str())) {
            Some(unknown) => bad("pro_endpoints", format!("`{unknown}` is none of {}", ENDPOINTS.join(", "))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_reported() {
        let refused = |medical: Medical| medical.check().unwrap_err().to_string();
        assert!(Medical::default().check().is_ok());
        let number = Medical { emergency_number: "call us".to_owned(), ..Medical::default() };
        assert!(refused(number).starts_with("medical.emergency_number: "));
        let endpoint = Medical { pro_endpoints: vec!["surgery".to_owned()], ..Medical::default() };
        assert_eq!(
            refused(endpoint),
            "medical.pro_endpoints: `surgery` is none of chat, clinical-protocols, cancer-diagnosis"
        );
    }
}
