//! Models per key, teams, owners' budgets and tags.

use crate::support;

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use support::KEY;
use support::client::{Answer, Client, answer};
use support::dialect::Chat;
use support::process::Launch;
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};

const WORDS: &[&str] = &["two ", "words"];
/// 7 tokens of prompt and 2 of the answer, at one and two millionths of a dollar.
const COST_USD: f64 = 11e-6;
const PRICE: &str = "price = { input_per_million = 1.0, output_per_million = 2.0 }\n";

/// Two providers, each with one priced model, in a chain.
fn two(one: &Upstream, other: &Upstream) -> String {
    let order = "[chain]\norder = [\"one\", \"two\"]\n";
    one.provider("one", "alpha") + PRICE + &other.provider("two", "beta") + PRICE + order
}

fn answering() -> Upstream {
    Upstream::start(UpstreamAction::Answer(WORDS))
}

async fn created(client: &Client, path: &str, body: &Value) -> Value {
    let made = client.post(path, body).await;
    assert_eq!(made.status, 201, "{path}: {}", made.text);
    made.json()
}

async fn key_with(admin: &Client, more: Value) -> Client {
    let mut body = json!({ "name": "n", "scopes": ["chat"], "plan_a": "enterprise", "plan_b": "enterprise" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    admin.with(created(admin, "/api/v1/keys", &body).await["key"].as_str().unwrap())
}

async fn change(client: &Client, method: Method, path: &str, body: &Value) -> Answer {
    let request = client.request(method, path).header("content-type", "application/json").header("if-match", "*");
    answer(request.body(body.to_string())).await
}

async fn listed(client: &Client, path: &str, list: &str) -> Vec<String> {
    let models = client.get(path).await.json();
    models[list].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap().to_owned()).collect()
}

/// Status and code of an error in any dialect.
fn refusal(chat: Chat, got: &Answer) -> (u16, String) {
    let body = got.json();
    let code = match chat {
        Chat::Agent => &body["error_code"],
        Chat::Messages => &body["error"]["type"],
        Chat::A | Chat::B | Chat::Responses => &body["error"]["code"],
    };
    (got.status, code.as_str().unwrap().to_lowercase())
}

#[tokio::test]
async fn a_key_uses_only_its_models_in_every_dialect() {
    let (one, other) = (answering(), answering());
    let muster = Muster::start(&two(&one, &other));
    let client = key_with(&muster.client(), json!({ "models": ["alpha"] })).await;
    for chat in Chat::EVERY {
        assert_eq!(chat.post(&client, "alpha").await.status, 200, "{chat:?}");
        assert_eq!(chat.post(&client, "one/alpha").await.status, 200, "{chat:?}");
        let code = if chat == Chat::Messages { "permission_error" } else { "model_not_allowed" };
        for model in ["beta", "two/beta"] {
            let got = chat.post(&client, model).await;
            assert_eq!(refusal(chat, &got), (403, code.to_owned()), "{chat:?}: {}", got.text);
            assert!(got.text.contains("limited to alpha"), "it says what is allowed: {}", got.text);
            let got = client.post(chat.path(), &chat.streaming_request_body(model, "hi")).await;
            assert_eq!(refusal(chat, &got).0, 403, "{chat:?}: {}", got.text);
        }
    }
    let turns = json!([{ "role": "user", "content": "hi" }]);
    let list = json!({ "models": ["alpha", "beta"], "messages": turns });
    let got = client.post("/api/q159/llm/chat", &list).await;
    assert_eq!(refusal(Chat::Agent, &got), (403, "model_not_allowed".to_owned()), "{}", got.text);
    let embeddings = json!({ "model": "muster-embed", "input": "hi" });
    let got = client.post("/v1/embeddings", &embeddings).await;
    assert_eq!(refusal(Chat::B, &got), (403, "model_not_allowed".to_owned()), "{}", got.text);
    assert_eq!(other.requests(), 0);

    assert_eq!(listed(&client, "/v1/models", "data").await, ["alpha"]);
    assert_eq!(listed(&client, "/api/models", "models").await, ["alpha"]);
    assert_eq!(client.get("/v1/models/alpha").await.status, 200);
    assert_eq!(client.get("/v1/models/beta").await.status, 404);
    assert!(listed(&muster.client(), "/v1/models", "data").await.contains(&"beta".to_owned()));

    // A fallback is bound as well.
    one.set_action(UpstreamAction::Status(500, "", "{}"));
    for chat in Chat::EVERY {
        let got = chat.post(&client, "alpha").await;
        assert!([502, 503].contains(&got.status), "{chat:?}: {}", got.text);
    }
    assert_eq!(other.requests(), 0);
}

#[tokio::test]
async fn an_entry_may_be_a_provider_or_a_family_and_the_team_must_allow_the_model_too() {
    let (one, other) = (answering(), answering());
    let keyless = |settings: String| settings.replace("[[provider]]\n", "[[provider]]\napi_key_env = \"\"\n");
    let settings = keyless(one.provider("openai", "gpt-5.6-luna")) + &other.provider("two", "beta");
    let muster = Muster::start(&settings);
    let admin = muster.client();
    let status = async |client: &Client, model: &str| Chat::B.post(client, model).await.status;
    for (models, luna, beta) in [
        (json!(["two/*"]), 403, 200),
        (json!(["two/beta"]), 403, 200),
        (json!(["fast"]), 200, 403),
        (json!(["openai/*", "beta"]), 200, 200),
        (json!([]), 200, 200),
    ] {
        let client = key_with(&admin, json!({ "models": models })).await;
        assert_eq!((status(&client, "gpt-5.6-luna").await, status(&client, "beta").await), (luna, beta), "{models}");
    }
    let team = created(&admin, "/api/v1/teams", &json!({ "name": "t", "models": ["fast", "two/*"] })).await;
    let client = key_with(&admin, json!({ "team": team["id"], "models": ["beta", "code"] })).await;
    assert_eq!((status(&client, "gpt-5.6-luna").await, status(&client, "beta").await), (403, 200));
    let path = format!("/api/v1/teams/{}", team["id"].as_str().unwrap());
    assert_eq!(change(&admin, Method::PATCH, &path, &json!({ "models": ["fast"] })).await.status, 200);
    assert_eq!(status(&client, "beta").await, 403, "from the next request on");
}

#[tokio::test]
async fn the_lifecycle_of_a_team() {
    let muster = Muster::start("");
    let admin = muster.client();
    let team = created(&admin, "/api/v1/teams", &json!({ "name": "research", "budget_usd": 3.0 })).await;
    let path = format!("/api/v1/teams/{}", team["id"].as_str().unwrap());
    assert!(team["id"].as_str().unwrap().starts_with("team_"), "{team}");
    let got = admin.get(&path).await;
    assert_eq!((got.header("etag"), &got.json()["budget"]["limit_usd"]), (Some("\"1\""), &json!(3.0)));
    assert_eq!(admin.post("/api/v1/teams", &json!({ "name": "research" })).await.status, 409);
    let twice = json!({ "name": "twice" });
    let once = async || answer(admin.post_request("/api/v1/teams", &twice).header("idempotency-key", "k")).await;
    let (first, second) = (once().await, once().await);
    assert_eq!((first.json(), second.header("idempotency-replayed")), (second.json(), Some("true")));
    let stale = admin.request(Method::PATCH, &path).header("content-type", "application/json");
    assert_eq!(answer(stale.header("if-match", "\"9\"").body("{\"name\":\"x\"}")).await.status, 412);
    let edited = change(&admin, Method::PATCH, &path, &json!({ "budget_usd": null, "cache_seconds": 60 })).await.json();
    assert_eq!(
        (&edited["version"], &edited["budget_usd"], &edited["name"]),
        (&json!(2), &Value::Null, &json!("research"))
    );
    for bad in [json!({ "name": "" }), json!({ "models": ["a b"] }), json!({ "budget_usd": "much" })] {
        assert_eq!(change(&admin, Method::PATCH, &path, &bad).await.status, 422, "{bad}");
    }
    let page = admin.get("/api/v1/teams?limit=1").await.json();
    assert_eq!(page["teams"][0]["name"], "twice");
    let rest = admin.get(&format!("/api/v1/teams?cursor={}", page["next_cursor"].as_str().unwrap())).await.json();
    assert_eq!((&rest["teams"][0]["id"], &rest["next_cursor"]), (&team["id"], &Value::Null));

    // A key of the team does not change it; a team with keys is not deleted.
    let member = key_with(&admin, json!({ "scopes": ["admin"], "team": team["id"] })).await;
    assert_eq!(change(&member, Method::PATCH, &path, &json!({ "budget_usd": 9.0 })).await.status, 403);
    let outside = json!({ "name": "o", "scopes": ["admin"], "plan_a": "enterprise", "plan_b": "enterprise" });
    assert_eq!(member.post("/api/v1/keys", &outside).await.status, 403, "nor does it make keys outside of it");
    assert_eq!(change(&admin, Method::DELETE, &path, &json!({})).await.status, 409);
    let id = admin.get("/api/v1/keys?limit=1").await.json()["keys"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        change(&admin, Method::PATCH, &format!("/api/v1/keys/{id}"), &json!({ "team": null })).await.status,
        200
    );
    assert_eq!(change(&admin, Method::DELETE, &path, &json!({})).await.status, 200);
    assert_eq!(admin.get(&path).await.status, 404);
    let chat = key_with(&admin, json!({})).await;
    assert_eq!(chat.get("/api/v1/teams").await.status, 403);
    let muster = Muster::start_in(muster.stop(), "");
    let names = muster.client().get("/api/v1/teams").await.json();
    assert_eq!((names["teams"].as_array().unwrap().len(), &names["teams"][0]["name"]), (1, &json!("twice")));
}

/// Calls of one prompt and up to 9 tokens of answer: at most 25 millionths of a dollar each.
async fn call(client: &Client) -> Answer {
    let turns = json!([{ "role": "user", "content": "say two words" }]);
    client.post("/v1/chat/completions", &json!({ "model": "alpha", "max_tokens": 9, "messages": turns })).await
}

/// Of a key, its owner and its team each has a budget: the first that is spent refuses, under races, kills and restarts.
#[tokio::test]
async fn key_owner_and_team_each_hold_their_budget_over_races_and_kills() {
    let (one, other) = (answering(), answering());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), two(&one, &other)).unwrap();
    let mut process = Launch::new(folder.path()).start();
    let mut admin = Client::new(&process.url).with(KEY);
    let limits = (40.0 * COST_USD, 60.0 * COST_USD, 50.0 * COST_USD);
    let team = json!({ "name": "t", "budget_usd": limits.2 });
    let team = created(&admin, "/api/v1/teams", &team).await["id"].as_str().unwrap().to_owned();
    let owner = json!({ "budget_usd": limits.1 });
    assert_eq!(change(&admin, Method::PUT, "/api/v1/owners/ann", &owner).await.status, 200);
    let mut keys = Vec::new();
    for (owner, team) in [("ann", Some(&team)), ("ann", None), ("bob", Some(&team)), ("ann", Some(&team))] {
        keys.push(key_with(&admin, json!({ "owner": owner, "team": team, "budget_usd": limits.0 })).await);
    }
    let spent = async |client: &Client, budget: &str| {
        let report = client.get("/api/v1/usage").await.json();
        (report[budget]["spent_usd"].as_f64().unwrap(), report[budget]["held_usd"].as_f64().unwrap())
    };
    let mut refusals = [0, 0, 0];
    for round in 0..4 {
        let got = join_all(keys.iter().flat_map(|client| (0..12).map(|_| call(client)))).await;
        for got in got.iter().filter(|got| got.status != 200) {
            assert_eq!(got.status, 429, "{}", got.text);
            let whose = ["this key's owner", "this key's team", "of this key is"];
            let place = whose.iter().position(|whose| got.text.contains(whose)).expect(&got.text);
            refusals[place] += 1;
        }
        // Calls in flight at the kill are charged.
        one.set_action(UpstreamAction::HangBeforeHeaders);
        let before = one.requests();
        let body = json!({ "model": "alpha", "max_tokens": 9, "stream": true, "messages": [{ "role": "user", "content": "x" }] });
        let held =
            tokio::time::timeout(std::time::Duration::from_millis(300), keys[0].stream("/v1/chat/completions", &body));
        let _ = held.await;
        process.kill();
        one.set_action(UpstreamAction::Answer(WORDS));
        process = Launch::new(folder.path()).start();
        admin = admin.at(&process.url);
        keys = keys.iter().map(|client| client.at(&process.url)).collect();
        // At most one call more than the budget, of whoever pays.
        let dearest = 9.0 * 2e-6 + 40e-6;
        for client in &keys {
            let (key, held) = spent(client, "budget").await;
            assert!(key <= limits.0 + dearest && held == 0.0, "round {round}: {key}");
        }
        let (ann, _) = spent(&keys[1], "owner_budget").await;
        let (of_team, _) = spent(&keys[2], "team_budget").await;
        assert!(ann <= limits.1 + dearest && of_team <= limits.2 + dearest, "round {round}: {ann} {of_team}");
        let report = admin.get(&format!("/api/v1/usage?team={team}")).await.json();
        let sums = report["total"]["cost_usd"].as_f64().unwrap() + report["total"]["unsettled_usd"].as_f64().unwrap();
        assert!((sums - of_team).abs() < 1e-12, "the rows of the team are its budget: {report}");
        assert!(one.requests() >= before);
    }
    assert!(refusals[0] > 0 && refusals[1] > 0, "{refusals:?}: owner, team, key");
    // More budget is there for the next call; null returns to the settings, which have none.
    assert_eq!(change(&admin, Method::PUT, "/api/v1/owners/ann", &json!({ "budget_usd": null })).await.status, 200);
    let edit = json!({ "budget_usd": 1.0 });
    let id = |key: &Value| key["id"].as_str().unwrap().to_owned();
    let second = id(&admin.get("/api/v1/keys").await.json()["keys"][2]);
    assert_eq!(change(&admin, Method::PATCH, &format!("/api/v1/keys/{second}"), &edit).await.status, 200);
    assert_eq!(call(&keys[1]).await.status, 200, "neither the owner nor the key is at its end");
}

