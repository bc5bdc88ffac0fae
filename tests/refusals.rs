//! Responses of every dialect to bad requests: status, whole body and headers, as one table.

use crate::support;

use reqwest::{Body, Method};
use serde_json::{Value, json};
use support::client::{Answer, Client, answer};
use support::refusal::{DOWN, Dialect, INVALID, Refusal, invalid, normalised, refusal};
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};
use support::{KEY, UNKNOWN_KEY};

/// A path under test, the dialect of its errors, and a valid body.
struct Route {
    path: &'static str,
    dialect: Dialect,
    good: Value,
    scope: &'static str,
    allow: &'static str,
}

fn check(what: &str, route: &str, dialect: Dialect, got: &Answer, want: &Refusal) {
    assert_eq!(got.status, want.status, "{what} at {route}: {}", got.text);
    assert_eq!(normalised(got), want.body(dialect), "{what} at {route}");
    assert!(got.header("x-request-id").is_some_and(|id| id.starts_with("req_")), "{what} at {route}: no request id");
    let type_of = got.header("content-type").unwrap_or_default();
    assert!(type_of.starts_with("application/json"), "{what} at {route}: {type_of}");
}

/// Every counted response has the limit headers, whatever its status.
fn check_limits(what: &str, route: &str, got: &Answer) {
    let number = |name: &str| got.number(name).unwrap_or_else(|| panic!("{what} at {route}: no {name}"));
    let (limit, remaining, reset) =
        (number("x-ratelimit-limit"), number("x-ratelimit-remaining"), number("x-ratelimit-reset"));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!(remaining < limit, "{what} at {route}: this request was counted, {remaining} of {limit}");
    assert!((now - 1..=now + 86_401).contains(&reset), "{what} at {route}: reset {reset}, now {now}");
}

fn routes() -> [Route; 4] {
    let turns = json!([{ "role": "user", "content": "hi" }]);
    [
        Route {
            path: "/api/chat",
            dialect: Dialect::A,
            good: json!({ "message": "hi", "model": "alpha" }),
            scope: "chat",
            allow: "POST",
        },
        Route {
            path: "/v1/chat/completions",
            dialect: Dialect::B,
            good: json!({ "model": "alpha", "messages": turns }),
            scope: "chat",
            allow: "POST",
        },
        Route {
            path: "/api/llm/chat",
            dialect: Dialect::Agent,
            good: json!({ "model": "alpha", "messages": turns }),
            scope: "chat",
            allow: "POST",
        },
        Route {
            path: "/api/v1/keys",
            dialect: Dialect::Agent,
            good: json!({ "name": "n", "scopes": ["chat"] }),
            scope: "admin",
            allow: "GET, HEAD, POST",
        },
    ]
}

/// A server with one healthy provider, and a client whose key has every scope and limited plans.
async fn server() -> (Muster, Upstream, Client) {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start(&(upstream.provider("one", "alpha") + "[limits.agent]\nchat = 30\nhealth = 100\n"));
    let admin = muster.client();
    let all = json!(["agents", "chat", "memory", "engines", "admin", "medical"]);
    let key = admin.make_key(&json!({ "name": "all", "scopes": all, "plan_a": "pro", "plan_b": "pro" })).await;
    (muster, upstream, admin.with(key))
}

#[tokio::test]
async fn bad_bodies() {
    let (_muster, _upstream, client) = server().await;
    for Route { path, dialect, good, .. } in routes() {
        let post = |kind: &str, body: String| {
            answer(client.request(Method::POST, path).header("content-type", kind.to_owned()).body(body))
        };
        assert!(post("application/json", good.to_string()).await.status < 300, "{path} takes its good body");

        let got = post("application/json", "{\n  \"message\": oops\n}".to_owned()).await;
        let want = refusal(400, "invalid_json", INVALID, "the body is not JSON: expected value at line 2 column 14");
        check("malformed JSON", path, dialect, &got, &want);
        check_limits("malformed JSON", path, &got);

        let (field, sent): (&'static [&'static str], Value) = match path {
            "/api/chat" => (&["message"], json!(7)),
            "/api/v1/keys" => (&["name"], json!(7)),
            _ => (&["messages"], json!("hi")),
        };
        let why = if field == ["messages"] { "must be an array" } else { "must be a string" };
        let mut body = good.clone();
        body[field[0]] = sent.clone();
        let got = post("application/json", body.to_string()).await;
        check("wrong type", path, dialect, &got, &invalid(dialect, vec![(field, why, sent, "type_error")]));
        check_limits("wrong type", path, &got);

        let missing = |name: &'static [&'static str]| (name, "is required", Value::Null, "missing");
        let checks = match path {
            "/api/chat" => vec![missing(&["message"])],
            "/v1/chat/completions" => vec![missing(&["model"]), missing(&["messages"])],
            "/api/llm/chat" => vec![missing(&["messages"])],
            _ => vec![missing(&["name"]), missing(&["scopes"])],
        };
        let got = post("application/json", "{}".to_owned()).await;
        check("missing field", path, dialect, &got, &invalid(dialect, checks));

        let got = post("text/plain", good.to_string()).await;
        let message = "the body must be sent with Content-Type: application/json, not `text/plain`";
        check("wrong type of body", path, dialect, &got, &refusal(415, "unsupported_media_type", INVALID, message));
        check_limits("wrong type of body", path, &got);

        // Routes that accept images have a higher limit.
        let most: usize = if matches!(path, "/v1/chat/completions" | "/api/llm/chat") { 24 << 20 } else { 1 << 20 };
        let big = format!("{{\"message\": \"{}\"}}", "x".repeat(most));
        let message: &'static str = format!("the body is larger than {most} bytes, the most taken here").leak();
        let want = refusal(413, "payload_too_large", INVALID, message);
        check("oversize body", path, dialect, &post("application/json", big.clone()).await, &want);
        // With chunked encoding no length is sent beforehand.
        let pieces: Vec<_> =
            big.as_bytes().chunks(64 << 10).map(|piece| Ok::<_, std::io::Error>(piece.to_vec())).collect();
        let body = Body::wrap_stream(futures::stream::iter(pieces));
        let got =
            answer(client.request(Method::POST, path).header("content-type", "application/json").body(body)).await;
        check("oversize body in chunks", path, dialect, &got, &want);
    }
}

