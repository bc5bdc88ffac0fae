//! The API's description is correct: it lists exactly the served routes, and its pages need no network.

use crate::support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use muster_auth::PrivateKey;
use reqwest::Method;
use serde_json::{Value, json};
use support::client::{Client, answer};
use support::dialect::Chat;
use support::openapi::openapi;
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};

/// Each route for people is called with a separate login.
const OFTEN: &str = "
[limits]
login = 1000000
[auth]
logins_per_address = 1000000
logins_per_minute = 1000000
argon2_memory_kib = 64
argon2_passes = 1
";

/// A path template and a method.
type Route = (String, Method);

fn server() -> (Muster, Upstream) {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    (Muster::start(&format!("{}{OFTEN}", upstream.provider("one", "alpha"))), upstream)
}

fn described(api: &Value) -> BTreeSet<(String, String)> {
    let paths = api["paths"].as_object().unwrap();
    let methods = |operations: &Value| operations.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    paths.iter().flat_map(|(path, ops)| methods(ops).into_iter().map(|method| (path.clone(), method))).collect()
}

/// Source code that serves a path other than by the registration.
fn served_elsewhere() -> Vec<String> {
    let calls = ["web::resource(", "web::scope(", ".service(", ".route("];
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = std::fs::read_to_string(&path).unwrap();
                if calls.iter().any(|call| source.contains(call)) {
                    found.push(path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string());
                }
            }
        }
    }
    found
}

fn example((path, method): (String, String), key_id: &str) -> Route {
    let path = match path.as_str() {
        "/v1/models/{id}" => path.replace("{id}", "alpha"),
        "/openapi/engines/{file}" => path.replace("{file}", "data.json"),
        "/api/v1/governance/audit/log/{path}" => path.replace("{path}", "checkpoint"),
        "/docs/assets/{file}" => path.replace("{file}", "swagger-ui.css"),
        _ if path.contains("{ch}") => path.replace("{ch}", "system"),
        // A long poll for a command or a job.
        "/api/v1/device/commands/next" | "/api/v1/device/jobs/next" => format!("{path}?wait_s=0"),
        "/api/q{number}" => path.replace("{number}", "109"),
        _ if path.contains("{seq}") => path.replace("{seq}", "0"),
        // Any other name refers to something that does not exist: 404 is allowed.
        _ => ["{id}", "{sid}", "{key}", "{owner}", "{user}"].iter().fold(path, |path, name| path.replace(name, key_id)),
    };
    assert!(!path.contains('{'), "no example for {path}");
    (path, Method::from_bytes(method.to_uppercase().as_bytes()).unwrap())
}

/// The credentials that an operation accepts; none where it is open.
fn credentials(operation: &Value) -> BTreeSet<&str> {
    let named = operation["security"].as_array().into_iter().flatten().filter_map(Value::as_object);
    named.flat_map(|names| names.keys().map(String::as_str)).collect()
}

