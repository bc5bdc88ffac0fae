//! The key that kept conversations are sealed with.

use muster_seal::RecordSecret;

use crate::config;

/// Returns the key of the settings; `None` where nothing is kept.
///
/// # Errors
/// Conversations are to be kept, and there is no key or none that is accepted: says how to mend it.
pub fn record_secret(settings: &config::Medical) -> Result<Option<RecordSecret>, String> {
    if settings.keep_hours == 0 {
        return Ok(None);
    }
    let Some(key) = &settings.key else {
        return Err(format!(
            "medical.keep_hours is {}, and conversations are kept encrypted only: set MUSTER_MEDICAL_KEY to 32 random bytes \
             in base64 (`openssl rand -base64 32`) or to a passphrase, or set medical.keep_hours = 0",
            settings.keep_hours
        ));
    };
    RecordSecret::parse(&key.0).map(Some).map_err(|error| {
        format!("MUSTER_MEDICAL_KEY: {error}: set it to 32 random bytes in base64 (`openssl rand -base64 32`) or to a longer passphrase")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Medical, Secret};

    #[test]
    fn a_key_is_needed_only_where_conversations_are_kept() {
        let of = |keep_hours, key: Option<&str>| {
            let key = key.map(|text| Secret(text.to_owned()));
            record_secret(&Medical { keep_hours, key, ..Medical::default() })
        };
        assert!(of(0, None).unwrap().is_none() && of(0, Some("correct horse battery")).unwrap().is_none());
        assert!(of(1, Some("correct horse battery")).unwrap().is_some());
        assert!(of(1, None).unwrap_err().contains("set MUSTER_MEDICAL_KEY"));
        let short = of(1, Some("short")).unwrap_err();
        assert!(short.starts_with("MUSTER_MEDICAL_KEY: ") && !short.contains("\"short\""), "{short}");
    }
}