#[tokio::test]
async fn several_failed_checks_are_all_reported() {
    let (_muster, _upstream, client) = server().await;
    let body = json!({ "messages": [{ "role": "nobody", "content": 3 }], "temperature": 9, "max_tokens": 0 });
    let got = client.post("/api/llm/chat", &body).await;
    assert_eq!(got.status, 422, "{}", got.text);
    let mut places: Vec<_> =
        got.json()["detail"].as_array().unwrap().iter().map(|check| check["loc"].to_string()).collect();
    places.sort();
    let expected = [
        r#"["body","max_tokens"]"#,
        r#"["body","messages","0","content"]"#,
        r#"["body","messages","0","role"]"#,
        r#"["body","temperature"]"#,
    ];
    assert_eq!(places, expected);
    // Interface A's temperature ends at 1, B's at 2.
    let got = client.post("/api/chat", &json!({ "message": "hi", "temperature": 1.5 })).await;
    assert_eq!((got.status, got.json()["error"]["field"].as_str().unwrap()), (400, "temperature"));
    let turns = json!([{ "role": "user", "content": "hi" }]);
    let got =
        client.post("/v1/chat/completions", &json!({ "model": "alpha", "messages": turns, "temperature": 1.5 })).await;
    assert_eq!(got.status, 200, "{}", got.text);
}

#[tokio::test]
async fn models_that_are_not_there() {
    let (_muster, _upstream, client) = server().await;
    for Route { path, dialect, mut good, .. } in routes().into_iter().filter(|route| route.scope == "chat") {
        good["model"] = "nope".into();
        let message = "the model \"nope\" does not exist; GET /v1/models lists those that do";
        let check_of = (&["model"] as &[_], message, json!("nope"), "value_error");
        let want = Refusal { checks: vec![check_of], ..refusal(404, "model_not_found", INVALID, message) };
        let got = client.post(path, &good).await;
        check("unknown model", path, dialect, &got, &want);
        check_limits("unknown model", path, &got);

        good["model"] = UNCONFIGURED.into();
        let message = format!(
            "the model \"{UNCONFIGURED}\" needs its provider \"anthropic\", which is not configured: set [[provider]] id = \"anthropic\""
        );
        let got = client.post(path, &good).await;
        check("unconfigured model", path, dialect, &got, &refusal(503, "model_unconfigured", DOWN, message));
        assert!(got.number("retry-after").is_some_and(|seconds| seconds >= 1), "{path}");
        check_limits("unconfigured model", path, &got);
    }
    let got = client.get("/v1/models/no/such").await;
    assert_eq!((got.status, got.json()["error"]["code"].as_str().unwrap()), (404, "model_not_found"));
}

/// A model of the catalogue whose provider these tests do not set up.
const UNCONFIGURED: &str = "claude-sonnet-5-5";

#[tokio::test]
async fn methods_that_a_path_does_not_take() {
    let (_muster, _upstream, client) = server().await;
    for Route { path, dialect, allow, .. } in routes() {
        let got = answer(client.request(Method::PUT, path).header("content-type", "application/json").body("{}")).await;
        let want = refusal(405, "method_not_allowed", INVALID, format!("this path supports {allow}"));
        check("wrong method", path, dialect, &got, &want);
        assert_eq!(got.header("allow"), Some(allow), "{path}");
    }
}

