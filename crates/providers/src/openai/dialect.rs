//! Differences between servers of the same API.

use reqwest::Url;

use crate::{ChatRequest, Message, Role};

/// Variant of the API, determined by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI itself, also on Azure.
    OpenAi,
    /// Rejects unknown fields with 422.
    Mistral,
    /// All others: the common denominator.
    Common,
}

/// Field that bounds the answer's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitField {
    MaxTokens,
    MaxCompletionTokens,
}

/// Field for the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeedField {
    Seed,
    RandomSeed,
}

/// Field for the requested vector length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DimensionsField {
    Dimensions,
    OutputDimension,
}

impl Dialect {
    pub(super) fn of(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let under = |domain: &str| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        if under("openai.com") || under("openai.azure.com") {
            Self::OpenAi
        } else if under("mistral.ai") {
            Self::Mistral
        } else {
            Self::Common
        }
    }

    /// Only OpenAI's own models know `developer`; chat templates elsewhere fail on it.
    pub(super) fn role(self, role: Role) -> &'static str {
        match role {
            Role::Developer if self == Self::OpenAi => "developer",
            Role::System | Role::Developer => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }

    /// OpenAI's reasoning models (o1 and later, gpt-5 and later) reject `max_tokens`; other servers often know nothing
    /// else. Determined by the model's name, as no API reports it.
    pub(super) fn limit_field(self, model: &str) -> LimitField {
        if self == Self::OpenAi && is_openai_reasoning(model) {
            LimitField::MaxCompletionTokens
        } else {
            LimitField::MaxTokens
        }
    }

    pub(super) fn seed_field(self) -> SeedField {
        match self {
            Self::Mistral => SeedField::RandomSeed,
            Self::OpenAi | Self::Common => SeedField::Seed,
        }
    }

    /// Whether `user` of the request and `name` of a message are accepted.
    pub(super) fn takes_names(self) -> bool {
        self != Self::Mistral
    }

    /// Whether a request in OpenAI's form can be forwarded: not if a field would be rejected.
    pub(super) fn forwards_verbatim(self) -> bool {
        self != Self::Mistral
    }

    /// Whether the request has a role that the server knows under another name only.
    pub(super) fn renames_roles(self, request: &ChatRequest) -> bool {
        let developer = |message: &Message| message.role == Role::Developer;
        self.role(Role::Developer) != "developer" && request.messages.iter().any(developer)
    }

    /// Mistral requires nine letters or digits as the id of a tool call.
    pub(super) fn takes_any_call_id(self) -> bool {
        self != Self::Mistral
    }

    /// Value of `tool_choice` for "at least one tool".
    pub(super) fn any_tool(self) -> &'static str {
        match self {
            Self::Mistral => "any",
            Self::OpenAi | Self::Common => "required",
        }
    }

    /// Field for the requested vector length.
    pub(super) fn dimensions_field(self) -> DimensionsField {
        match self {
            Self::Mistral => DimensionsField::OutputDimension,
            Self::OpenAi | Self::Common => DimensionsField::Dimensions,
        }
    }

    /// Whether token inputs can be embedded.
    pub(super) fn embeds_tokens(self) -> bool {
        self != Self::Mistral
    }

    /// Whether `stream_options.include_usage` is sent; Mistral reports usage without it and does not document the
    /// field.
    pub(super) fn asks_usage(self) -> bool {
        self != Self::Mistral
    }
}

/// Returns whether this is one of OpenAI's reasoning models, by the beginning of its name: `o3-mini`, `gpt-5.6`,
/// `gpt-6`; not `gpt-4o`.
pub(crate) fn is_openai_reasoning(model: &str) -> bool {
    let leading_number = |text: &str| -> Option<u32> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text.get(..digits)?.parse().ok()
    };
    if let Some(rest) = model.strip_prefix("gpt-") {
        // `gpt-4o` and `gpt-35-turbo` (Azure's name of 3.5) are not.
        return leading_number(rest).is_some_and(|major| (5..30).contains(&major));
    }
    model.strip_prefix('o').and_then(leading_number).is_some_and(|major| major >= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_are_derived_from_hosts() {
        for (url, expected) in [
            ("https://api.openai.com/v1", Dialect::OpenAi),
            ("https://x.openai.azure.com/openai/v1", Dialect::OpenAi),
            ("https://notopenai.com/v1", Dialect::Common),
            ("https://api.mistral.ai/v1", Dialect::Mistral),
            ("http://127.0.0.1:11434/v1", Dialect::Common),
        ] {
            assert_eq!(Dialect::of(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn reasoning_models_are_recognised_by_name() {
        for model in ["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.6-luna", "gpt-6"] {
            assert!(is_openai_reasoning(model), "{model}");
        }
        for model in ["gpt-4o-mini", "gpt-4.1", "gpt-3.5-turbo", "gpt-35-turbo", "omni", "openai/o3", "gpt-oss-20b"] {
            assert!(!is_openai_reasoning(model), "{model}");
        }
    }

    #[test]
    fn fields_of_openai_are_sent_to_openai_only() {
        assert_eq!(Dialect::OpenAi.limit_field("gpt-5.6"), LimitField::MaxCompletionTokens);
        assert_eq!(Dialect::OpenAi.limit_field("gpt-4o"), LimitField::MaxTokens);
        assert_eq!(Dialect::Common.limit_field("gpt-5.6"), LimitField::MaxTokens);
        assert_eq!(Dialect::OpenAi.role(Role::Developer), "developer");
        assert_eq!(Dialect::Common.role(Role::Developer), "system");
    }
}
