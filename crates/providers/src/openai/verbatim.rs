//! Forwards a request in OpenAI's form with only the necessary changes.
//!
//! The object is split by the JSON parser, not by searching the text: a member is recognised however its name is
//! escaped. Only members of a list are forwarded, because what is unknown here is priced nowhere (other models, plug-ins,
//! service tiers, searches); each name occurs once, with its last value, which is the one that was read here.

use std::collections::HashMap;

use super::dialect::{Dialect, LimitField};
use crate::Call;
use crate::http::Mode;
use crate::members::{Member, Members, Object};

/// Members that are set here, whatever the client sent.
const OURS: [&str; 5] = ["model", "stream", "stream_options", "max_tokens", "max_completion_tokens"];
/// Members of the Chat Completions API whose cost is that of the tokens: forwarded to every server of this wire.
const FORWARDED: [&str; 23] = [
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "temperature",
    "top_p",
    "n",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "user",
    "reasoning_effort",
    "verbosity",
    "functions",
    "function_call",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
];
/// Members of the Chat Completions API that are accepted and not forwarded, as no answer depends on them: nothing is
/// stored at a provider, and a call is made at the tier whose price is known.
const DROPPED: [&str; 3] = ["store", "metadata", "service_tier"];
/// Sampling parameters, which some models reject.
const SAMPLING: [&str; 5] = ["temperature", "top_p", "presence_penalty", "frequency_penalty", "seed"];

/// Returns whether a member of a chat completion is outside the list of those that are forwarded or dropped: only a
/// provider whose settings name it gets it.
pub fn is_chat_extension(name: &str) -> bool {
    !(OURS.contains(&name) || FORWARDED.contains(&name) || DROPPED.contains(&name))
}

/// Returns the client's body with the model, stream, length and, if absent, temperature of this call. `None` if the
/// request is not in this form or the dialect does not accept it; then it is encoded. `more` are members to forward in
/// addition to the standard ones.
pub(super) fn forward(call: &Call, dialect: Dialect, more: &[String], mode: Mode) -> Option<Vec<u8>> {
    let verbatim = call.request.verbatim.as_ref()?;
    if !dialect.forwards_verbatim(&call.request) {
        return None;
    }
    let members: Members<'_> = serde_json::from_slice(verbatim).ok()?;
    let mut out = Object::with_capacity(verbatim.len() + call.upstream_model.len() + 96);
    out.put("model", &call.upstream_model)?;
    out.put("stream", &(mode == Mode::Streamed))?;
    if mode == Mode::Streamed && dialect.asks_usage() {
        out.put_raw("\"stream_options\"", &stream_options(&members)?);
    }
    if let Some(limit) = call.request.max_tokens {
        let field = match dialect.limit_field(&call.upstream_model) {
            LimitField::MaxTokens => "max_tokens",
            LimitField::MaxCompletionTokens => "max_completion_tokens",
        };
        out.put(field, &limit)?;
    }
    let client_heats = members.last("temperature").is_some_and(|value| value != "null");
    if let Some(temperature) = call.request.sampling.temperature.filter(|_| call.takes_sampling && !client_heats) {
        out.put("temperature", &temperature)?;
    }
    let passes = |name: &str| {
        let sampling = SAMPLING.contains(&name);
        let unheated = name == "temperature" && !client_heats;
        let listed = FORWARDED.contains(&name) || more.iter().any(|more| more == name);
        listed && !OURS.contains(&name) && (call.takes_sampling || !sampling) && !unheated
    };
    let passed = || members.0.iter().enumerate().filter(|(_, member)| passes(&member.name));
    let last: HashMap<&str, usize> = passed().map(|(place, member)| (&*member.name, place)).collect();
    for (place, Member { name, key, value }) in passed() {
        if last.get(&**name) == Some(&place) {
            out.put_raw(key, value);
        }
    }
    Some(out.close())
}

