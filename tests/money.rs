//! Budgets hold whatever a request consists of: the upstream keeps an account of its own.

pub mod billing;

use std::time::Instant;

use crate::support;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use billing::{Act, Billing};
use futures::future::join_all;
use proptest::prelude::*;
use serde_json::{Value, json};
use support::client::{Client, TEST_TIMEOUT, answer};
use support::dialect::Chat;
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};

use crate::tasks::world;

async fn budget(client: &Client) -> (f64, f64) {
    let report = client.get("/api/v1/usage").await.json();
    (report["budget"]["spent_usd"].as_f64().unwrap(), report["budget"]["held_usd"].as_f64().unwrap())
}

/// A PNG of 1024 × 1024 by its header.
fn picture() -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(1024_u32.to_be_bytes().into_iter().chain(1024_u32.to_be_bytes()));
    bytes.extend([8, 2, 0, 0, 0]);
    bytes.extend([7; 64]);
    STANDARD.encode(bytes)
}

/// What a request consists of.
#[derive(Debug, Clone)]
struct Shape {
    text: usize,
    /// Bytes of a tool's schema; 0 for none.
    tool: usize,
    /// Bytes of the schema of the answer; 0 for none.
    format: usize,
    images: usize,
    choices: u32,
    max_tokens: u32,
}

impl Shape {
    fn body(&self, chat: Chat, model: &str, streamed: bool) -> Value {
        let text = "word ".repeat(self.text / 5 + 1);
        let schema = |bytes: usize| json!({ "type": "object", "properties": {}, "description": "x".repeat(bytes) });
        let url = format!("data:image/png;base64,{}", picture());
        let pictures = |part: Value| std::iter::repeat_n(part, self.images);
        let parts = |kind: &str, image: Value| {
            let text = json!({ "type": kind, "text": text });
            std::iter::once(text).chain(pictures(image)).collect::<Vec<_>>()
        };
        let mut body = match chat {
            Chat::A => json!({ "model": model, "message": text }),
            Chat::B | Chat::Agent => {
                let content = parts("text", json!({ "type": "image_url", "image_url": { "url": url } }));
                let messages = json!([{ "role": "user", "content": content }]);
                json!({ "model": model, "max_tokens": self.max_tokens, "messages": messages })
            }
            Chat::Messages => {
                let source = json!({ "type": "base64", "media_type": "image/png", "data": picture() });
                let content = parts("text", json!({ "type": "image", "source": source }));
                let messages = json!([{ "role": "user", "content": content }]);
                json!({ "model": model, "max_tokens": self.max_tokens, "messages": messages })
            }
            Chat::Responses => {
                let content = parts("input_text", json!({ "type": "input_image", "image_url": url }));
                let input = json!([{ "role": "user", "content": content }]);
                json!({ "model": model, "max_output_tokens": self.max_tokens, "input": input })
            }
        };
        if self.tool > 0 {
            match chat {
                Chat::B => {
                    let function = json!({ "name": "f", "parameters": schema(self.tool) });
                    body["tools"] = json!([{ "type": "function", "function": function }]);
                }
                Chat::Messages => body["tools"] = json!([{ "name": "f", "input_schema": schema(self.tool) }]),
                Chat::Responses => {
                    body["tools"] = json!([{ "type": "function", "name": "f", "parameters": schema(self.tool) }]);
                }
                Chat::A | Chat::Agent => {}
            }
        }
        if self.format > 0 {
            let format = json!({ "type": "json_schema", "name": "a", "schema": schema(self.format) });
            match chat {
                Chat::B => {
                    let format = json!({ "name": "a", "schema": schema(self.format) });
                    body["response_format"] = json!({ "type": "json_schema", "json_schema": format });
                }
                Chat::Messages => body["output_config"] = json!({ "format": format }),
                Chat::Responses => body["text"] = json!({ "format": format }),
                Chat::A | Chat::Agent => {}
            }
        }
        if chat == Chat::B {
            body["n"] = self.choices.into();
        }
        if streamed {
            body["stream"] = true.into();
        }
        body
    }
}

/// A server with two priced providers, of which the second is also the hedge.
fn two(one: &Billing, other: &Billing) -> Muster {
    let order =
        "[chain]\norder = [\"one\", \"two\"]\nbreaker_min_calls = 100000\nbreaker_consecutive_failures = 100000\n";
    Muster::start(&format!("{}{}{order}", one.provider("one", "alpha"), other.provider("two", "beta")))
}

