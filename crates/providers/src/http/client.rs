//! The HTTP client of one provider, and its settings with their checks.

use std::time::Duration;

use reqwest::Url;
use reqwest::redirect::Policy;

use crate::Secret;

/// How one provider is reached.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// The name in faults and logs.
    pub provider_id: String,
    /// `http` or `https`, up to and without the endpoint, such as `/chat/completions`; no user, query or fragment.
    pub base_url: String,
    /// `None` sends no credential.
    pub api_key: Option<Secret>,
    /// Connections kept open while idle.
    pub idle_connections: usize,
}

impl HttpConfig {
    pub fn new(provider_id: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self { provider_id: provider_id.into(), base_url: base_url.into(), api_key: None, idle_connections: 256 }
    }

    pub fn with_key(mut self, key: Secret) -> Self {
        self.api_key = Some(key);
        self
    }
}

/// A setting that no client can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "provider {provider}: base_url {url:?} {why}; write it as https://host/v1, without the endpoint, such as /chat/completions"
    )]
    BaseUrl { provider: String, url: String, why: String },
    #[error("provider {provider}: the API key holds a line break or another control character")]
    Key { provider: String },
    #[error(
        "provider {provider}: no HTTPS client: {why}; install the system's root certificates (package ca-certificates)"
    )]
    Client { provider: String, why: String },
}

/// Idle connections are closed after this; below the keep-alive of common servers and balancers (60 s and more), so
/// that a request seldom meets a connection which the other side is just closing.
const IDLE: Duration = Duration::from_secs(30);

/// What people paste by mistake.
const ENDPOINTS: [&str; 3] = ["/chat/completions", "/embeddings", "/messages"];

/// The checked `base_url`, without a slash at its end.
pub(super) fn base(config: &HttpConfig) -> Result<Url, ConfigError> {
    let bad =
        |why: String| ConfigError::BaseUrl { provider: config.provider_id.clone(), url: config.base_url.clone(), why };
    let mut url = Url::parse(config.base_url.trim()).map_err(|e| bad(format!("is no URL: {e}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad("is neither http nor https".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // Not shown again: it holds a password.
        return Err(ConfigError::BaseUrl {
            provider: config.provider_id.clone(),
            url: "(hidden)".to_owned(),
            why: "holds a user or password, which belongs into api_key_env".to_owned(),
        });
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("has a query or a fragment".to_owned()));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    if ENDPOINTS.iter().any(|endpoint| path.ends_with(endpoint)) {
        return Err(bad("names the endpoint itself".to_owned()));
    }
    url.set_path(&path);
    Ok(url)
}

/// Makes ring the process's provider of cryptography; an earlier choice stands.
pub fn install_tls() {
    // Fails only if a provider of cryptography is there already, and then that one serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client that goes where it is told and nowhere else: no redirects, no proxy from the environment, no cookies.
pub(super) fn client(config: &HttpConfig, url: &Url) -> Result<reqwest::Client, ConfigError> {
    install_tls();
    let mut builder = reqwest::Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(config.idle_connections)
        .user_agent(concat!("muster/", env!("CARGO_PKG_VERSION")));
    if url.scheme() == "http" {
        // A local server is reachable on a machine without root certificates too.
        builder = builder.tls_certs_only([]).http1_only();
    } else {
        builder = builder.https_only(true);
    }
    builder
        .build()
        .map_err(|e| ConfigError::Client { provider: config.provider_id.clone(), why: super::send::cause(&e) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url_of(base: &str) -> Result<String, ConfigError> {
        super::base(&HttpConfig::new("p", base)).map(|u| u.to_string())
    }

    #[test]
    fn a_base_ends_without_a_slash() {
        for (base, expected) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1"),
            ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"),
            ("https://api.deepseek.com", "https://api.deepseek.com/"),
        ] {
            assert_eq!(url_of(base).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn bad_bases_are_refused_without_showing_a_password() {
        for base in
            ["", "api.openai.com/v1", "ftp://host/v1", "https://host/v1?key=1", "https://host/v1/chat/completions"]
        {
            assert!(url_of(base).is_err(), "{base}");
        }
        let error = url_of("https://me:hunter2@host/v1").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
