//! What reaches a provider: everything that the client sent, unchanged, and a default only where it sent nothing and the
//! model takes it.

use super::*;

use support::wire::Wire;

const WIRES: [Wire; 3] = [Wire::OpenAi, Wire::Anthropic, Wire::Gemini];

/// Where a provider of this wire has a parameter of the answer.
fn pointers(wire: Wire, parameter: &str) -> &'static [&'static str] {
    match (wire, parameter) {
        (Wire::OpenAi, "max_tokens") => &["/max_tokens", "/max_completion_tokens"],
        (Wire::OpenAi, "temperature") => &["/temperature"],
        (Wire::OpenAi, "top_p") => &["/top_p"],
        (Wire::OpenAi, "stop") => &["/stop"],
        (Wire::OpenAi, "user") => &["/user"],
        (Wire::OpenAi, "tool") => &["/tools/0/function/parameters"],
        (Wire::OpenAi, "text") => &["/messages/0/content"],
        (Wire::Anthropic, "max_tokens") => &["/max_tokens"],
        (Wire::Anthropic, "temperature") => &["/temperature"],
        (Wire::Anthropic, "top_p") => &["/top_p"],
        (Wire::Anthropic, "stop") => &["/stop_sequences"],
        (Wire::Anthropic, "user") => &["/metadata/user_id"],
        (Wire::Anthropic, "tool") => &["/tools/0/input_schema"],
        (Wire::Anthropic, "text") => &["/messages/0/content/0/text"],
        (Wire::Gemini, "max_tokens") => &["/generationConfig/maxOutputTokens"],
        (Wire::Gemini, "temperature") => &["/generationConfig/temperature"],
        (Wire::Gemini, "top_p") => &["/generationConfig/topP"],
        (Wire::Gemini, "stop") => &["/generationConfig/stopSequences"],
        (Wire::Gemini, "tool") => &["/tools/0/functionDeclarations/0/parametersJsonSchema"],
        (Wire::Gemini, "text") => &["/contents/0/parts/0/text"],
        // There is no place for it.
        (Wire::Gemini, _) => &[],
        other => panic!("{other:?}"),
    }
}

fn at(wire: Wire, body: &Value, parameter: &str) -> Option<Value> {
    pointers(wire, parameter).iter().find_map(|pointer| body.pointer(pointer).cloned())
}

