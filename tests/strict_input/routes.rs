//! Every route of the description is sent what it does not know.

use reqwest::Method;
use serde_json::{Value, json};

use super::described::{Operation, objects, operations, with_member};
use crate::support::client::{Answer, Client, answer};
use crate::support::device::Unit;
use crate::support::openapi::openapi;
use crate::support::server::Muster;

/// A name that resembles none.
const UNKNOWN: &str = "zzqx_unknown";

/// No call is refused for those before it.
const LIMITS: &str = "
[limits]
unauthenticated = 1000000
login = 1000000
person = 1000000
device = 1000000
[limits.agent]
health = 1000000
chat = 1000000
agents = 1000000
memory = 1000000
engines = 1000000
control = 1000000
";

/// Paths whose parameters are not refused, with the reason.
const ANY_QUERY: [(&str, &str); 14] = [
    ("/", "the page that a browser opens first"),
    ("/README.md", "a page of a browser"),
    ("/v1/", "OpenAI's and Anthropic's wire: their clients send parameters, such as `?beta=true`"),
    ("/api/chat", "interface A follows the wire of an AI platform: contract 0"),
    ("/api/models", "interface A"),
    ("/api/generate-image", "interface A"),
    ("/api/images", "interface A"),
    ("/api/languages", "interface A"),
    ("/api/translate", "interface A"),
    ("/api/vision", "interface A"),
    ("/api/medical/", "the medical dialect names them in `ignored`: contract 0"),
    ("/docs", "a page of a browser: links carry parameters of others"),
    ("/redoc", "a page of a browser"),
    ("/docs/assets/", "a file of a page, which browsers and caches may version"),
];

/// Paths whose bodies are not refused for an unknown member, with the reason.
const ANY_BODY: [(&str, &str); 4] = [
    ("/v1/", "OpenAI's and Anthropic's wire: unknown members reach a provider by its list, or are refused there"),
    ("/api/chat", "interface A follows the wire of an AI platform: contract 0"),
    ("/api/medical/", "the medical dialect names them in `ignored`: contract 0"),
    ("/api/generate-image", "interface A: fields of OpenAI's images are sent along"),
];

/// Objects within bodies whose members are the client's own, by the end of their path.
const FREE: [(&str, &str); 11] = [
    ("metadata", "any JSON of the device's owner"),
    ("values", "readings by their names"),
    ("args", "arguments of a device's command"),
    ("result", "the result of a device's command"),
    ("params", "checked against the agent's own schema"),
    ("data", "data of a note"),
    ("details", "texts of a device, by their names"),
    ("public_key", "a JWK: RFC 7517 requires that unknown members are ignored"),
    ("jwk", "a JWK: RFC 7517 requires that unknown members are ignored"),
    ("payload", "what an approval is about, any JSON"),
    ("guards", "settings by the names of actions, which are checked with the policy"),
];

fn is_in(path: &str, list: &[(&str, &str)]) -> bool {
    list.iter().any(|(start, _)| path == *start || start.len() > 1 && path.starts_with(start))
}

/// Everything that a route could have changed.
async fn state(people: &Client, key: &Client) -> Vec<Value> {
    let mut lists = Vec::new();
    for path in [
        "users",
        "devices",
        "incidents",
        "alerts",
        "geofences",
        "firmware/artifacts",
        "firmware/jobs",
        "firmware/keys",
        "auth/sessions",
    ] {
        lists.push(people.get(&format!("/api/v1/{path}")).await.json()["data"].clone());
    }
    for path in ["/api/v1/keys", "/api/v1/tasks", "/api/memory"] {
        let mut list = key.get(path).await.json();
        for record in list.as_object_mut().unwrap().values_mut().filter_map(Value::as_array_mut).flatten() {
            record.as_object_mut().unwrap().remove("last_used_at");
        }
        lists.push(list);
    }
    // A session's last use changes by the requests themselves.
    for session in lists[8]["sessions"].as_array_mut().into_iter().flatten() {
        session.as_object_mut().unwrap().remove("last_used");
    }
    lists
}