/// The client's stream options plus usage.
fn stream_options(members: &Members<'_>) -> Option<String> {
    let mut out = Object::with_capacity(32);
    out.put("include_usage", &true)?;
    let given = members.last("stream_options").unwrap_or("null");
    let options: Option<Members<'_>> = serde_json::from_str(given).ok()?;
    for Member { name, key, value } in options.iter().flat_map(|options| &options.0) {
        if name != "include_usage" {
            out.put_raw(key, value);
        }
    }
    String::from_utf8(out.close()).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::{ChatRequest, Message, Role, Sampling, Timeouts};

    fn call(verbatim: String, takes_sampling: bool) -> Call {
        let second = Duration::from_secs(1);
        Call {
            upstream_model: "the \"model\"".to_owned(),
            takes_sampling,
            request: Arc::new(ChatRequest {
                messages: vec![Message::text(Role::User, "hi")],
                sampling: Sampling { temperature: Some(0.5), ..Sampling::default() },
                max_tokens: Some(9),
                verbatim: Some(verbatim.into()),
                ..ChatRequest::default()
            }),
            timeouts: Timeouts { connect: second, headers: second, first_delta: second, between_deltas: second },
            request_id: "req_1".to_owned(),
            traceparent: None,
        }
    }

    #[test]
    fn the_length_is_sent_in_the_field_of_the_model() {
        let body = |dialect, model: &str| {
            let mut call = call(r#"{"max_tokens":1,"max_completion_tokens":2}"#.to_owned(), false);
            call.upstream_model = model.to_owned();
            String::from_utf8(forward(&call, dialect, &[], Mode::Whole).unwrap()).unwrap()
        };
        assert_eq!(body(Dialect::OpenAi, "o3"), r#"{"model":"o3","stream":false,"max_completion_tokens":9}"#);
        assert_eq!(body(Dialect::OpenAi, "gpt-4o"), r#"{"model":"gpt-4o","stream":false,"max_tokens":9}"#);
        assert_eq!(body(Dialect::Common, "o3"), r#"{"model":"o3","stream":false,"max_tokens":9}"#);
    }

    #[test]
    fn fields_are_sent_only_to_dialects_that_have_them() {
        let mut call = call("{}".to_owned(), true);
        let forwards = |call: &Call, dialect| forward(call, dialect, &[], Mode::Whole).is_some();
        assert!(forwards(&call, Dialect::OpenAi) && forwards(&call, Dialect::Common));
        assert!(!forwards(&call, Dialect::Mistral));
        Arc::make_mut(&mut call.request).messages.push(Message::text(Role::Developer, "be brief"));
        assert!(forwards(&call, Dialect::OpenAi) && !forwards(&call, Dialect::Common));
    }

    #[test]
    fn members_without_a_price_are_forwarded_only_where_the_settings_name_them() {
        let body = r#"{"messages":[],"models":["dear"],"provider":{"order":["x"]},"plugins":[{"id":"web"}],"store":true,
            "service_tier":"priority","n":4,"\u006e":1,"web_search_options":{},"top_k":40,"user":"ann","model":"dear"}"#;
        let sent = |more: &[&str]| {
            let more: Vec<String> = more.iter().map(|&name| name.to_owned()).collect();
            let call = call(body.to_owned(), false);
            String::from_utf8(forward(&call, Dialect::Common, &more, Mode::Whole).unwrap()).unwrap()
        };
        let ours = r#"{"model":"the \"model\"","stream":false,"max_tokens":9,"messages":[],"#;
        assert_eq!(sent(&[]), format!(r#"{ours}"\u006e":1,"user":"ann"}}"#));
        assert_eq!(
            sent(&["top_k", "models", "model"]),
            format!(r#"{ours}"models":["dear"],"\u006e":1,"top_k":40,"user":"ann"}}"#),
            "a setting cannot replace the model"
        );
        let extensions: Vec<&str> = ["model", "n", "store", "models", "web_search_options"]
            .into_iter()
            .filter(|name| is_chat_extension(name))
            .collect();
        assert_eq!(extensions, ["models", "web_search_options"]);
    }

    /// A member's name, and one spelling of it: plain, or with its first letter escaped.
    fn key() -> impl Strategy<Value = (String, String)> {
        let known = prop_oneof![
            Just("model"),
            Just("stream"),
            Just("stream_options"),
            Just("max_tokens"),
            Just("max_completion_tokens"),
            Just("temperature"),
            Just("top_p"),
            Just("seed"),
            Just("messages"),
            Just("tools"),
        ];
        let name = prop_oneof![2 => known.prop_map(str::to_owned), 1 => "[a-zé漢😀 /]{1,6}"];
        (name, any::<bool>()).prop_map(|(name, escaped)| {
            let mut letters = name.chars();
            let written = match letters.next() {
                Some(first) if escaped && first.is_ascii() => {
                    format!("\"\\u{:04x}{}\"", u32::from(first), letters.as_str())
                }
                _ => format!("\"{name}\""),
            };
            (name, written)
        })
    }

    /// JSON with unusual blanks, numbers and escapes.
    fn value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("1.50".to_owned()),
            Just("-0".to_owned()),
            Just("1e400".to_owned()),
            Just("\"\\u0041\\/\\\"}\"".to_owned()),
            Just("\"model\"".to_owned()),
            Just("123456789012345678901234567890".to_owned()),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(|all| format!("[ {} ]", all.join(" ,\n"))),
                proptest::collection::vec(inner, 0..3).prop_map(|all| {
                    let members: Vec<String> = all.iter().map(|value| format!("\"model\" :\t{value}")).collect();
                    format!("{{{}}}", members.join(", "))
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// All other members are unchanged and in order, the last of each name; ours occur once.
        #[test]
        fn every_other_member_is_unchanged(
            members in proptest::collection::vec((key(), value()), 0..10),
            takes_sampling in any::<bool>(),
            streamed in any::<bool>(),
        ) {
            // Without an object there is no request of this form.
            let members: Vec<((String, String), String)> = members
                .into_iter()
                .map(|((name, key), value)| {
                    let value = if name == "stream_options" { "{\"model\" : 1}".to_owned() } else { value };
                    ((name, key), value)
                })
                .collect();
            let text: Vec<String> = members.iter().map(|((_, key), value)| format!("\n{key} : {value}")).collect();
            let mode = if streamed { Mode::Streamed } else { Mode::Whole };
            let call = call(format!("{{{} }}", text.join(" ,")), takes_sampling);
            let more: Vec<String> = members.iter().map(|((name, _), _)| name.clone()).collect();
            let body = forward(&call, Dialect::Common, &more, mode).unwrap();

            let sent: Members<'_> = serde_json::from_slice(&body).unwrap();
            let heats = members.iter().rev().find(|((name, _), _)| name == "temperature").is_some_and(|(_, v)| v != "null");
            let is_ours = |name: &str| {
                OURS.contains(&name) || (name == "temperature" && !heats) || (!takes_sampling && SAMPLING.contains(&name))
            };
            let later = |place: usize, name: &str| members[place + 1..].iter().any(|((later, _), _)| later == name);
            let kept: Vec<(&str, &str)> = members
                .iter()
                .enumerate()
                .filter(|(place, ((name, _), _))| !is_ours(name) && !later(*place, name))
                .map(|(_, ((_, key), value))| (&**key, &**value))
                .collect();
            let others: Vec<(&str, &str)> =
                sent.0.iter().filter(|member| !is_ours(&member.name)).map(|member| (member.key, member.value)).collect();
            prop_assert_eq!(others, kept);

            let ours: Vec<(&str, &str)> =
                sent.0.iter().filter(|member| is_ours(&member.name)).map(|member| (&*member.name, member.value)).collect();
            let mut expected = vec![("model", "\"the \\\"model\\\"\""), ("stream", if streamed { "true" } else { "false" })];
            if streamed {
                let given = members.iter().any(|((name, _), _)| name == "stream_options");
                let options = if given { "{\"include_usage\":true,\"model\":1}" } else { "{\"include_usage\":true}" };
                expected.push(("stream_options", options));
            }
            expected.push(("max_tokens", "9"));
            if takes_sampling && !heats {
                expected.push(("temperature", "0.5"));
            }
            prop_assert_eq!(ours, expected);
            // Where all numbers are of a size that a parser can hold, the whole is valid for one that checks everything.
            if !body.windows(5).any(|part| part == b"1e400") {
                prop_assert!(serde_json::from_slice::<Value>(&body).is_ok());
            }
        }
    }
}
