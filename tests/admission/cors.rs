//! Pages of other origins: which may call, and which headers they may read.
//! Expected headers are those of <https://fetch.spec.whatwg.org/#http-cors-protocol>.

use reqwest::Method;
use serde_json::json;

use crate::support::client::{Answer, Client, answer};
use crate::support::process::Launch;
use crate::support::server::Muster;

const PAGE: &str = "https://ops.example.org";

async fn from_page(client: &Client, method: Method, path: &str, origin: Option<&str>) -> Answer {
    let request = client.request(method, path);
    answer(origin.into_iter().fold(request, |request, origin| request.header("origin", origin))).await
}

async fn preflight(client: &Client, origin: &str, method: &str) -> Answer {
    let request = client.request(Method::OPTIONS, "/v1/chat/completions").header("origin", origin);
    let request = request.header("access-control-request-method", method);
    answer(request.header("access-control-request-headers", "authorization,content-type,idempotency-key")).await
}

fn exposed(answer: &Answer) -> Vec<String> {
    let list = answer.header("access-control-expose-headers").unwrap_or_default();
    list.split(',').map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty()).collect()
}

/// The names of the response's CORS headers.
fn cors_headers(answer: &Answer) -> Vec<String> {
    let names = answer.headers.keys().map(|name| name.as_str().to_owned());
    names.filter(|name| name.starts_with("access-control-")).collect()
}

#[tokio::test]
async fn pages_of_a_permitted_origin_read_the_headers_of_limits_and_requests() {
    let settings = format!("[server]\ncors_origins = [{PAGE:?}]\n[limits.agent]\nhealth = 8\n");
    let muster = Muster::start(&settings);
    let client = muster.client();
    let mut statuses = Vec::new();
    for (method, path) in [(Method::GET, "/v1/models"), (Method::GET, "/none"), (Method::GET, "/api/v1/keys")] {
        for _ in 0..4 {
            let got = from_page(&client, method.clone(), path, Some(PAGE)).await;
            assert_eq!(got.header("access-control-allow-origin"), Some(PAGE), "{path}");
            assert_eq!(got.header("access-control-allow-credentials"), None, "{path}");
            let exposed = exposed(&got);
            let sent = got.headers.keys().map(|name| name.as_str().to_owned());
            let wanted = |name: &String| {
                name.contains("ratelimit") || ["retry-after", "x-request-id", "request-id"].contains(&name.as_str())
            };
            for name in sent.filter(wanted).chain(["idempotency-replayed".to_owned(), "retry-after".to_owned()]) {
                assert!(exposed.contains(&name), "{path}: {name} is not in {exposed:?}");
            }
            assert!(got.header("vary").is_some_and(|vary| vary.to_ascii_lowercase().contains("origin")), "{path}");
            statuses.push(got.status);
        }
    }
    assert!([200, 404].iter().all(|status| statuses.contains(status)), "{statuses:?}");
    while from_page(&client, Method::GET, "/api/v1/keys", Some(PAGE)).await.status == 200 {}
    let refused = from_page(&client, Method::GET, "/api/v1/keys", Some(PAGE)).await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (429, Some(PAGE)));
    assert!(exposed(&refused).contains(&"retry-after".to_owned()));
}

#[tokio::test]
async fn without_a_permitted_origin_nothing_is_exposed() {
    let muster = Muster::start(&format!("[server]\ncors_origins = [{PAGE:?}]\n"));
    let same_origin_only = Muster::start("");
    for (server, origins) in [
        (&muster, vec![None, Some("https://evil.example.org"), Some("null"), Some("https://ops.example.org.evil.org")]),
        (&same_origin_only, vec![None, Some(PAGE)]),
    ] {
        for origin in origins {
            for path in ["/v1/models", "/none", "/api/health/live"] {
                let got = from_page(&server.client(), Method::GET, path, origin).await;
                assert_eq!(cors_headers(&got), Vec::<String>::new(), "{path} for {origin:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_preflight_is_answered_for_permitted_origins_and_needs_no_key() {
    let muster = Muster::start(&format!("[server]\ncors_origins = [{PAGE:?}]\n"));
    let stranger = muster.client().without_key();
    for method in ["POST", "PATCH", "DELETE", "PUT"] {
        let got = preflight(&stranger, PAGE, method).await;
        assert_eq!((got.status, got.header("access-control-allow-origin")), (200, Some(PAGE)), "{}", got.text);
        assert!(got.header("access-control-allow-methods").unwrap().contains(method));
        let headers = got.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
        for name in ["authorization", "content-type", "idempotency-key"] {
            assert!(headers.contains(name), "{headers}");
        }
        assert_eq!(got.header("access-control-max-age"), Some("600"));
    }
    for origin in ["https://evil.example.org", "null"] {
        let got = preflight(&stranger, origin, "POST").await;
        assert!(got.status >= 400 && got.header("access-control-allow-origin").is_none(), "{origin}: {}", got.status);
    }
}

#[tokio::test]
async fn a_star_permits_every_origin_without_credentials_of_the_browser() {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(folder.path()).with("MUSTER__SERVER__CORS_ORIGINS", "[\"*\"]").start();
    let client = Client::new(&server.url).with(crate::support::KEY);
    let got = from_page(&client, Method::GET, "/v1/models", Some("https://anywhere.example")).await;
    assert_eq!((got.status, got.header("access-control-allow-origin")), (200, Some("*")));
    assert_eq!(got.header("access-control-allow-credentials"), None);
    assert!(exposed(&got).contains(&"x-request-id".to_owned()));
    let got = preflight(&client.without_key(), "https://anywhere.example", "POST").await;
    assert_eq!((got.status, got.header("access-control-allow-origin")), (200, Some("*")));
    let got = client.post("/v1/chat/completions", &json!({})).await;
    assert_eq!((got.status, cors_headers(&got)), (400, Vec::new()), "no page sent this");
}

#[test]
fn what_is_no_origin_stops_the_start_with_the_setting_and_its_form() {
    for wrong in ["https://ops.example.org/", "ops.example.org", "https://*.example.org"] {
        let folder = tempfile::tempdir().unwrap();
        let launch = Launch::new(folder.path()).with("MUSTER__SERVER__CORS_ORIGINS", &format!("[{wrong:?}]"));
        let (code, log) = launch.fail();
        assert_ne!(code, Some(0));
        assert!(log.contains("server.cors_origins") && log.contains(wrong) && log.contains("https://"), "{log}");
    }
}
