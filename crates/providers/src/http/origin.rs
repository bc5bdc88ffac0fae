//! One provider's endpoint: its address, headers, clients and fault reporting.

use std::sync::Arc;
use std::time::SystemTime;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use thread_local::ThreadLocal;

use super::client::{self, ConfigError, HttpConfig};
use super::errors::{Classify, ErrorBody};
use super::send;
use crate::fault::MAX_FAULT_MESSAGE_CHARS;
use crate::retry_after::{parse_retry_after, parse_retry_after_ms};
use crate::{ChatRequest, EmbedInput, EmbedRequest, Fault, FaultClass, FaultScope, ImageRequest, Phase, Secret};

/// Shared by all calls of one provider.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) provider_id: String,
    /// Validated, without a trailing slash.
    pub(crate) base: Url,
    config: HttpConfig,
    /// One client per serving thread: a connection's task then runs on the thread of its requests and wakes no other.
    clients: ThreadLocal<reqwest::Client>,
    /// Sent with every call: the credential, marked as sensitive, and headers required by the protocol.
    pub(super) headers: HeaderMap,
    classify: Classify,
    key: Option<Secret>,
}

impl Origin {
    /// `credential` formats the key for the protocol, such as `Bearer …` under `authorization`; `fixed` are further
    /// headers of every call.
    pub(crate) fn new(
        config: HttpConfig,
        credential: (HeaderName, fn(&str) -> String),
        fixed: &[(HeaderName, &'static str)],
        classify: Classify,
    ) -> Result<Self, ConfigError> {
        let base = client::base(&config)?;
        let clients = ThreadLocal::new();
        // Created once here, so that invalid settings fail at start.
        clients.get_or_try(|| client::client(&config, &base))?;
        let mut headers: HeaderMap =
            fixed.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        if let Some(key) = &config.api_key {
            let (name, format) = credential;
            let mut value = HeaderValue::from_str(&format(key.expose()))
                .map_err(|_| ConfigError::Key { provider: config.provider_id.clone() })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Self {
            headers,
            classify,
            base,
            clients,
            key: config.api_key.clone(),
            provider_id: config.provider_id.clone(),
            config,
        })
    }

    /// This thread's client.
    pub(super) fn client(&self) -> Result<&reqwest::Client, ConfigError> {
        self.clients.get_or_try(|| client::client(&self.config, &self.base))
    }

    /// Returns the URL of an endpoint, such as `/chat/completions`.
    pub(crate) fn endpoint(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }
}

/// The request whose text must not appear in a fault.
#[derive(Debug, Clone)]
pub(crate) enum RequestText {
    Chat(Arc<ChatRequest>),
    Embed(Arc<EmbedRequest>),
    Image(Arc<ImageRequest>),
    /// A request without text.
    None,
}

impl RequestText {
    fn texts(&self) -> Vec<&str> {
        match self {
            Self::Chat(request) => request.messages.iter().flat_map(|message| message.content.texts()).collect(),
            Self::Image(request) => vec![request.prompt.as_str()],
            Self::None => Vec::new(),
            Self::Embed(request) => request
                .inputs
                .iter()
                .filter_map(|input| match input {
                    EmbedInput::Text(text) => Some(text.as_str()),
                    EmbedInput::Tokens(_) => None,
                })
                .collect(),
        }
    }
}

/// Turns failures of one call into faults that reveal neither key nor prompt.
#[derive(Debug, Clone)]
pub(crate) struct Reporter {
    origin: Arc<Origin>,
    request_text: RequestText,
}

/// Contents shorter than this are common words: removing them would only garble the provider's message.
const SHORTEST_PROMPT_SCRUBBED: usize = 12;

impl Reporter {
    pub(crate) fn new(origin: Arc<Origin>, request_text: RequestText) -> Self {
        Self { origin, request_text }
    }

    /// A transient fault with our own message.
    pub(crate) fn transient(&self, phase: Phase, what: impl std::fmt::Display) -> Fault {
        Fault::transient(phase, format!("{} {what}", self.origin.provider_id))
    }

    /// A broken connection or transfer.
    pub(crate) fn transport(&self, phase: Phase, error: &reqwest::Error) -> Fault {
        let what = if phase == Phase::Connect { "cannot be reached" } else { "broke the connection" };
        self.transient(phase, format_args!("{what}: {}", send::cause(error)))
    }

    /// A response with an error status.
    pub(crate) fn status(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> Fault {
        let error_body = serde_json::from_slice::<Value>(body).map_or_else(
            |_| ErrorBody::from_text(&String::from_utf8_lossy(body)),
            |value| ErrorBody::from_json(&value),
        );
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let retry_after = header("retry-after-ms")
            .and_then(parse_retry_after_ms)
            .or_else(|| parse_retry_after(header("retry-after")?, SystemTime::now()));
        let mut fault = self.fault(Phase::Headers, Some(status), &error_body);
        fault.retry_after = retry_after.or(fault.retry_after);
        if (300..400).contains(&status) {
            let target = header("location").unwrap_or("an unnamed place");
            fault.message = self.words(&format!(
                "{} redirects to {target}; redirects are not followed: set base_url to the final address",
                self.origin.provider_id
            ));
        }
        fault
    }

    /// An error reported inside a successful response.
    pub(crate) fn reported(&self, phase: Phase, body: &Value) -> Fault {
        let error_body = ErrorBody::from_json(body);
        self.fault(phase, error_body.status, &error_body)
    }

    fn fault(&self, phase: Phase, status: Option<u16>, error_body: &ErrorBody) -> Fault {
        let (class, client) = (self.origin.classify)(status, error_body);
        let about = match status {
            Some(status) => format!("answered {status}"),
            None => "reported an error".to_owned(),
        };
        let scope = match class {
            FaultClass::Transient => FaultScope::Model,
            // The name of the model is wrong, not the key.
            FaultClass::Hard if status == Some(404) || error_body.unknown_model() => FaultScope::Model,
            FaultClass::Hard | FaultClass::Throttled | FaultClass::Client => FaultScope::Provider,
        };
        let words = self.words(error_body.message.as_deref().unwrap_or("no reason given"));
        Fault {
            reported: true,
            status,
            scope,
            client,
            param: client.and(error_body.param.clone()),
            retry_after: error_body.retry_after,
            ..Fault::new(class, phase, format!("{} {about}: {words}", self.origin.provider_id))
        }
    }

    /// The provider's message: bounded, on one line, without key and prompt.
    fn words(&self, text: &str) -> String {
        // Validators built on pydantic quote the whole request after this word.
        let cut = ["'input':", "\"input\":"].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
        let mut text = text.get(..cut).unwrap_or_default().to_owned();
        if let Some(key) = &self.origin.key {
            text = key.scrub(&text);
        }
        for prompt in self.request_text.texts() {
            if prompt.len() >= SHORTEST_PROMPT_SCRUBBED {
                text = text.replace(prompt, "[prompt]");
            }
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_FAULT_MESSAGE_CHARS).collect()
    }
}