async fn limited(admin: &Client, usd: f64) -> Client {
    let key =
        json!({ "name": "n", "scopes": ["chat"], "plan_a": "enterprise", "plan_b": "enterprise", "budget_usd": usd });
    admin.with(admin.make_key(&key).await)
}

/// The evidence: ten calls with about 600 kB of tools, each 0.15 USD.
#[tokio::test]
async fn ten_calls_with_large_tools_spend_no_more_than_the_budget_and_one_call() {
    for chat in [Chat::B, Chat::Messages, Chat::Responses] {
        for part in ["tool", "format"] {
            let upstream = Billing::start();
            let muster = Muster::start(&format!("{}[chain]\norder = [\"one\"]\n", upstream.provider("one", "alpha")));
            let client = limited(&muster.client(), 0.20).await;
            let shape = Shape {
                text: 10,
                tool: if part == "tool" { 590_000 } else { 0 },
                format: if part == "format" { 590_000 } else { 0 },
                images: 0,
                choices: 1,
                max_tokens: 16,
            };
            let body = shape.body(chat, "alpha", false);
            for _ in 0..10 {
                let got = client.post(chat.path(), &body).await;
                assert!([200, 429].contains(&got.status), "{chat:?}, {part}: {}", got.text);
            }
            let billed = upstream.billed();
            assert!(billed > 0.0 && billed <= 0.20 + upstream.dearest(), "{chat:?}, {part}: {billed} USD of 0.20");
        }
    }
}

#[tokio::test]
async fn images_count_against_a_budget() {
    for chat in [Chat::B, Chat::Messages, Chat::Responses, Chat::Agent] {
        let upstream = Billing::start();
        let muster = Muster::start(&format!("{}[chain]\norder = [\"one\"]\n", upstream.provider("one", "alpha")));
        // 40 images are 30,600 tokens, or 0.0306 USD.
        let client = limited(&muster.client(), 0.02).await;
        let shape = Shape { text: 10, tool: 0, format: 0, images: 40, choices: 1, max_tokens: 16 };
        let got = client.post(chat.path(), &shape.body(chat, "alpha", false)).await;
        assert_eq!(got.status, 429, "{chat:?}: {}", got.text);
        assert_eq!(upstream.billed(), 0.0, "{chat:?}");
    }
}

#[tokio::test]
async fn a_stream_that_is_left_before_its_usage_costs_its_prompt_and_what_was_delivered() {
    for chat in Chat::EVERY {
        let upstream = Billing::start();
        upstream.then([Act::Stall]);
        let muster = Muster::start(&format!("{}[chain]\norder = [\"one\"]\n", upstream.provider("one", "alpha")));
        let client = limited(&muster.client(), 10.0).await;
        let shape = Shape { text: 300_000, tool: 200_000, format: 0, images: 0, choices: 1, max_tokens: 16 };
        let mut events = client.stream(chat.path(), &shape.body(chat, "alpha", true)).await;
        events.wait_for("abcd").await;
        drop(events);
        let started = Instant::now();
        loop {
            let (spent, held) = budget(&client).await;
            if spent > 0.0 && held == 0.0 {
                let billed = upstream.billed();
                assert!(spent >= 0.99 * billed, "{chat:?}: {spent} of {billed} USD");
                break;
            }
            assert!(started.elapsed() < TEST_TIMEOUT, "{chat:?}: nothing was charged");
        }
        let total = client.get("/api/v1/usage").await.json()["total"].clone();
        assert!(total["prompt_tokens"].as_u64().unwrap() >= 75_000, "{chat:?}: {total}");
        assert_eq!(total["cancelled"], 1, "{chat:?}: {total}");
    }
}

#[derive(Debug, Clone)]
struct Call {
    chat: usize,
    shape: Shape,
    streamed: bool,
    /// What the first provider does.
    act: Act,
    /// The client leaves as soon as the provider has the request.
    leaves: bool,
    /// Calls made at the same time.
    together: usize,
    hedged: bool,
}

fn shape() -> impl Strategy<Value = Shape> {
    let size = || prop_oneof![3 => Just(0_usize), 1 => 10..60_000_usize];
    let rest = (0..3_usize, 1..=4_u32, 1..2_000_u32);
    (10..40_000_usize, size(), size(), rest).prop_map(|(text, tool, format, (images, choices, max_tokens))| Shape {
        text,
        tool,
        format,
        images,
        choices,
        max_tokens,
    })
}