/// The failed checks of a refusal in the dialect of its route: kind, place and message of each.
fn failures(operation: &Operation<'_>, got: &Answer) -> Vec<(String, String, String)> {
    let body = got.json();
    let list = if operation.is_of_the_agent_platform() {
        assert_eq!(got.status, 422, "{} {}: {}", operation.method, operation.path, got.text);
        body["detail"].clone()
    } else {
        assert_eq!(got.status, 400, "{} {}: {}", operation.method, operation.path, got.text);
        let first = body["error"]["details"][0]["msg"].as_str().unwrap_or_default();
        let message = body["message"].as_str().or(body["error"]["message"].as_str()).unwrap();
        assert!(message.ends_with(first), "the first is named: {}", got.text);
        body["error"]["details"].clone()
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place = |loc: &Value| loc.as_array().unwrap().iter().map(text).collect::<Vec<_>>().join(".");
    let list = list.as_array().unwrap_or_else(|| panic!("{} {}: {}", operation.method, operation.path, got.text));
    list.iter().map(|check| (text(&check["type"]), place(&check["loc"]), text(&check["msg"]))).collect()
}

/// Three callers: a user, a device and an API key.
struct Callers {
    person: Client,
    device: Client,
    key: Client,
}

impl Callers {
    fn of(&self, operation: &Operation<'_>) -> &Client {
        let named = operation.described["security"].as_array().into_iter().flatten().filter_map(Value::as_object);
        let taken: Vec<&str> = named.flat_map(|names| names.keys().map(String::as_str)).collect();
        match () {
            () if taken.contains(&"key") || taken.is_empty() => &self.key,
            () if taken.contains(&"token") => &self.person,
            () => &self.device,
        }
    }
}

async fn callers(muster: &Muster) -> Callers {
    let (key, person) = (muster.client(), muster.admin().await);
    let device = Unit::register(&person, json!({})).await.client;
    Callers { person, device, key }
}

#[tokio::test]
async fn every_route_refuses_an_unknown_query_parameter_before_any_effect() {
    let muster = Muster::start(LIMITS);
    let callers = callers(&muster).await;
    let api = openapi(&callers.key).await;
    let before = state(&callers.person, &callers.key).await;
    let (mut refused, mut ignored) = (0, 0);
    for operation in operations(&api) {
        let method = Method::from_bytes(operation.method.to_uppercase().as_bytes()).unwrap();
        let path = format!("{}?{UNKNOWN}=1", operation.example());
        let mut request = callers.of(&operation).request(method, &path);
        if let Some(content) = operation.described["requestBody"]["content"].as_object() {
            let (kind, content) = content.iter().next().unwrap();
            let text = content["example"].as_str().map_or_else(|| content["example"].to_string(), str::to_owned);
            request = request.header("content-type", kind).body(text);
        }
        if is_in(operation.path, &ANY_QUERY) {
            ignored += 1;
            continue;
        }
        let got = answer(request).await;
        let failures = failures(&operation, &got);
        let (kind, place, msg) = &failures[0];
        let expected = ("extra_forbidden", format!("query.{UNKNOWN}"));
        assert_eq!((kind.as_str(), place.clone()), expected, "{} {}: {}", operation.method, operation.path, got.text);
        assert!(msg.starts_with(&format!("unknown query parameter `{UNKNOWN}`: ")), "{msg}");
        refused += 1;
    }
    assert!(refused > 200 && ignored < 40, "{refused} refused, {ignored} ignored");
    assert_eq!(state(&callers.person, &callers.key).await, before);
}

#[tokio::test]
async fn every_body_refuses_an_unknown_member_at_every_depth_before_any_effect() {
    let muster = Muster::start(LIMITS);
    let callers = callers(&muster).await;
    let api = openapi(&callers.key).await;
    let before = state(&callers.person, &callers.key).await;
    let (mut refused, mut deep) = (0, 0);
    for operation in operations(&api) {
        let content = &operation.described["requestBody"]["content"]["application/json"];
        if content.is_null() {
            continue;
        }
        let (schema, example) = (&content["schema"], &content["example"]);
        let mut found = Vec::new();
        objects(&api, schema, example, &[], &mut found);
        let at = format!("{} {}", operation.method, operation.path);
        if is_in(operation.path, &ANY_BODY) {
            assert!(!found.iter().any(|(path, closed)| path.is_empty() && *closed), "{at} is described as closed");
            continue;
        }
        assert!(found.contains(&(Vec::new(), true)), "{at} is not described as closed");
        let engine = ["/run", "/sentinel/orchestrate"].iter().any(|end| operation.path.ends_with(end))
            && operation.path.starts_with("/api/q");
        for (path, closed) in found {
            let last = path.last().map_or("", String::as_str);
            if !closed {
                // Rows of data may have further columns: the catalogue closes the input of an engine only.
                let free = engine || FREE.iter().any(|(name, _)| path.iter().any(|step| step == name));
                assert!(free, "{at}: `{}` is neither closed nor an exception", path.join("."));
                continue;
            }
            assert!(!FREE[..7].iter().any(|(name, _)| *name == last), "{at}: {last} is listed as free");
            let body = with_member(example, &path, UNKNOWN);
            let method = Method::from_bytes(operation.method.to_uppercase().as_bytes()).unwrap();
            let request = callers.of(&operation).request(method, &operation.example());
            let got = answer(request.header("content-type", "application/json").body(body.to_string())).await;
            let (kind, place, msg) = failures(&operation, &got)[0].clone();
            let steps = ["body".to_owned()].into_iter().chain(path.clone()).chain([UNKNOWN.to_owned()]);
            let expected = steps.collect::<Vec<_>>().join(".");
            assert_eq!((kind.as_str(), place), ("extra_forbidden", expected), "{at}: {}", got.text);
            assert!(msg.starts_with(&format!("unknown field `{UNKNOWN}`: ")), "{msg}");
            refused += 1;
            deep += usize::from(!path.is_empty());
        }
    }
    assert!(refused > 100 && deep >= 8, "{refused} refused, {deep} of them within");
    assert_eq!(state(&callers.person, &callers.key).await, before);
}

/// The mistakes that users made.
#[tokio::test]
async fn misspelt_names_are_answered_with_what_was_meant() {
    let muster = Muster::start("");
    let (key, person) = (muster.client(), muster.admin().await);
    let stages = json!({ "kind": "reboot", "target": { "group": "sirens" },
        "policy": { "gruops": [{ "pct": 10 }, { "pct": 100 }] } });
    let incident = json!({ "title": "Flood", "kind": "flood",
        "geometry": { "type": "Point", "coordinates": [8.64, 49.87], "radius": 500 } });
    for (path, body, place, meant) in [
        ("/api/v1/firmware/jobs", stages, "body.policy.gruops", "unknown field `gruops`: did you mean `groups`?"),
        (
            "/api/v1/firmware/jobs",
            json!({ "kind": "reboot", "target": { "query": { "gruop": "x" } } }),
            "body.target.query.gruop",
            "unknown field `gruop`: did you mean `group`?",
        ),
        ("/api/v1/incidents", incident, "body.geometry.radius", ""),
        (
            "/api/v1/incidents",
            json!({ "title": "Flood", "kind": "flood", "sevrity": "Severe" }),
            "body.sevrity",
            "unknown field `sevrity`: did you mean `severity`?",
        ),
        (
            "/api/v1/incidents",
            json!({ "title": "Flood", "kind": "flood", "casualties": { "dead": 0, "injurd": 1 } }),
            "body.casualties.injurd",
            "unknown field `injurd`: did you mean `injured`?",
        ),
        (
            "/api/v1/auth/login",
            json!({ "email": "a@b.c", "password": "x", "device_info": { "ip": "::1" } }),
            "body.device_info.ip",
            "unknown field `ip`: did you mean `ip_address`?",
        ),
    ] {
        let got = person.post(path, &body).await;
        let first = &got.json()["error"]["details"][0];
        let found: Vec<&str> = first["loc"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!((got.status, found.join(".").as_str()), (400, place), "{}", got.text);
        assert!(meant.is_empty() || first["msg"] == meant, "{}", got.text);
    }
    let entry = json!({ "entries": [{ "key": "a", "value": "b" }, { "key": "c", "value": "d", "ttl": 5 }] });
    for (path, body, place, meant) in [
        ("/api/memory/batch", entry, "body.entries.1.ttl", "unknown field `ttl`: did you mean `ttl_seconds`?"),
        (
            "/api/memory/store",
            json!({ "key": "a", "value": "b", "ttl": 5 }),
            "body.ttl",
            "unknown field `ttl`: did you mean `ttl_seconds`?",
        ),
        (
            "/api/llm/chat",
            json!({ "messages": [{ "role": "user", "content": "hi", "nmae": "x" }] }),
            "body.messages.0.nmae",
            "unknown field `nmae`: did you mean `name`?",
        ),
        (
            "/api/v1/keys",
            json!({ "name": "n", "scopes": ["chat"], "limits": { "request_per_minute": 5 } }),
            "body.limits.request_per_minute",
            "unknown field `request_per_minute`: did you mean `requests_per_minute`?",
        ),
        (
            "/api/v1/agents/json-wrangler/run",
            json!({ "task": "x", "params": { "documnt": {} } }),
            "body.params.documnt",
            "unknown parameter `documnt`: did you mean `document`?",
        ),
    ] {
        let got = key.post(path, &body).await;
        let first = &got.json()["detail"][0];
        let found: Vec<&str> = first["loc"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!((got.status, found.join(".").as_str()), (422, place), "{}", got.text);
        assert_eq!((&first["type"], &first["msg"]), (&json!("extra_forbidden"), &json!(meant)), "{}", got.text);
    }
    assert_eq!(key.get("/api/memory").await.json()["entries"], json!([]), "nothing of a refused batch is stored");
    for (client, path, meant) in [
        (&person, "/api/v1/incidents?sevrity=Severe", "min_severity"),
        (&person, "/api/v1/devices?grop=sirens", "group"),
        (&person, "/api/v1/devices/near?lon=8&lat=49&radius_m=5", "r_m"),
        (&person, "/api/v1/firmware/jobs?stat=running", "state"),
        (&key, "/api/v1/tasks?staus=queued", "status"),
        (&key, "/api/memory?prefix=x", "key_prefix"),
        (&key, "/api/memory/search?q=x&tag=", "tags"),
        (&key, "/api/engines?famly=data", "family"),
    ] {
        let got = client.get(path).await;
        assert!(matches!(got.status, 400 | 422), "{path}: {}", got.text);
        assert!(got.text.contains(&format!("did you mean `{meant}`?")), "{path}: {}", got.text);
    }
}

/// The wires of others stay as they are.
#[tokio::test]
async fn clients_of_other_wires_send_what_they_send() {
    use crate::support::upstream::{Upstream, UpstreamAction};
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start(&upstream.provider("one", "alpha"));
    let client = muster.client();
    let turns = json!([{ "role": "user", "content": "hi", "refusal": null, "annotations": [] }]);
    for (path, body) in [
        ("/v1/chat/completions?api-version=2025-01-01", json!({ "model": "alpha", "messages": turns })),
        (
            "/v1/messages?beta=true",
            json!({ "model": "alpha", "max_tokens": 9, "messages": [{ "role": "user", "content": "hi" }] }),
        ),
        ("/v1/responses?x=1", json!({ "model": "alpha", "input": "hi" })),
        ("/api/chat?x=1", json!({ "model": "alpha", "message": "hi", "extra": 1 })),
    ] {
        let got = client.post(path, &body).await;
        assert_eq!(got.status, 200, "{path}: {}", got.text);
    }
    for path in ["/v1/models?limit=20", "/api/models?x=1", "/docs?utm_source=mail", "/redoc?x"] {
        assert_eq!(client.get(path).await.status, 200, "{path}");
    }
}
