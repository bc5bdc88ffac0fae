//! Settings of the routing between models, of what is sent where a client leaves it open, and of load balancing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// What is sent to a provider where the client sent nothing.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Chat {
    /// Largest number of answer tokens of a request that states none.
    pub default_max_tokens: OrProvider<u32>,
    /// Temperature of a chat completion that states none.
    pub default_temperature: OrProvider<f32>,
}

impl Default for Chat {
    fn default() -> Self {
        Self { default_max_tokens: OrProvider::Value(2000), default_temperature: OrProvider::Value(0.7) }
    }
}

impl Chat {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad =
            |name: &str, why: &str| Err(ConfigError::Bad { setting: format!("chat.{name}"), why: why.to_owned() });
        if self.default_max_tokens.value().is_some_and(|tokens| !(1..=10_000_000).contains(&tokens)) {
            return bad("default_max_tokens", "takes 1 to 10000000, or \"provider\"");
        }
        if self.default_temperature.value().is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
            return bad("default_temperature", "takes 0 to 2, or \"provider\"");
        }
        Ok(())
    }
}

/// A value, or `"provider"`: none is sent, and the provider's own default applies.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(untagged, expecting = "takes a number, or \"provider\" to leave it to the provider")]
pub enum OrProvider<T> {
    Value(T),
    Provider(ProviderWord),
}

/// The word `provider`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderWord {
    Provider,
}

impl<T: Copy> OrProvider<T> {
    /// Returns the value, if one is to be sent.
    pub fn value(&self) -> Option<T> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Provider(_) => None,
        }
    }
}

/// Models that stand for a name: one, or several in order of preference.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged, expecting = "takes the name of a model, or a list of them")]
pub enum ModelNames {
    One(String),
    Several(Vec<String>),
}

impl ModelNames {
    pub fn to_vec(&self) -> Vec<String> {
        match self {
            Self::One(model) => vec![model.clone()],
            Self::Several(models) => models.clone(),
        }
    }
}

/// Model names by alias, or fallbacks by model.
pub type ModelTable = BTreeMap<String, ModelNames>;

/// Models each of which may answer for the others.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Equivalent {
    pub models: Vec<String>,
}

/// How the providers of one model share its requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Balance {
    #[default]
    Order,
    Weight,
    Latency,
}

/// What is done with a call under a budget, of a model without a price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unpriced {
    #[default]
    Refuse,
    Allow,
}

/// Weight of a provider whose settings have none.
pub(super) fn one() -> u32 {
    1
}