/// The token of a device.
async fn device(people: &Client) -> String {
    let key = PrivateKey::generate().unwrap();
    let body = json!({ "name": "Siren", "kind": "siren", "public_key": key.public().to_jwk() });
    let made = people.post("/api/v1/devices", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    muster_auth::device::sign(&key, made.json()["data"]["device"]["id"].as_str().unwrap(), now, 300).unwrap()
}

async fn description(client: &Client) -> Value {
    openapi(&client.without_key()).await
}

#[tokio::test]
async fn it_lists_exactly_the_served_routes() {
    let (muster, _upstream) = server();
    let client = muster.client();
    let api = description(&client).await;
    let version = api["openapi"].as_str().unwrap();
    assert!(version.starts_with("3.1."), "{version}");
    let described = described(&api);
    // A unit test of the description compares it with the registered operations.
    assert_eq!(served_elsewhere(), ["src/route.rs"], "a path is served that is not registered");
    assert!(described.len() >= 220, "{}", described.len());

    let made = client.post("/api/v1/keys", &json!({ "name": "n", "scopes": ["chat"] })).await.json();
    let device = device(&muster.admin().await).await;
    let medical = client.make_key(&json!({ "name": "m", "scopes": ["medical"], "plan_a": "pro" })).await;
    for route in described {
        let (path, method) = example(route.clone(), made["id"].as_str().unwrap());
        let taken = credentials(&api["paths"][&route.0][&route.1]);
        let client = if taken.contains("token") && !taken.contains("key") {
            // A route for people. Each gets a separate login: some calls end it.
            muster.admin().await
        } else if taken.contains("device") {
            client.with(device.clone())
        } else {
            client.clone()
        };
        let request = |method: Method| match taken.contains("x_api_key") {
            true => client.without_key().request(method, &path).header("x-api-key", &medical),
            false => client.request(method, &path),
        };
        let sent = request(method.clone()).header("content-type", "application/json");
        let got = answer(sent.body("{}")).await;
        let lets_in = got.status != 401 || path.ends_with("/login") || path.ends_with("/refresh");
        assert!(lets_in, "{method} {path} takes none of {taken:?}: {}", got.text);
        assert!(!matches!(got.status, 405 | 500), "{method} {path}: {} {}", got.status, got.text);
        assert!(!got.text.contains("there is nothing at"), "{method} {path} leads nowhere");
        let operation = &api["paths"][&route.0][&route.1];
        let responses = operation["responses"].as_object().unwrap();
        assert!(
            responses.contains_key(&got.status.to_string()),
            "{method} {path} answers {}, of {:?}",
            got.status,
            responses.keys()
        );
        if method == Method::GET {
            let head = answer(request(Method::HEAD)).await;
            assert_eq!((head.status, head.text.as_str()), (got.status, ""), "HEAD {path}");
        }
    }
}

#[tokio::test]
async fn each_method_that_it_leaves_out_is_refused() {
    let (muster, _upstream) = server();
    let client = muster.client();
    let described = described(&description(&client).await);
    let paths: BTreeSet<_> = described.iter().map(|(path, _)| path.clone()).collect();
    for path in paths {
        for method in ["get", "post", "put", "patch", "delete"] {
            let route = (path.clone(), method.to_owned());
            if !described.contains(&route) {
                let (path, method) = example(route, "key_none");
                let got = answer(client.request(method.clone(), &path)).await;
                assert_eq!(got.status, 405, "{method} {path}");
                assert!(!got.header("allow").unwrap().contains(method.as_str()), "{method} {path}");
            }
        }
    }
}

/// Every string of a value, with its path.
fn walk(value: &Value, at: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(at, value);
    match value {
        Value::Object(object) => object.iter().for_each(|(name, below)| walk(below, &format!("{at}/{name}"), visit)),
        Value::Array(items) => items.iter().for_each(|below| walk(below, at, visit)),
        _ => {}
    }
}

#[tokio::test]
async fn it_is_complete_in_itself() {
    let (muster, _upstream) = server();
    let api = description(&muster.client()).await;
    walk(&api, "", &mut |at, value| {
        if let Some(target) = value.get("$ref").and_then(Value::as_str) {
            let pointer = target.strip_prefix('#').unwrap_or_else(|| panic!("{at} refers to another file: {target}"));
            assert!(api.pointer(pointer).is_some(), "{at} refers to nothing: {target}");
        }
    });
    let mut operations = BTreeSet::new();
    for (path, method) in described(&api) {
        let operation = &api["paths"][&path][&method];
        for text in ["summary", "description"] {
            assert!(operation[text].is_string(), "{method} {path} has no {text}");
        }
        assert!(operations.insert(operation["operationId"].to_string()), "{method} {path}: its id is another's too");
        let responses = operation["responses"].as_object().unwrap();
        // A WebSocket has its own success status: 101.
        let succeeds = |status: &String| status.starts_with('2') || status == "101";
        assert!(responses.keys().any(succeeds), "{method} {path}");
        // A route that needs a credential describes the error for a missing one.
        let public = operation["security"] == json!([]);
        assert!(public || responses.contains_key("401"), "{method} {path}");
        // A route that is only a command has no body.
        let bare = ["/api/v1/admin/reload", "/api/v1/auth/logout-all", "/api/v1/auth/keys/rotate"];
        let has_body = match method.as_str() {
            "get" | "delete" => false,
            "post" => !bare.iter().any(|start| path.starts_with(start)),
            _ => true,
        };
        assert_eq!(operation["requestBody"].is_object(), has_body, "{method} {path}");
        let content = operation["requestBody"]["content"].as_object();
        for (kind, content) in content.into_iter().flatten() {
            assert!(!content["example"].is_null(), "{method} {path}: no example of {kind}");
        }
    }
    for scheme in ["key", "x_api_key", "token", "device"] {
        assert!(api["components"]["securitySchemes"][scheme]["description"].is_string(), "{scheme}");
    }
}

#[tokio::test]
async fn it_describes_the_required_permission_of_each_route() {
    let (muster, _upstream) = server();
    let api = description(&muster.client()).await;
    let open: BTreeSet<String> = described(&api)
        .into_iter()
        .filter(|(path, method)| {
            credentials(&api["paths"][path][method]).is_empty() && api["paths"][path][method]["security"].is_array()
        })
        .map(|(path, _)| path)
        .collect();
    let wanted = [
        "/",
        "/.well-known/jwks.json",
        "/README.md",
        "/api/health",
        "/api/health/live",
        "/api/health/ready",
        "/api/v1/auth/cli/login",
        "/api/v1/auth/login",
        "/api/v1/auth/refresh",
        "/api/v1/auth/service/login",
        "/asyncapi.json",
        "/docs",
        "/docs/assets/{file}",
        "/docs/permissions",
        "/openapi.json",
        "/openapi/engines/{file}",
        "/redoc",
    ];
    assert_eq!(open, wanted.map(str::to_owned).into());
    for (path, method) in described(&api) {
        let operation = &api["paths"][&path][&method];
        let (taken, at) = (credentials(operation), format!("{method} {path}"));
        let error = &operation["responses"]["401"]["content"]["application/json"]["schema"]["$ref"];
        let invalid = if error == "#/components/schemas/ErrorAgent" { "422" } else { "400" };
        if path.starts_with("/api/v1/device/") {
            assert_eq!(taken, BTreeSet::from(["device"]), "{at}");
        }
        if taken.is_empty() || path == "/api/v1/realtime" {
            continue;
        }
        assert_eq!(operation["tags"].as_array().map(Vec::len), Some(1), "{at}: one tag");
        let responses = |status: &str| operation["responses"][status].is_object();
        let parameters: Vec<&Value> = operation["parameters"].as_array().into_iter().flatten().collect();
        let takes = |name: &str| parameters.iter().find(|parameter| parameter["name"] == name);
        let json = operation["requestBody"]["content"]["application/json"].is_object();
        let permission = operation["description"].as_str().unwrap().contains("of a user with the permission `");
        for (status, due) in [
            (invalid, json || parameters.iter().any(|parameter| parameter["in"] == "query")),
            ("400", json),
            ("401", true),
            ("403", permission),
            ("408", json),
            ("412", takes("If-Match").is_some()),
            ("413", json),
            ("415", json),
            ("428", takes("If-Match").is_some_and(|header| header["required"] == true)),
            ("429", true),
            ("503", true),
        ] {
            assert!(!due || responses(status), "{at} does not describe {status}");
        }
        // An `If-Match` header is described exactly where the version is compared.
        assert_eq!(responses("412"), takes("If-Match").is_some(), "{at}: 412");
    }
}

/// What a page loads, by its `src`, `href` and `url`.
fn references(page: &str) -> Vec<&str> {
    let marks = ["src=\"", "href=\"", "url: \"", "Redoc.init(\""];
    let found = marks.iter().flat_map(|mark| page.split(mark).skip(1));
    found.map(|rest| rest.split('"').next().unwrap()).filter(|target| !target.starts_with("data:")).collect()
}

#[tokio::test]
async fn its_pages_load_nothing_from_elsewhere() {
    let (muster, _upstream) = server();
    let client = muster.client().without_key();
    for path in ["/docs", "/redoc"] {
        let page = client.get(path).await;
        assert_eq!(page.status, 200);
        assert!(page.header("content-type").unwrap().starts_with("text/html"));
        let references = references(&page.text);
        assert!(references.len() >= 2 && references.contains(&"/openapi.json"), "{path}: {references:?}");
        assert!(!page.text.contains("http://") && !page.text.contains("https://"), "{path} reaches out");
        for target in references {
            assert!(target.starts_with('/') && !target.starts_with("//"), "{path} loads {target}");
            let mut response = client.request(Method::GET, target).send().await.unwrap();
            assert_eq!(response.status(), 200, "{target}");
            if target.contains("/assets/") {
                assert_eq!(response.headers()["content-encoding"], "gzip", "{target}");
                let first = response.chunk().await.unwrap().unwrap();
                assert!(first.starts_with(&[0x1f, 0x8b]), "{target} is packed");
            }
        }
    }
    assert_eq!(client.get("/docs/assets/none.js").await.status, 404);
}

#[tokio::test]
async fn its_pages_render_the_routes_without_a_network() {
    let chromium = "/usr/bin/chromium";
    if !Path::new(chromium).exists() {
        eprintln!("skipped: {chromium} is not installed");
        return;
    }
    let (muster, _upstream) = server();
    for path in ["/docs", "/redoc"] {
        let profile = tempfile::tempdir().unwrap();
        let page = Command::new("timeout")
            .args(["100", chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"])
            .args(["--virtual-time-budget=20000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("http://{}{path}", muster.address))
            .output()
            .unwrap();
        let dom = String::from_utf8_lossy(&page.stdout);
        // Some readers insert breaks into long paths.
        let dom = dom.replace("<wbr>", "").replace('\u{200b}', "");
        // One of the first: a reader may omit those that are not visible.
        let shown = dom.contains("/api/v1/auth/cli/login");
        assert!(shown, "{path} shows no routes: {dom:.2000} {}", String::from_utf8_lossy(&page.stderr));
    }
}

type Labels<'a> = Vec<(&'a str, &'a str)>;

/// Reads one sample of Prometheus' text format: name, labels, value.
fn sample(line: &str) -> Option<(&str, Labels<'_>, f64)> {
    let (series, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    let Some((name, labels)) = series.split_once('{') else { return Some((series, Vec::new(), value)) };
    let labels = labels.strip_suffix("\"}")?.split("\",");
    let pair = |label| str::split_once(label, "=\"");
    Some((name, labels.map(pair).collect::<Option<_>>()?, value))
}

#[tokio::test]
async fn metrics_need_the_scope_metrics_or_admin_and_are_prometheus_text() {
    let (muster, _upstream) = server();
    let client = muster.client();
    let narrow = client.make_key(&json!({ "name": "n", "scopes": ["chat"] })).await;
    for chat in Chat::ALL {
        assert_eq!(chat.post(&client, "alpha").await.status, 200);
    }
    assert_eq!(client.without_key().get("/metrics").await.status, 401);
    let refused = client.with(narrow).get("/metrics").await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("scope `metrics`"), "{}", refused.text);
    let scraper = client.with(client.make_key(&json!({ "name": "scraper", "scopes": ["metrics"] })).await);
    assert_eq!(scraper.get("/metrics").await.status, 200);
    for path in ["/api/v1/keys", "/api/v1/tasks", "/api/models", "/api/v1/engines"] {
        assert!(matches!(scraper.get(path).await.status, 403 | 404), "{path}: it grants nothing else");
    }
    let admin = client.with(client.make_key(&json!({ "name": "admin", "scopes": ["admin"] })).await);
    assert_eq!(admin.get("/metrics").await.status, 200, "`admin` includes it");
    let got = client.get("/metrics").await;
    assert_eq!(got.status, 200);
    assert!(got.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let (mut families, mut chats, mut tokens) = (BTreeSet::new(), 0.0, 0.0);
    for line in got.text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let parts: Vec<_> = comment.splitn(3, ' ').collect();
            assert!(
                parts[0] == "HELP" || parts[0] == "TYPE" && ["counter", "gauge", "histogram"].contains(&parts[2]),
                "{line}"
            );
            families.insert(parts[1]);
            continue;
        }
        let (name, labels, value) = sample(line).unwrap_or_else(|| panic!("no sample: {line}"));
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(families.contains(name) || families.contains(family), "{line} has no type before it");
        let label = |wanted: &str| labels.iter().find(|(name, _)| *name == wanted).map(|&(_, value)| value);
        if name == "muster_http_requests_total" && label("route") == Some(Chat::B.path()) {
            assert_eq!((label("method"), label("status")), (Some("POST"), Some("200")));
            chats += value;
        }
        if name == "muster_tokens_total" && label("kind") == Some("prompt") {
            tokens += value;
        }
    }
    // Three chats of seven prompt tokens each, one of them by interface B.
    assert!((chats, tokens) == (1.0, 21.0), "{chats} {tokens}");
}
