//! Settings of vision and of pictures by URL.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ConfigError, Provider};

/// Models of vision in this process, by their id in `muster models pull`.
const MODELS: [&str; 3] = ["detect", "ocr", "moderate"];
/// Most addresses of tests.
const MAX_ALLOWED: usize = 64;

/// Vision and pictures by URL.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Media {
    /// Models of vision that this server is to have; health is degraded where one is absent.
    pub models: Vec<String>,
    /// Provider of kind `openai` whose moderation endpoint sees pictures to moderate; empty: none does.
    pub moderation: String,
    /// Program of Tesseract; empty: not used.
    pub tesseract: PathBuf,
    /// Addresses with ports from which pictures are fetched although they are not public. For tests.
    pub fetch_allow: Vec<SocketAddr>,
}

impl Default for Media {
    fn default() -> Self {
        Self {
            models: MODELS.map(str::to_owned).into(),
            moderation: String::new(),
            tesseract: PathBuf::from("tesseract"),
            fetch_allow: Vec::new(),
        }
    }
}

impl Media {
    /// # Errors
    /// An unknown model, a provider that is not there, or too many addresses.
    pub(super) fn check(&self, providers: &[Provider]) -> Result<(), ConfigError> {
        let bad = |setting: &str, why: String| Err(ConfigError::Bad { setting: format!("media.{setting}"), why });
        if let Some(unknown) = self.models.iter().find(|model| !MODELS.contains(&model.as_str())) {
            return bad("models", format!("names {unknown}: it takes any of {}", MODELS.join(", ")));
        }
        let id = &self.moderation;
        if !id.is_empty() && !providers.iter().any(|provider| provider.id == *id && provider.kind == "openai") {
            return bad("moderation", format!("names {id}, which is no [[provider]] of kind \"openai\""));
        }
        if self.fetch_allow.len() > MAX_ALLOWED {
            return bad("fetch_allow", format!("takes at most {MAX_ALLOWED} addresses"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked_by_name() {
        assert!(Media::default().check(&[]).is_ok());
        let refused = |media: Media| media.check(&[]).unwrap_err().to_string();
        let models = Media { models: vec!["ocrr".to_owned()], ..Media::default() };
        assert_eq!(refused(models), "media.models: names ocrr: it takes any of detect, ocr, moderate");
        let moderation = Media { moderation: "openai".to_owned(), ..Media::default() };
        assert!(refused(moderation).contains("no [[provider]] of kind \"openai\""));
    }
}
