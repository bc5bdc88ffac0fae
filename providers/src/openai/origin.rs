//! One provider as its calls see it: where it is, how it speaks, and how its failures are told.

use std::sync::Arc;
use std::time::SystemTime;

use reqwest::Url;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderValue;
use serde_json::Value;

use super::client::{self, ConfigError};
use super::dialect::Dialect;
use super::errors::{ErrorBody, classify};
use super::{OpenAiConfig, send};
use crate::fault::MAX_FAULT_WORDS;
use crate::retry_after::{parse_retry_after, parse_retry_after_ms};
use crate::{ChatRequest, Fault, Phase, Secret};

/// What all calls of one provider share.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) provider_id: String,
    pub(super) url: Url,
    pub(super) dialect: Dialect,
    pub(super) client: reqwest::Client,
    /// `Bearer …`, marked as sensitive.
    pub(super) authorization: Option<HeaderValue>,
    key: Option<Secret>,
}

impl Origin {
    pub(super) fn new(config: OpenAiConfig) -> Result<Self, ConfigError> {
        let url = client::endpoint(&config)?;
        let authorization = match &config.api_key {
            None => None,
            Some(key) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                    .map_err(|_| ConfigError::Key { provider: config.provider_id.clone() })?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(Self {
            client: client::client(&config, &url)?,
            dialect: Dialect::of(&url),
            authorization,
            url,
            key: config.api_key,
            provider_id: config.provider_id,
        })
    }
}

/// One call's view of its origin: turns what went wrong into a fault that shows neither the key nor the prompt.
#[derive(Debug, Clone)]
pub(super) struct Reporter {
    origin: Arc<Origin>,
    request: Arc<ChatRequest>,
}

/// Contents shorter than this are common words: taking them out would only garble the provider's message.
const SHORTEST_PROMPT_SCRUBBED: usize = 12;

impl Reporter {
    pub(super) fn new(origin: Arc<Origin>, request: Arc<ChatRequest>) -> Self {
        Self { origin, request }
    }

    /// A transient fault in our own words.
    pub(super) fn transient(&self, phase: Phase, what: impl std::fmt::Display) -> Fault {
        Fault::transient(phase, format!("{} {what}", self.origin.provider_id))
    }

    /// The connection or the transfer broke.
    pub(super) fn transport(&self, phase: Phase, error: &reqwest::Error) -> Fault {
        let what = if phase == Phase::Connect { "cannot be reached" } else { "broke the connection" };
        self.transient(phase, format_args!("{what}: {}", send::cause(error)))
    }

    /// The server answered with an error status.
    pub(super) fn status(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> Fault {
        let said = serde_json::from_slice::<Value>(body).map_or_else(
            |_| ErrorBody::from_text(&String::from_utf8_lossy(body)),
            |value| ErrorBody::from_json(&value),
        );
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let retry_after = header("retry-after-ms")
            .and_then(parse_retry_after_ms)
            .or_else(|| parse_retry_after(header("retry-after")?, SystemTime::now()));
        let mut fault = self.fault(Phase::Headers, Some(status), &said);
        fault.retry_after = retry_after;
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
    pub(super) fn reported(&self, phase: Phase, body: &Value) -> Fault {
        let said = ErrorBody::from_json(body);
        self.fault(phase, said.status, &said)
    }

    fn fault(&self, phase: Phase, status: Option<u16>, said: &ErrorBody) -> Fault {
        let (class, client) = classify(status, said);
        let about = match status {
            Some(status) => format!("answered {status}"),
            None => "reported an error".to_owned(),
        };
        let words = self.words(said.message.as_deref().unwrap_or("no reason given"));
        Fault {
            status,
            client,
            param: client.and(said.param.clone()),
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
        for message in &self.request.messages {
            if message.content.len() >= SHORTEST_PROMPT_SCRUBBED {
                text = text.replace(&message.content, "[prompt]");
            }
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_FAULT_WORDS).collect()
    }
}
