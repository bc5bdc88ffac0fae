//! HTTP client of one provider, and its settings.

use std::time::Duration;

use reqwest::Url;
use reqwest::redirect::Policy;

use crate::Secret;

/// Connection settings of one provider.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Provider id used in faults and logs.
    pub provider_id: String,
    /// `http` or `https` URL without the endpoint (such as `/chat/completions`), user, query and fragment.
    pub base_url: String,
    /// API key; `None` sends no credential.
    pub api_key: Option<Secret>,
    /// Maximum number of idle connections kept open.
    pub idle_connections: usize,
    /// Members of a chat in OpenAI's form that are forwarded in addition to the standard ones.
    pub forward: Vec<String>,
}

impl HttpConfig {
    /// Creates settings without a key.
    pub fn new(provider_id: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            provider_id: provider_id.into(),
            base_url: base_url.into(),
            api_key: None,
            idle_connections: 256,
            forward: Vec::new(),
        }
    }

    /// Sets the members of a chat that are forwarded in addition to the standard ones.
    #[must_use]
    pub fn with_forward(mut self, members: Vec<String>) -> Self {
        self.forward = members;
        self
    }

    /// Sets the API key.
    pub fn with_key(mut self, key: Secret) -> Self {
        self.api_key = Some(key);
        self
    }
}

/// Why no client can be created from the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The base URL is invalid.
    #[error(
        "provider {provider}: base_url {url:?} {why}; write it as https://host/v1, without the endpoint, such as /chat/completions"
    )]
    BaseUrl {
        /// Provider id.
        provider: String,
        /// The configured URL.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The API key contains a control character.
    #[error("provider {provider}: the API key contains a line break or another control character: remove it")]
    Key {
        /// Provider id.
        provider: String,
    },
    /// No HTTPS client can be created.
    #[error(
        "provider {provider}: no HTTPS client: {why}; install the system's root certificates (package ca-certificates)"
    )]
    Client {
        /// Provider id.
        provider: String,
        /// What failed.
        why: String,
    },
}

/// Idle connections are closed after this time; below the keep-alive of common servers and load balancers (60 s and
/// more), so that a request rarely meets a connection that the other side is closing.
const IDLE: Duration = Duration::from_secs(30);

/// Endpoints that are often pasted by mistake.
const ENDPOINTS: [&str; 3] = ["/chat/completions", "/embeddings", "/messages"];

/// Returns the validated `base_url` without a trailing slash.
pub(super) fn base(config: &HttpConfig) -> Result<Url, ConfigError> {
    let bad =
        |why: String| ConfigError::BaseUrl { provider: config.provider_id.clone(), url: config.base_url.clone(), why };
    let mut url = Url::parse(config.base_url.trim()).map_err(|e| bad(format!("is no URL: {e}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad("is neither http nor https".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // Not part of the message: it contains a password.
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

/// Installs ring as the process's TLS crypto provider; an earlier choice is kept.
pub fn install_tls() {
    // Fails only if a crypto provider is already installed, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Creates a client without redirects, environment proxies and cookies.
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
        // A local server must be reachable on a machine without root certificates.
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
    fn trailing_slashes_of_a_base_url_are_removed() {
        for (base, expected) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1"),
            ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"),
            ("https://api.deepseek.com", "https://api.deepseek.com/"),
        ] {
            assert_eq!(url_of(base).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn invalid_base_urls_are_rejected_without_revealing_a_password() {
        for base in
            ["", "api.openai.com/v1", "ftp://host/v1", "https://host/v1?key=1", "https://host/v1/chat/completions"]
        {
            assert!(url_of(base).is_err(), "{base}");
        }
        let error = url_of("https://me:hunter2@host/v1").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