fn call() -> impl Strategy<Value = Call> {
    let act = prop_oneof![
        4 => Just(Act::Answer),
        2 => Just(Act::Stall),
        2 => Just(Act::Cut),
        1 => Just(Act::Refuse),
    ];
    (0..Chat::EVERY.len(), shape(), any::<bool>(), act, any::<bool>(), 1..5_usize, any::<bool>()).prop_map(
        |(chat, shape, streamed, act, leaves, together, hedged)| {
            // A call that is not answered must be left or hedged; one that is left is still running at the provider.
            let leaves = leaves || (act == Act::Stall && (!hedged || streamed));
            let act = if leaves { Act::Stall } else { act };
            let hedged = hedged && !leaves;
            Call { chat, shape, streamed, act, leaves, together, hedged }
        },
    )
}

impl Call {
    async fn run(self, client: Client, one: Billing) {
        let chat = if self.hedged { Chat::Agent } else { Chat::EVERY[self.chat] };
        let mut body = self.shape.body(chat, "alpha", self.streamed);
        let mut path = chat.path();
        if self.hedged {
            path = "/api/q159/llm/chat";
            body["models"] = json!(["alpha", "beta"]);
            body["hedge_after_ms"] = json!(1);
            // Where the budget has no room for the hedge, a stalled call would be waited for.
            body["deadline_ms"] = json!(3_000);
            body.as_object_mut().unwrap().remove("model");
        }
        let before = one.received();
        let sent = answer(client.post_request(path, &body));
        if !self.leaves {
            let got = sent.await;
            assert!([200, 429, 502, 503].contains(&got.status), "{path}: {}", got.text);
            return;
        }
        // It leaves once the provider has the request, unless it is answered first, as when there is no budget left.
        tokio::select! {
            _ = sent => {}
            () = one.receives_more_than(before) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]

    /// Over every dialect, with tools, schemas, images, several answers, streams, clients that leave, retries, hedges and
    /// races: what the providers bill is at most the budget and one call.
    #[test]
    fn the_bill_is_at_most_the_budget_and_one_call(
        calls in proptest::collection::vec(call(), 4..12),
        micros in 2_000..200_000_u32,
    ) {
        let usd = f64::from(micros) / 1e6;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (billed, dearest, spent, held) = runtime.block_on(async {
            let (one, other) = (Billing::start(), Billing::start());
            let muster = two(&one, &other);
            let client = limited(&muster.client(), usd).await;
            for call in calls.clone() {
                one.then(std::iter::repeat_n(call.act, call.together));
                join_all((0..call.together).map(|_| call.clone().run(client.clone(), one.clone()))).await;
            }
            // Everything is settled when nothing is reserved any more.
            let started = Instant::now();
            let (mut spent, mut held) = budget(&client).await;
            while held > 0.0 && started.elapsed() < TEST_TIMEOUT {
                (spent, held) = budget(&client).await;
            }
            (one.billed() + other.billed(), one.dearest().max(other.dearest()), spent, held)
        });
        prop_assert_eq!(held, 0.0);
        prop_assert!(billed <= usd + dearest, "billed {} of {} USD, spent {}, the dearest call {}", billed, usd, spent, dearest);
        // The ledger knows of it: what is billed and not in the ledger is less than one call.
        prop_assert!(billed <= spent + dearest, "billed {} USD, in the ledger {}", billed, spent);
    }
}

const WORDS: &[&str] = &["two ", "words"];

#[tokio::test]
async fn members_whose_cost_is_unknown_are_rejected_by_name_unless_the_settings_forward_them() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let order = "[chain]\norder = [\"one\"]\n";
    let muster = Muster::start(&format!("{}{order}", upstream.provider("one", "alpha")));
    let client = muster.client();
    let turns = json!([{ "role": "user", "content": "hi" }]);
    for (member, value) in [
        ("models", json!(["dear/model"])),
        ("plugins", json!([{ "id": "web" }])),
        ("provider", json!({ "order": ["dear"] })),
        ("route", json!("fallback")),
        ("web_search_options", json!({})),
        ("audio", json!({ "voice": "alloy", "format": "wav" })),
        ("modalities", json!(["text", "audio"])),
        ("prediction", json!({ "type": "content", "content": "x" })),
        ("best_of", json!(20)),
    ] {
        let mut body = json!({ "model": "alpha", "messages": turns });
        body[member] = value;
        let got = client.post("/v1/chat/completions", &body).await;
        let error = &got.json()["error"];
        assert_eq!((got.status, &error["code"]), (400, &json!("unsupported_value")), "{member}: {}", got.text);
        assert_eq!(error["param"], member, "{}", got.text);
        assert!(error["message"].as_str().unwrap().contains(member), "{}", got.text);
    }
    assert_eq!(upstream.requests(), 0);

