//! Forwards a request in OpenAI's form with only the necessary changes.
//!
//! The object is split by the JSON parser, not by searching the text: a member is recognised however its name is
//! escaped. Only members of a list are forwarded, because what is unknown here is priced nowhere (other models, plug-ins,
//! service tiers, searches); each name occurs once, with its last value, which is the one that was read here.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::dialect::{Dialect, LimitField};
use crate::http::Mode;
use crate::members::{Member, Members, Object, with_members};
use crate::{Call, Role};

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
/// Names of the bound on the answer.
const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

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
    if !dialect.forwards_verbatim() {
        return None;
    }
    let members: Members<'_> = serde_json::from_slice(verbatim).ok()?;
    let mut out = Object::with_capacity(verbatim.len() + call.upstream_model.len() + 96);
    out.put("model", &call.upstream_model)?;
    out.put("stream", &(mode == Mode::Streamed))?;
    if mode == Mode::Streamed && dialect.asks_usage() {
        out.put_raw("\"stream_options\"", &stream_options(&members)?);
    }
    put_limit(&mut out, call, dialect, &members)?;
    let is_set = |name: &str| members.last(name).is_some_and(|value| value != "null");
    let heated = is_set("temperature");
    if let Some(temperature) = call.temperature().filter(|_| !heated) {
        out.put("temperature", &temperature)?;
    }
    let renames = dialect.renames_roles(&call.request);
    let passes = |name: &str| {
        let listed = FORWARDED.contains(&name) || more.iter().any(|more| more == name);
        listed && !OURS.contains(&name) && (heated || name != "temperature")
    };
    let passed = || members.0.iter().enumerate().filter(|(_, member)| passes(&member.name));
    let last: HashMap<&str, usize> = passed().map(|(place, member)| (&*member.name, place)).collect();
    for (place, Member { name, key, value }) in passed() {
        if last.get(&**name) != Some(&place) {
            continue;
        }
        match renames && name == "messages" {
            true => out.put_raw(key, &with_roles(value, dialect)?),
            false => out.put_raw(key, value),
        }
    }
    Some(out.close())
}

/// Writes the bound on the answer: as the client wrote it and under its names, unless it is more than this call may
/// have or the model knows another name only. Without one of the client's, under the name of the model.
fn put_limit(out: &mut Object, call: &Call, dialect: Dialect, members: &Members<'_>) -> Option<()> {
    let Some(limit) = call.max_tokens() else { return Some(()) };
    let field = match dialect.limit_field(&call.upstream_model) {
        LimitField::MaxTokens => "max_tokens",
        LimitField::MaxCompletionTokens => "max_completion_tokens",
    };
    let own = LIMITS.map(|name| (name, members.last(name).filter(|value| *value != "null")));
    if own.iter().all(|(_, value)| value.is_none()) || field == "max_completion_tokens" {
        return out.put(field, &limit);
    }
    for (name, value) in own {
        let Some(value) = value else { continue };
        let within = value.parse::<f64>().is_ok_and(|sent| sent <= f64::from(limit));
        match within {
            true => out.put_raw(&format!("\"{name}\""), value),
            false => out.put(name, &limit)?,
        }
    }
    Some(())
}