#[tokio::test]
async fn budgets_of_owners_are_listed_with_where_they_come_from() {
    let muster = Muster::start("[budget]\nowners = { \"research\" = 200.0, \"a/b\" = 1.0 }\n");
    let admin = muster.client();
    assert_eq!(change(&admin, Method::PUT, "/api/v1/owners/a/b", &json!({ "budget_usd": 5 })).await.status, 200);
    let set = change(&admin, Method::PUT, "/api/v1/owners/new", &json!({ "budget_usd": 7 })).await.json();
    assert_eq!(
        (&set["owner"], &set["source"], &set["budget"]["limit_usd"]),
        (&json!("new"), &json!("api"), &json!(7.0))
    );
    let list = admin.get("/api/v1/owners").await.json();
    let owners: Vec<_> = list["owners"]
        .as_array()
        .unwrap()
        .iter()
        .map(|owner| {
            (owner["owner"].as_str().unwrap(), owner["budget_usd"].as_f64().unwrap(), owner["source"].as_str().unwrap())
        })
        .collect();
    assert_eq!(owners, [("a/b", 5.0, "api"), ("new", 7.0, "api"), ("research", 200.0, "settings")]);
    assert_eq!(
        change(&admin, Method::PUT, "/api/v1/owners/a/b", &json!({ "budget_usd": null })).await.json()["budget_usd"],
        1.0
    );
    assert_eq!(change(&admin, Method::PUT, "/api/v1/owners/new", &json!({})).await.status, 422);
    let plain = key_with(&admin, json!({ "scopes": ["admin"] })).await;
    assert_eq!(change(&plain, Method::PUT, "/api/v1/owners/new", &json!({ "budget_usd": 9 })).await.status, 403);
}