    // What changes nothing is accepted; what official clients send is forwarded or dropped.
    let body = json!({ "model": "alpha", "messages": turns, "store": true, "metadata": { "a": "b" },
        "service_tier": "priority", "models": null, "modalities": ["text"], "reasoning_effort": "low",
        "prompt_cache_key": "k", "safety_identifier": "s", "logit_bias": { "1": 2 }, "user": "ann" });
    assert_eq!(client.post("/v1/chat/completions", &body).await.status, 200);
    let sent = upstream.last_request();
    let mut names: Vec<&str> = sent.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = [
        "logit_bias",
        "max_tokens",
        "messages",
        "model",
        "prompt_cache_key",
        "reasoning_effort",
        "safety_identifier",
        "stream",
        "temperature",
        "user",
    ];
    assert_eq!(names, expected);

    let provider = upstream.provider("one", "alpha") + "forward = [\"top_k\"]\n";
    let muster = Muster::start(&format!("{provider}{order}"));
    let body = json!({ "model": "alpha", "messages": turns, "top_k": 40 });
    assert_eq!(muster.client().post("/v1/chat/completions", &body).await.status, 200);
    assert_eq!(upstream.last_request()["top_k"], 40);
    let body = json!({ "model": "alpha", "messages": turns, "top_k": 40, "plugins": [1] });
    assert_eq!(muster.client().post("/v1/chat/completions", &body).await.json()["error"]["param"], "plugins");
}

#[tokio::test]
async fn a_member_that_a_provider_does_not_forward_leads_to_the_next_that_does() {
    let (one, two) = (Upstream::start(UpstreamAction::Answer(WORDS)), Upstream::start(UpstreamAction::Answer(WORDS)));
    let settings = one.provider("one", "alpha") + &two.provider("two", "beta") + "forward = [\"top_k\"]\n";
    let muster = Muster::start(&(settings + "[chain]\norder = [\"one\", \"two\"]\n"));
    let body = json!({ "model": "alpha", "messages": [{ "role": "user", "content": "hi" }], "top_k": 40 });
    let got = muster.client().post("/v1/chat/completions", &body).await;
    assert_eq!((got.status, &got.json()["model"]), (200, &json!("beta")), "{}", got.text);
    assert_eq!((one.requests(), two.last_request()["top_k"].as_u64()), (0, Some(40)));
}

#[tokio::test]
async fn of_two_members_of_one_name_the_last_is_decided_on_and_sent() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let muster = Muster::start(&format!("{}[chain]\norder = [\"one\"]\n", upstream.provider("one", "alpha")));
    let client = muster.client();
    let post = async |body: &str| {
        let request = client.post_request("/v1/chat/completions", &Value::Null).body(body.to_owned());
        let got = answer(request).await;
        assert_eq!(got.status, 200, "{}", got.text);
    };
    let long = "long ".repeat(1_000);
    post(&format!(
        r#"{{"n": 4, "model": "other", "messages": [{{"role": "user", "content": "{long}"}}], "n": 1, "model": "alpha",
            "messages": [{{"role": "user", "content": "{long}", "content": "short"}}]}}"#
    ))
    .await;
    // The upstream's parser keeps the last as well: each name must be there once.
    let sent = upstream.last_text();
    assert_eq!((sent.matches("\"n\"").count(), sent.matches("\"messages\"").count()), (1, 1), "{sent}");
    assert_eq!((sent.matches("\"content\"").count(), sent.contains("long")), (1, false), "{sent}");
}

#[tokio::test]
async fn names_that_clients_invent_are_no_labels_of_metrics() {
    let upstream = Upstream::start(UpstreamAction::Answer(WORDS));
    let muster = Muster::start(&format!("{}[chain]\norder = [\"one\"]\n", upstream.provider("one", "named\", \"*")));
    let client = muster.client();
    for n in 0..40 {
        let model = format!("invented-{n}-{}", "x".repeat(1_000));
        for chat in [Chat::B, Chat::Messages, Chat::Responses] {
            assert_eq!(chat.post(&client, &model).await.status, 200);
        }
    }
    assert_eq!(Chat::B.post(&client, "named").await.status, 200);
    let metrics = client.get("/metrics").await.text;
    assert!(!metrics.contains("invented"), "{} bytes of metrics", metrics.len());
    let tokens = |model: &str| {
        let line = format!("muster_tokens_total{{kind=\"prompt\",model=\"{model}\",provider=\"one\"}} ");
        let found = metrics.lines().find_map(|text| text.strip_prefix(&line)?.parse::<u64>().ok());
        found.unwrap_or_else(|| panic!("no {line}"))
    };
    // Seven tokens of prompt each.
    assert_eq!((tokens("other"), tokens("named")), (7 * 120, 7));
    // A failure under an invented name is in no row of its own.
    upstream.set_action(UpstreamAction::Status(500, "", "{}"));
    assert_eq!(Chat::B.post(&client, "invented-again").await.status, 502);
    let rows = client.get("/api/v1/usage").await.json()["usage"].clone();
    assert!(rows.as_array().unwrap().iter().all(|row| row["model"] != "invented-again"), "{rows}");
}