/// The client's messages with roles that the server knows; all else in them is unchanged.
fn with_roles(messages: &str, dialect: Dialect) -> Option<String> {
    #[derive(Deserialize)]
    struct OfRole {
        role: Role,
    }
    let messages: Vec<&RawValue> = serde_json::from_str(messages).ok()?;
    let message = |message: &&RawValue| {
        let OfRole { role } = serde_json::from_str(message.get()).ok()?;
        match dialect.role(role) {
            name if role == Role::Developer => {
                String::from_utf8(with_members(message.get().as_bytes(), &[("role", name.into())])?).ok()
            }
            _ => Some(message.get().to_owned()),
        }
    };
    let messages: Option<Vec<String>> = messages.iter().map(message).collect();
    Some(format!("[{}]", messages?.join(",")))
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
    use crate::{ChatDefaults, ChatRequest, Message, Role, Timeouts};

    fn call(verbatim: String, takes_sampling: bool) -> Call {
        let second = Duration::from_secs(1);
        Call {
            upstream_model: "the \"model\"".to_owned(),
            takes_sampling,
            reasons: false,
            max_output: None,
            request: Arc::new(ChatRequest {
                messages: vec![Message::text(Role::User, "hi")],
                defaults: ChatDefaults { temperature: Some(0.5), max_tokens: Some(9) },
                verbatim: Some(verbatim.into()),
                ..ChatRequest::default()
            }),
            timeouts: Timeouts { connect: second, headers: second, first_delta: second, between_deltas: second },
            request_id: "req_1".to_owned(),
            traceparent: None,
        }
    }

    #[test]
    fn the_length_keeps_its_name_unless_the_model_knows_another_only() {
        let body = |dialect, model: &str, sent: &str, bound: Option<u32>| {
            let mut call = call(sent.to_owned(), false);
            call.upstream_model = model.to_owned();
            Arc::make_mut(&mut call.request).max_tokens = bound;
            let body: Value = serde_json::from_slice(&forward(&call, dialect, &[], Mode::Whole).unwrap()).unwrap();
            LIMITS.map(|name| body.get(name).and_then(Value::as_u64))
        };
        let (tokens, completion) = (r#"{"max_tokens":5}"#, r#"{"max_completion_tokens":5}"#);
        for (dialect, model, sent, bound, expected) in [
            (Dialect::Common, "m", tokens, 5, [Some(5), None]),
            (Dialect::Common, "m", completion, 5, [None, Some(5)]),
            (Dialect::OpenAi, "gpt-4o", completion, 5, [None, Some(5)]),
            (Dialect::OpenAi, "o3", tokens, 5, [None, Some(5)]),
            (Dialect::OpenAi, "o3", completion, 5, [None, Some(5)]),
            // What is left of the client's limit is less.
            (Dialect::Common, "m", completion, 3, [None, Some(3)]),
            (Dialect::Common, "m", r#"{"max_tokens":9,"max_completion_tokens":5}"#, 5, [Some(5), Some(5)]),
        ] {
            assert_eq!(body(dialect, model, sent, Some(bound)), expected, "{dialect:?} {model} {sent} {bound}");
        }
        // The default, under the name of the model.
        assert_eq!(body(Dialect::OpenAi, "gpt-4o", r#"{"max_tokens":null}"#, None), [Some(9), None]);
    }

    #[test]
    fn a_model_that_thinks_gets_no_defaults() {
        let mut call = call(r#"{"messages":[]}"#.to_owned(), true);
        call.reasons = true;
        let body = forward(&call, Dialect::Common, &[], Mode::Whole).unwrap();
        assert_eq!(String::from_utf8(body).unwrap(), r#"{"model":"the \"model\"","stream":false,"messages":[]}"#);
    }

    #[test]
    fn a_role_that_the_server_does_not_know_is_renamed_and_nothing_else() {
        let body = r#"{"messages":[{"x": 1.50,"role":"developer","content":"be brief"}, {"role" :"user","content":"hi"}],"verbosity":"low"}"#;
        let mut call = call(body.to_owned(), false);
        Arc::make_mut(&mut call.request).messages.push(Message::text(Role::Developer, "be brief"));
        let sent = |dialect| String::from_utf8(forward(&call, dialect, &[], Mode::Whole).unwrap()).unwrap();
        let messages = r#"[{"role":"system","x":1.50,"content":"be brief"},{"role" :"user","content":"hi"}]"#;
        let renamed = sent(Dialect::Common);
        assert!(renamed.ends_with(&format!(r#""messages":{messages},"verbosity":"low"}}"#)), "{renamed}");
        assert!(sent(Dialect::OpenAi).contains(r#""role":"developer""#));
        assert!(forward(&call, Dialect::Mistral, &[], Mode::Whole).is_none());
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
                OURS.contains(&name) || (name == "temperature" && !heats)
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
            let limits: Vec<(&str, &str)> = LIMITS
                .into_iter()
                .filter_map(|limit| Some((limit, &*members.iter().rev().find(|((name, _), _)| name == limit)?.1)))
                .filter(|(_, value)| *value != "null")
                .collect();
            match limits.is_empty() {
                true => expected.push(("max_tokens", "9")),
                false => expected.extend(limits.into_iter().map(|(name, value)| {
                    (name, if value.parse::<f64>().is_ok_and(|sent| sent <= 9.0) { value } else { "9" })
                })),
            }
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
