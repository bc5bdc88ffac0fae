//! Bodies whose parsing would take the server's memory or time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use super::raw::{credential, routes};
use crate::support::KEY;
use crate::support::client::{TEST_TIMEOUT, answer};
use crate::support::process::start;
use crate::support::server::Muster;
use crate::support::upstream::{Upstream, UpstreamAction};

const MOST_IMAGE_BYTES: usize = 24 << 20;

#[tokio::test]
async fn too_deep_or_too_many_values_are_refused_in_every_dialect() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start(&upstream.provider("one", "alpha"));
    for route in routes("alpha") {
        let client = muster.client().with(credential(&muster, &route, KEY).await);
        let deep = format!("{{\"extra\":{}1{}}}", "[".repeat(64), "]".repeat(64));
        let many = format!("{{\"extra\":[{}1]}}", "1,".repeat(200_000));
        for (body, why) in [(deep, "more than 64"), (many, "more than 200000")] {
            let request = client.request(Method::POST, &route.path).header("content-type", "application/json");
            let refused = answer(request.body(body)).await;
            assert_eq!(refused.status, route.invalid, "{}: {}", route.path, refused.text);
            assert!(refused.text.contains(why), "{}: {}", route.path, refused.text);
        }
        // Just within the bounds it is read as far as its members are.
        let deep = format!("{{\"extra\":{}1{}}}", "[".repeat(63), "]".repeat(63));
        let request = client.request(Method::POST, &route.path).header("content-type", "application/json");
        let refused = answer(request.body(deep)).await;
        assert!(!refused.text.contains("more than 64"), "{}: {}", route.path, refused.text);
    }
    assert!(upstream.bodies().is_empty(), "nothing of it reached the provider");
}

#[tokio::test]
async fn a_large_body_of_text_and_images_is_served() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start(&upstream.provider("one", "alpha"));
    // Beyond the size that is parsed on a thread of its own; base64 of zeros.
    let image = format!("data:image/png;base64,{}", "A".repeat(4 << 20));
    let parts =
        json!([{ "type": "text", "text": "What is this?" }, { "type": "image_url", "image_url": { "url": image } }]);
    let body = json!({ "model": "alpha", "messages": [{ "role": "user", "content": parts }] });
    for path in ["/v1/chat/completions", "/api/llm/chat"] {
        let served = muster.client().post(path, &body).await;
        assert_eq!(served.status, 200, "{path}: {}", served.text);
    }
    let sent = upstream.bodies();
    assert_eq!(sent.len(), 2);
    for sent in sent {
        assert_eq!(sent["messages"][0]["content"][1]["image_url"]["url"].as_str().unwrap().len(), image.len());
    }
}

/// A resident size of a process, in KiB: `VmRSS` or `VmHWM`, the largest so far.
fn resident(process: u32, which: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap();
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

#[tokio::test]
async fn two_bodies_of_nested_objects_take_little_memory_and_health_answers_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = start(folder.path(), "[limits.agent]\nhealth = \"unlimited\"\n");
    let key = client.make_key(&json!({ "name": "free", "scopes": ["chat"] })).await;
    // Objects of one key in each other, and many of them beside each other: the smallest text for the largest tree.
    let nest = format!("{}1{}", "{\"a\":".repeat(60), "}".repeat(60));
    let mut body = String::from("{\"model\":\"m\",\"messages\":[");
    while body.len() + nest.len() + 3 < MOST_IMAGE_BYTES {
        body.push_str(&nest);
        body.push(',');
    }
    body.push_str("1]}");
    // A first request, so that what every server needs is there.
    assert_eq!(client.post("/v1/chat/completions", &json!({})).await.status, 400);
    let before = resident(server.child.id(), "VmRSS:");

    let ended = AtomicBool::new(false);
    let attack = async {
        let free = client.with(key);
        let post = || {
            let request = free.request(Method::POST, "/v1/chat/completions").header("content-type", "application/json");
            answer(request.body(body.clone()))
        };
        let (first, second) = tokio::join!(post(), post());
        ended.store(true, Ordering::Release);
        [first, second]
    };
    let probes = async {
        let (mut answered, mut slowest) = (0, Duration::ZERO);
        while !ended.load(Ordering::Acquire) {
            let begun = Instant::now();
            assert_eq!(client.get("/api/health/live").await.status, 200);
            slowest = slowest.max(begun.elapsed());
            answered += 1;
        }
        (answered, slowest)
    };
    let (refused, (answered, slowest)) = tokio::join!(attack, probes);
    for refused in refused {
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text.contains("more than 200000 values"), "{}", refused.text);
    }
    let grown = resident(server.child.id(), "VmHWM:").saturating_sub(before);
    println!("grown by {} MiB at most; {answered} probes, the slowest {slowest:?}", grown >> 10);
    assert!(grown < 400 << 10, "{grown} KiB");
    assert!(answered > 0 && slowest < TEST_TIMEOUT / 4, "{answered} probes, the slowest {slowest:?}");
}

#[tokio::test]
async fn combs_of_many_polygons_are_refused_wherever_a_geometry_is_sent() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    // Each tooth's box overlaps every other's, and none intersect. Each comb alone is accepted.
    let comb: Vec<[f64; 2]> = (0..800)
        .map(|n| [f64::from(n) * 1e-3 + f64::from(n % 2) * 50.0, f64::from(n % 2) * 50.0])
        .chain([[80.0, 60.0], [-10.0, 60.0], [0.0, 0.0]])
        .collect();
    let several = json!({ "type": "MultiPolygon", "coordinates": vec![[&comb]; 10] });
    let one = json!({ "type": "Polygon", "coordinates": [&comb] });
    let with = |path: &str, geometry: &serde_json::Value| match path {
        "/api/v1/devices/within" => json!({ "geometry": geometry }),
        "/api/v1/geofences" => json!({ "name": "comb", "geometry": geometry }),
        _ => json!({ "title": "Flood", "kind": "flood", "geometry": geometry }),
    };
    for path in ["/api/v1/devices/within", "/api/v1/geofences", "/api/v1/incidents"] {
        let refused = admin.post(path, &with(path, &several)).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text);
        assert!(refused.text.contains("too many edges run close to each other"), "{path}: {}", refused.text);
        let accepted = admin.post(path, &with(path, &one)).await;
        assert!(accepted.status < 300, "{path}: {}", accepted.text);
    }
}