#[tokio::test]
async fn the_keys_of_an_owner_share_the_owners_budget() {
    let upstream = Billing::start();
    let settings = "[chain]\norder = [\"one\"]\n[budget]\nowners = { \"ann\" = 0.05 }\n";
    let muster = Muster::start(&format!("{}{settings}", upstream.provider("one", "alpha")));
    let operator = muster.client();
    let admin = json!({ "name": "a", "owner": "ann", "scopes": ["admin", "chat"], "plan_b": "enterprise" });
    let ann = operator.with(operator.make_key(&admin).await);
    // She makes keys for herself only.
    let other = json!({ "name": "b", "owner": "bob", "scopes": ["chat"] });
    let refused = ann.post("/api/v1/keys", &other).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let mut statuses = Vec::new();
    for n in 0..10 {
        let key = json!({ "name": format!("k{n}"), "scopes": ["chat"], "plan_b": "enterprise", "budget_usd": 0.05 });
        let client = ann.with(ann.make_key(&key).await);
        let shape = Shape { text: 80, tool: 0, format: 0, images: 0, choices: 1, max_tokens: 5_000 };
        let got = client.post("/v1/chat/completions", &shape.body(Chat::B, "alpha", false)).await;
        statuses.push(got.status);
        if got.status == 429 {
            assert!(got.text.contains("owner"), "{}", got.text);
        }
    }
    // 5,000 tokens of the answer are 0.01 USD: four fit, and the fifth would not with its prompt.
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 4, "{statuses:?}");
    assert!(upstream.billed() <= 0.05);
    let report = ann.get("/api/v1/usage").await.json();
    let spent = report["owner_budget"]["spent_usd"].as_f64().unwrap();
    assert!((spent - upstream.billed()).abs() < 1e-9 && report["owner_budget"]["limit_usd"] == json!(0.05), "{report}");
    // A key of another owner does not pay from it.
    let bob = operator.with(operator.make_key(&other).await);
    let shape = Shape { text: 80, tool: 0, format: 0, images: 0, choices: 1, max_tokens: 5_000 };
    assert_eq!(bob.post("/v1/chat/completions", &shape.body(Chat::B, "alpha", false)).await.status, 200);
}

/// An agent's steps are paid by the owner of the key that began the task.
#[tokio::test]
async fn what_agents_call_is_held_from_the_owners_budget() {
    let upstream = Billing::start();
    let settings = "[limits]\nperson = \"unlimited\"\n[chain]\norder = [\"one\"]\n\
        [budget]\nowners = { \"ann\" = 1.0, \"bob\" = 0.000001 }\n";
    let muster = Muster::start(&format!("{}{settings}", upstream.provider("one", "gpt-5.6-luna")));
    let operator = muster.client();
    let mut ends = Vec::new();
    for owner in ["bob", "ann"] {
        let key = json!({ "name": owner, "owner": owner, "scopes": ["agents", "chat"], "plan_b": "enterprise" });
        let client = operator.with(operator.make_key(&key).await);
        let id = world::begin(&client, &world::quick()).await;
        let task = world::reaches(&client, &id, &["succeeded", "failed"]).await;
        let report = client.get("/api/v1/usage").await.json();
        ends.push((task, report["owner_budget"]["spent_usd"].as_f64().unwrap(), upstream.received()));
    }
    let (refused, nothing, not_called) = &ends[0];
    assert_eq!((*nothing, *not_called), (0.0, 0), "{refused}");
    assert!(refused.to_string().contains("owner"), "it does not name whose budget: {refused}");
    let (task, spent, called) = &ends[1];
    assert!(*called > 0 && (spent - upstream.billed()).abs() < 1e-9, "{spent} of {}: {task}", upstream.billed());
}