#[tokio::test]
async fn usage_and_spend_are_reported_by_team_owner_tag_provider_and_model() {
    let (one, other) = (answering(), answering());
    let muster = Muster::start(&(two(&one, &other) + "[telemetry]\ntag_labels = [\"prod\"]\n"));
    let admin = muster.client();
    let team = created(&admin, "/api/v1/teams", &json!({ "name": "t" })).await["id"].clone();
    let client = key_with(&admin, json!({ "team": team, "owner": "ann" })).await;
    let plain = key_with(&admin, json!({ "owner": "bob" })).await;
    let turns = json!([{ "role": "user", "content": "hi" }]);
    let tagged = json!({ "model": "alpha", "messages": turns, "metadata": { "tags": ["prod", "job:7"] } });
    let sent = answer(client.post_request("/v1/chat/completions", &tagged).header("x-muster-tags", "eval, prod")).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    assert!(one.last_request().get("metadata").is_none(), "tags do not reach the provider");
    for chat in Chat::EVERY {
        let body = chat.streaming_request_body("beta", "hi");
        let sent = answer(client.post_request(chat.path(), &body).header("x-muster-tags", "prod")).await;
        assert_eq!(sent.status, 200, "{chat:?}: {}", sent.text);
    }
    let responses = json!({ "model": "beta", "input": "hi", "metadata": { "tags": "prod,eval" } });
    assert_eq!(client.post("/v1/responses", &responses).await.status, 200);
    assert_eq!(Chat::B.post(&plain, "alpha").await.status, 200);

    let rows = async |query: &str, name: &str| {
        let report = admin.get(&format!("/api/v1/usage?{query}")).await;
        assert_eq!(report.status, 200, "{query}: {}", report.text);
        let rows = report.json()["usage"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| (row[name].as_str().unwrap().to_owned(), row["requests"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    let text = |rows: &[(&str, u64)]| rows.iter().map(|&(name, count)| (name.to_owned(), count)).collect::<Vec<_>>();
    let team = team.as_str().unwrap();
    assert_eq!(rows("group_by=team", "team").await, text(&[(team, 7)]));
    assert_eq!(rows("group_by=owner", "owner").await, text(&[("ann", 7), ("bob", 1)]));
    assert_eq!(rows("group_by=provider", "provider").await, text(&[("one", 2), ("two", 6)]));
    assert_eq!(rows("key=all&group_by=tag", "tag").await, text(&[("eval", 2), ("job:7", 1), ("prod", 7)]));
    assert_eq!(rows("key=all&tag=prod&group_by=model", "model").await, text(&[("alpha", 1), ("beta", 6)]));
    assert_eq!(rows(&format!("team={team}&group_by=model"), "model").await, text(&[("alpha", 1), ("beta", 6)]));
    assert_eq!(rows("key=all&group_by=model", "model").await, text(&[("alpha", 2), ("beta", 6)]));
    let by_day = admin.get("/api/v1/usage?group_by=day,provider").await.json();
    let cost = by_day["usage"][1]["cost_usd"].as_f64().unwrap();
    assert!(by_day["usage"][0]["day"].is_string() && (cost - 6.0 * COST_USD).abs() < 1e-12, "{by_day}");

    // A key sees its own tags, and neither those of others nor teams.
    assert_eq!(client.get("/api/v1/usage?group_by=tag").await.json()["usage"].as_array().unwrap().len(), 3);
    assert_eq!(plain.get("/api/v1/usage?group_by=tag").await.json()["usage"], json!([]));
    for query in ["group_by=team", "key=all&group_by=tag", "owner=ann"] {
        assert_eq!(client.get(&format!("/api/v1/usage?{query}")).await.status, 403, "{query}");
    }
    for query in ["group_by=team,tag", "group_by=colour", "team=t&group_by=owner", "team=t&owner=o", "key=all&team=t"] {
        assert_eq!(admin.get(&format!("/api/v1/usage?{query}")).await.status, 422, "{query}");
    }

    let metrics = admin.get("/metrics").await.text;
    for line in [
        "muster_provider_attempts_total{model=\"beta\",outcome=\"ok\",provider=\"two\"} 6",
        "muster_tag_requests_total{tag=\"prod\"} 7",
        "muster_tag_requests_total{tag=\"other\"} 2",
        &format!("muster_team_cost_usd_total{{team=\"{team}\"}}"),
        "muster_cost_usd_total{model=\"alpha\",provider=\"one\"}",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    assert!(!metrics.contains("eval") && !metrics.contains("job:7"), "only the tags of the settings are labels");
}

#[tokio::test]
async fn tags_are_bounded_in_number_length_and_kind() {
    let (one, other) = (answering(), answering());
    let muster = Muster::start(&two(&one, &other));
    let client = key_with(&muster.client(), json!({})).await;
    let long = "x".repeat(65);
    let many = (0..11).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    for tags in [&long, &many] {
        for chat in Chat::EVERY {
            let body = chat.request_body("alpha", "hi");
            let got = answer(client.post_request(chat.path(), &body).header("x-muster-tags", tags)).await;
            let status = if chat == Chat::Agent { 422 } else { 400 };
            assert_eq!(got.status, status, "{chat:?}: {}", got.text);
            assert!(got.text.contains("1 to 64 characters"), "{}", got.text);
        }
    }
    let turns = json!([{ "role": "user", "content": "hi" }]);
    for tags in [json!([1]), json!([""]), json!(["a,b"]), json!({}), json!([long])] {
        let body = json!({ "model": "alpha", "messages": turns, "metadata": { "tags": tags } });
        let got = client.post("/v1/chat/completions", &body).await;
        assert_eq!((got.status, &got.json()["error"]["param"]), (400, &json!("metadata.tags")), "{}", got.text);
    }
    assert_eq!(one.requests(), 0);
    // Beyond a hundred tags a day, all further ones of the key are one.
    for n in 0..12 {
        let tags = (0..10).map(|m| format!("t{n}-{m}")).collect::<Vec<_>>().join(",");
        let body = Chat::B.request_body("alpha", "hi");
        assert_eq!(
            answer(client.post_request("/v1/chat/completions", &body).header("x-muster-tags", tags)).await.status,
            200
        );
    }
    let report = client.get("/api/v1/usage?group_by=tag").await.json();
    let rows = report["usage"].as_array().unwrap();
    let other = rows.iter().find(|row| row["tag"] == "other").unwrap();
    assert_eq!((rows.len(), &other["requests"]), (101, &json!(2)), "a request counts once: {report}");
}
