//! The first page: for browsers, for programs, and for nobody's secrets.

use crate::support;

use reqwest::Method;
use support::KEY;
use support::client::{Answer, Client, answer};
use support::process::Launch;
use support::server::Muster;

async fn page(client: &Client, accept: &str) -> Answer {
    answer(client.request(Method::GET, "/").header("accept", accept)).await
}

#[tokio::test]
async fn a_browser_gets_a_page_that_loads_nothing() {
    let muster = Muster::start("");
    let client = muster.client().without_key();
    let page = page(&client, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8").await;
    assert_eq!((page.status, page.headers["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"));
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !page.text.contains("<script"), "{policy}");
    assert!(!page.text.contains("http://") && !page.text.contains("https://"), "{}", page.text);
    assert!(page.text.contains(env!("CARGO_PKG_VERSION")) && page.text.contains("status <code>"), "{}", page.text);
    // Every link leads somewhere.
    let links: Vec<&str> =
        page.text.split("href=\"/").skip(1).filter_map(|rest| rest.split_once('"')).map(|(link, _)| link).collect();
    assert!(links.len() >= 6, "{links:?}");
    for link in links {
        assert_eq!(client.get(&format!("/{link}")).await.status, 200, "{link}");
    }
}

#[tokio::test]
async fn a_program_gets_json() {
    let muster = Muster::start("");
    let client = muster.client().without_key();
    for accept in ["application/json", "*/*"] {
        let status = async || client.get("/api/health").await.json()["status"].clone();
        let before = status().await;
        let home = page(&client, accept).await;
        assert!(home.status == 200 && home.headers["vary"].to_str().unwrap().starts_with("Accept"), "{home:?}");
        let home = home.json();
        assert_eq!((&home["name"], &home["version"]), (&"muster".into(), &env!("CARGO_PKG_VERSION").into()));
        // Parts become ready meanwhile.
        assert!([before, status().await].contains(&home["status"]), "{home}");
        assert!(home["sections"].as_array().unwrap().iter().any(|section| section == "Configuration"), "{home}");
    }
    let head = answer(client.request(Method::HEAD, "/")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(answer(client.request(Method::POST, "/")).await.status, 405);
}

#[tokio::test]
async fn the_page_contains_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let process = Launch::new(folder.path()).start();
    let client = Client::new(&process.url);
    for accept in ["text/html", "application/json"] {
        let text = page(&client, accept).await.text;
        assert!(!text.contains(KEY) && !text.contains(folder.path().to_str().unwrap()), "{text}");
    }
}