#[tokio::test]
async fn callers_without_a_right() {
    let (_muster, _upstream, client) = server().await;
    let narrow = client.with(KEY).make_key(&json!({ "name": "narrow", "scopes": ["memory"] })).await;
    for Route { path, dialect, good, scope, .. } in routes() {
        let unknown = "the key is unknown, expired or revoked: request a new one";
        let malformed = "this is not a key of this server: a key has the form mst_<12 characters>_<43 characters>";
        for (what, caller, message) in [
            ("no key", client.without_key(), "send your key as `Authorization: Bearer mst_…`"),
            ("a wrong key", client.with(UNKNOWN_KEY), unknown),
            ("no key of ours", client.with("sk-something"), malformed),
        ] {
            let got = caller.post(path, &good).await;
            let code = if dialect == Dialect::B { "invalid_api_key" } else { "unauthorized" };
            check(what, path, dialect, &got, &refusal(401, code, INVALID, message));
            check_limits(what, path, &got);
            let challenge = got.header("www-authenticate").unwrap_or_default();
            assert!(challenge.starts_with("Bearer realm=\"muster\""), "{what} at {path}: {challenge}");
            // RFC 6750, section 3.1: the error is described for a credential, and omitted where none was sent.
            assert_eq!(
                challenge.contains("error=\"invalid_token\""),
                what != "no key",
                "{what} at {path}: {challenge}"
            );
        }
        let got = client.with(&narrow).post(path, &good).await;
        let code = if dialect == Dialect::B { "insufficient_permissions" } else { "forbidden" };
        let want = refusal(403, code, "permission_error", format!("this needs a key with the scope `{scope}`"));
        check("wrong scope", path, dialect, &got, &want);
        check_limits("wrong scope", path, &got);
    }
}

#[tokio::test]
async fn spent_limits() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start(&(upstream.provider("one", "alpha") + "[limits.agent]\nchat = 3\nhealth = 6\n"));
    let limits = json!({ "requests_per_minute": 2, "requests_per_hour": 100, "requests_per_day": 100 });
    let spender = json!({ "name": "spender", "scopes": ["chat", "admin"], "plan_a": "enterprise", "plan_b": "enterprise", "limits": limits });
    let client = muster.client().with(muster.client().make_key(&spender).await);
    for Route { path, dialect, mut good, .. } in routes() {
        let limit = match path {
            "/api/llm/chat" => 3,
            "/api/v1/keys" => 6,
            _ => 2,
        };
        if path == "/api/v1/keys" {
            good["limits"] = limits.clone();
        }
        for taken in 1..=limit {
            let got = client.post(path, &good).await;
            assert!(got.status < 300, "{taken} of {limit} at {path}: {}", got.text);
            assert_eq!(got.number("x-ratelimit-limit"), Some(limit), "{path}");
            assert_eq!(got.number("x-ratelimit-remaining"), Some(limit - taken), "{path}");
        }
        let got = client.post(path, &good).await;
        let wait = got.number("retry-after").unwrap_or_else(|| panic!("{path}: {} {}", got.status, got.text));
        assert!((1..=60).contains(&wait), "{path}: {wait}");
        let message = format!("the limit of {limit} requests per minute is reached: try again in {wait} s");
        check("spent limit", path, dialect, &got, &refusal(429, "rate_limit_exceeded", "rate_limit_error", message));
        check_limits("spent limit", path, &got);
        assert_eq!(got.number("x-ratelimit-remaining"), Some(0), "{path}");
        if dialect == Dialect::B {
            assert_eq!(got.number("x-ratelimit-limit-requests"), Some(limit));
            assert_eq!(got.number("x-ratelimit-remaining-requests"), Some(0));
        }
    }
}

#[tokio::test]
async fn paths_that_lead_nowhere() {
    let (_muster, _upstream, client) = server().await;
    for (path, dialect) in [
        ("/api/v1/devices/none/none", Dialect::Disaster),
        ("/api/v1/auth/none", Dialect::Disaster),
        ("/api/chat/none", Dialect::A),
        ("/api/vision/none", Dialect::A),
        ("/v1/none", Dialect::B),
        ("/api/medical/none", Dialect::Medical),
        ("/api/v1/none", Dialect::Agent),
        ("/api/q7/none", Dialect::Agent),
        ("/none", Dialect::Agent),
    ] {
        let message = format!("there is nothing at {path}: /openapi.json lists every route");
        for got in [client.get(path).await, client.without_key().post(path, &json!({})).await] {
            check("unknown path", path, dialect, &got, &refusal(404, "not_found", INVALID, message.clone()));
        }
    }
}

#[tokio::test]
async fn request_ids_are_echoed_where_they_fit() {
    let (_muster, _upstream, client) = server().await;
    let longest = "i".repeat(128);
    for path in ["/api/health/live", "/v1/models", "/none"] {
        for (sent, fit) in
            [("abc-123", true), (&*longest, true), (&*(longest.clone() + "i"), false), ("with space", false)]
        {
            let got = answer(client.request(Method::GET, path).header("x-request-id", sent)).await;
            let id = got.header("x-request-id").unwrap();
            assert_eq!(id == sent, fit, "{path}: {sent} gave {id}");
            assert!(fit || id.starts_with("req_"), "{path}: {id}");
        }
    }
    let made = [client.get("/none").await, client.get("/none").await]
        .map(|got| got.header("x-request-id").unwrap().to_owned());
    assert_ne!(made[0], made[1]);
}