/// A request with everything that the dialect can express, and the parameters that it states.
fn full(chat: Chat) -> (Value, Vec<(&'static str, Value)>) {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let mut body = chat.request_body("alpha", "hi there");
    let more = match chat {
        Chat::A => json!({ "temperature": 0.5 }),
        Chat::Agent => json!({ "temperature": 0.5, "max_tokens": 33 }),
        Chat::B => json!({ "temperature": 0.5, "max_tokens": 33, "stop": ["END"], "user": "ann",
            "tools": [{ "type": "function", "function": { "name": "f", "parameters": schema } }] }),
        Chat::Messages => json!({ "temperature": 0.5, "max_tokens": 33, "stop_sequences": ["END"],
            "metadata": { "user_id": "ann" }, "tools": [{ "name": "f", "input_schema": schema }] }),
        Chat::Responses => json!({ "temperature": 0.5, "max_output_tokens": 33, "user": "ann",
            "tools": [{ "type": "function", "name": "f", "parameters": schema }] }),
    };
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut expected = vec![("text", json!("hi there")), ("temperature", json!(0.5))];
    if chat != Chat::A {
        expected.push(("max_tokens", json!(33)));
    }
    if matches!(chat, Chat::B | Chat::Messages) {
        expected.push(("stop", json!(["END"])));
    }
    if matches!(chat, Chat::B | Chat::Messages | Chat::Responses) {
        expected.extend([("user", json!("ann")), ("tool", schema)]);
    }
    (body, expected)
}

#[tokio::test]
async fn what_the_client_sent_reaches_every_kind_of_provider() {
    for wire in WIRES {
        let upstream = Upstream::with_wire(wire, UpstreamAction::Answer(WORDS));
        let muster = Muster::start(&upstream.provider("one", "alpha"));
        for chat in Chat::EVERY {
            let (mut body, expected) = full(chat);
            for streamed in [false, true] {
                body["stream"] = streamed.into();
                let got = muster.client().post(chat.path(), &body).await;
                assert_eq!(got.status, 200, "{wire:?}, {chat:?}: {}", got.text);
                let sent = upstream.last_request();
                for (parameter, value) in &expected {
                    if !pointers(wire, parameter).is_empty() {
                        assert_eq!(at(wire, &sent, parameter).as_ref(), Some(value), "{wire:?}, {chat:?}: {sent}");
                    }
                }
                // Nothing else was added that shapes the answer.
                let stated = |parameter: &str| expected.iter().any(|(name, _)| *name == parameter);
                assert!(stated("top_p") || at(wire, &sent, "top_p").is_none(), "{wire:?}, {chat:?}: {sent}");
            }
        }
    }
}

#[tokio::test]
async fn a_chat_completion_reaches_a_provider_of_its_wire_member_by_member() {
    let upstream = healthy();
    let muster = Muster::start(&upstream.provider("one", "alpha"));
    let body = json!({
        "model": "alpha", "temperature": 0, "top_p": 0.25, "n": 1, "seed": 7, "stop": "END", "user": "ann",
        "presence_penalty": 0.5, "frequency_penalty": -0.5, "logit_bias": { "50256": -100 }, "logprobs": true,
        "top_logprobs": 2, "max_completion_tokens": 55, "reasoning_effort": "low", "verbosity": "low",
        "response_format": { "type": "json_object" }, "parallel_tool_calls": false, "tool_choice": "auto",
        "tools": [{ "type": "function", "x-own": 1, "function": { "name": "f", "parameters": { "type": "object" } } }],
        "messages": [
            { "role": "developer", "content": [{ "type": "text", "text": "be brief", "x-own": [1.50] }], "name": "dev" },
            { "role": "user", "content": "hi", "x-own": null },
        ],
        "safety_identifier": "s", "prompt_cache_key": "k",
    });
    let got = muster.client().post("/v1/chat/completions", &body).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let sent = upstream.last_request();
    for (name, value) in body.as_object().unwrap() {
        let mut value = value.clone();
        if name == "messages" {
            // The only role that this server may not know under its name.
            value[0]["role"] = json!("system");
        }
        assert_eq!(sent.get(name), Some(&value), "{name}");
    }
    let added: Vec<_> = sent.as_object().unwrap().keys().filter(|name| body.get(name).is_none()).collect();
    assert_eq!(added, ["stream"]);
}

#[tokio::test]
async fn defaults_are_settings_and_reach_no_model_that_thinks_in_tokens() {
    for (settings, max_tokens, temperature) in [
        ("", Some(2000), Some(0.7)),
        ("[chat]\ndefault_max_tokens = 300\ndefault_temperature = 0.25\n", Some(300), Some(0.25)),
        ("[chat]\ndefault_max_tokens = \"provider\"\ndefault_temperature = \"provider\"\n", None, None),
    ] {
        for wire in WIRES {
            let upstream = Upstream::with_wire(wire, UpstreamAction::Answer(WORDS));
            let models = upstream.provider("one", "alpha").replace("[\"alpha\"]", "[\"alpha\", \"gpt-5.6\"]");
            let muster = Muster::start(&(models + settings));
            for (model, reasons) in [("alpha", false), ("gpt-5.6", true)] {
                for chat in [Chat::A, Chat::B, Chat::Agent, Chat::Responses] {
                    let got = post(&muster.client(), chat, model).await;
                    assert_eq!(got.status, 200, "{wire:?}, {chat:?}: {}", got.text);
                    let sent = upstream.last_request();
                    let suits = !reasons && chat != Chat::Responses;
                    let expected = max_tokens.filter(|_| suits).or(match wire {
                        // It requires one: the model's own maximum, or what its documentation uses.
                        Wire::Anthropic if reasons => Some(128_000),
                        Wire::Anthropic => Some(4096),
                        _ => None,
                    });
                    let place = format!("{settings:?}, {wire:?}, {chat:?}, {model}: {sent}");
                    assert_eq!(at(wire, &sent, "max_tokens").and_then(|tokens| tokens.as_u64()), expected, "{place}");
                    let expected = temperature.filter(|_| suits && chat == Chat::B);
                    assert_eq!(at(wire, &sent, "temperature").and_then(|t| t.as_f64()), expected, "{place}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_parameter_that_a_model_refuses_is_named_and_not_dropped() {
    // It takes no temperature, by the catalogue.
    let upstream = Upstream::with_wire(Wire::Anthropic, UpstreamAction::Answer(WORDS));
    let muster = Muster::start(&upstream.provider("one", "claude-opus-5-5"));
    for chat in Chat::EVERY {
        let mut body = chat.request_body("claude-opus-5-5", "hi");
        body["temperature"] = json!(0.5);
        let got = muster.client().post(chat.path(), &body).await;
        assert_eq!(got.status, 400, "{chat:?}: {}", got.text);
        assert!(got.text.contains("`temperature`"), "{chat:?}: {}", got.text);
    }
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn without_a_length_money_is_held_for_the_longest_answer_of_the_model() {
    // 20 USD per million: 128,000 tokens are 2.56 USD, and 2,000 are 0.04.
    let upstream = healthy();
    let settings =
        upstream.provider("openai", "gpt-5.6").replace("[[provider]]\n", "[[provider]]\napi_key_env = \"\"\n");
    let muster = Muster::start(&settings);
    let admin = muster.client();
    for (usd, status) in [(2.0, 429), (3.0, 200)] {
        let key = json!({ "name": "n", "scopes": ["chat"], "plan_a": "enterprise", "plan_b": "enterprise",
            "budget_usd": usd });
        let client = admin.with(admin.make_key(&key).await);
        for chat in [Chat::A, Chat::B, Chat::Agent, Chat::Responses] {
            let got = post(&client, chat, "gpt-5.6").await;
            assert_eq!(got.status, status, "{chat:?}, {usd}: {}", got.text);
        }
        let bounded = json!({ "model": "gpt-5.6", "max_completion_tokens": 100,
            "messages": [{ "role": "user", "content": "hi" }] });
        assert_eq!(client.post("/v1/chat/completions", &bounded).await.status, 200);
    }
}
