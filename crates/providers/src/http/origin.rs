//! One provider as its calls see it: where it is, how it speaks, and how its failures are told.

use std::sync::Arc;
use std::time::SystemTime;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use thread_local::ThreadLocal;

use super::client::{self, ConfigError, HttpConfig};
use super::errors::{Classify, ErrorBody};
use super::send;
use crate::fault::MAX_FAULT_WORDS;
use crate::retry_after::{parse_retry_after, parse_retry_after_ms};
use crate::{ChatRequest, EmbedInput, EmbedRequest, Fault, Phase, Secret};

/// What all calls of one provider share.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) provider_id: String,
    /// Checked, without a slash at its end.
    pub(crate) base: Url,
    config: HttpConfig,
    /// One for each serving thread: a connection's task then runs where its requests do, and wakes no other thread.
    clients: ThreadLocal<reqwest::Client>,
    /// Sent with every call: the credential, marked as sensitive, and what the wire demands.
    pub(super) headers: HeaderMap,
    classify: Classify,
    key: Option<Secret>,
}

impl Origin {
    /// `credential` says the key as the wire wants it, such as `Bearer …` under `authorization`; `fixed` are further
    /// headers of every call.
    pub(crate) fn new(
        config: HttpConfig,
        credential: (HeaderName, fn(&str) -> String),
        fixed: &[(HeaderName, &'static str)],
        classify: Classify,
    ) -> Result<Self, ConfigError> {
        let base = client::base(&config)?;
        let clients = ThreadLocal::new();
        // Made once here, so that settings no client can be made of are told at the start.
        clients.get_or_try(|| client::client(&config, &base))?;
        let mut headers: HeaderMap =
            fixed.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        if let Some(key) = &config.api_key {
            let (name, say) = credential;
            let mut value = HeaderValue::from_str(&say(key.expose()))
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

    /// The address of an endpoint, such as `/chat/completions`.
    pub(crate) fn endpoint(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }
}

/// The request whose words must not be in a fault.
#[derive(Debug, Clone)]
pub(crate) enum Asked {
    Chat(Arc<ChatRequest>),
    Embed(Arc<EmbedRequest>),
}

impl Asked {
    fn texts(&self) -> Vec<&str> {
        match self {
            Self::Chat(request) => request.messages.iter().flat_map(|message| message.content.texts()).collect(),
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

/// One call's view of its origin: turns what went wrong into a fault that shows neither the key nor the prompt.
#[derive(Debug, Clone)]
pub(crate) struct Reporter {
    origin: Arc<Origin>,
    asked: Asked,
}

/// Contents shorter than this are common words: taking them out would only garble the provider's message.
const SHORTEST_PROMPT_SCRUBBED: usize = 12;

impl Reporter {
    pub(crate) fn new(origin: Arc<Origin>, asked: Asked) -> Self {
        Self { origin, asked }
    }

    /// A transient fault in our own words.
    pub(crate) fn transient(&self, phase: Phase, what: impl std::fmt::Display) -> Fault {
        Fault::transient(phase, format!("{} {what}", self.origin.provider_id))
    }

    /// The connection or the transfer broke.
    pub(crate) fn transport(&self, phase: Phase, error: &reqwest::Error) -> Fault {
        let what = if phase == Phase::Connect { "cannot be reached" } else { "broke the connection" };
        self.transient(phase, format_args!("{what}: {}", send::cause(error)))
    }

    /// The server answered with an error status.
    pub(crate) fn status(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> Fault {
        let said = serde_json::from_slice::<Value>(body).map_or_else(
            |_| ErrorBody::from_text(&String::from_utf8_lossy(body)),
            |value| ErrorBody::from_json(&value),
        );
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let retry_after = header("retry-after-ms")
            .and_then(parse_retry_after_ms)
            .or_else(|| parse_retry_after(header("retry-after")?, SystemTime::now()));
        let mut fault = self.fault(Phase::Headers, Some(status), &said);
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

    /// The server reported an error inside a successful answer.
    pub(crate) fn reported(&self, phase: Phase, body: &Value) -> Fault {
        let said = ErrorBody::from_json(body);
        self.fault(phase, said.status, &said)
    }

    fn fault(&self, phase: Phase, status: Option<u16>, said: &ErrorBody) -> Fault {
        let (class, client) = (self.origin.classify)(status, said);
        let about = match status {
            Some(status) => format!("answered {status}"),
            None => "reported an error".to_owned(),
        };
        let words = self.words(said.message.as_deref().unwrap_or("no reason given"));
        Fault {
            status,
            client,
            param: client.and(said.param.clone()),
            retry_after: said.retry_after,
            ..Fault::new(class, phase, format!("{} {about}: {words}", self.origin.provider_id))
        }
    }

    /// The provider's own words: bounded, on one line, without the key and without the prompt.
    fn words(&self, text: &str) -> String {
        // Validators built on pydantic quote the whole request after this word.
        let cut = ["'input':", "\"input\":"].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
        let mut text = text.get(..cut).unwrap_or_default().to_owned();
        if let Some(key) = &self.origin.key {
            text = key.scrub(&text);
        }
        for prompt in self.asked.texts() {
            if prompt.len() >= SHORTEST_PROMPT_SCRUBBED {
                text = text.replace(prompt, "[prompt]");
            }
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_FAULT_WORDS).collect()
    }
}
