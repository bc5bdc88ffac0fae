//! Pictures from text over HTTP: a scripted upstream, its faults, what they cost, and the pictures that are kept.

mod kills;
mod upstream;

use crate::support;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use support::client::{Answer, Client, answer};
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};
use upstream::{Size, answer_of, picture};

use crate::fetch::web::Web;

/// A server without model files, with these providers and settings.
fn settings(providers: &str, more: &str) -> String {
    format!("{more}\n[chain]\nretries = 0\n[llm]\nmodel = \"none\"\ncache = \"/nowhere\"\n{providers}")
}

/// The table of a provider of OpenAI's catalogue, so that its prices are known.
fn openai(upstream: &Upstream) -> String {
    provider("openai", upstream, "gpt-image-2")
}

fn provider(id: &str, upstream: &Upstream, model: &str) -> String {
    let address = upstream.address;
    format!(
        "[[provider]]\nid = \"{id}\"\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\nmodels = [\"{model}\"]\napi_key_env = \"\"\n"
    )
}

async fn generate(client: &Client, body: Value) -> Answer {
    client.post("/api/generate-image", &body).await
}

async fn create(client: &Client, body: Value) -> Answer {
    client.post("/v1/images/generations", &body).await
}

/// Reads a picture by its link, without a key: bytes and headers.
async fn fetch(client: &Client, url: &str) -> (u16, Vec<u8>, reqwest::header::HeaderMap) {
    let response = client
        .without_key()
        .request(Method::GET, url.split_once("/api/").map(|(_, path)| format!("/api/{path}")).unwrap().as_str())
        .send()
        .await
        .unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, response.bytes().await.unwrap().to_vec(), headers)
}

/// Columns and rows by the header of a PNG.
fn size_of(png: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    (number(16), number(20))
}

#[tokio::test]
async fn a_picture_of_the_right_size_stays_byte_for_byte_and_costs_what_the_provider_reports() {
    let png = picture(Size(1024, 1024));
    let upstream = Upstream::start(answer_of(std::slice::from_ref(&png), Some((20, 2_000))));
    let muster = Muster::start(&settings(&openai(&upstream), ""));
    let client = muster.client();
    let drawn = generate(&client, json!({ "prompt": "a red boat", "quality": "hd" })).await;
    assert_eq!(drawn.status, 200, "{}", drawn.text);
    let body = drawn.json();
    assert_eq!(
        (&body["model"], &body["provider"], &body["method"]),
        (&json!("gpt-image-2"), &json!("openai"), &json!("model"))
    );
    // 20 × 5 $/M + 2,000 × 30 $/M.
    assert_eq!(body["cost_usd"], json!(0.0601));
    assert_eq!(body["warnings"], json!([]));
    let image = &body["image"];
    assert_eq!((&image["width"], &image["height"], &image["format"]), (&json!(1024), &json!(1024), &json!("png")));
    assert_eq!(image["bytes"], json!(png.len()));
    let sent = upstream.last_request();
    assert_eq!((&sent["size"], &sent["quality"], &sent["n"]), (&json!("1024x1024"), &json!("high"), &json!(1)));
    let (status, bytes, headers) = fetch(&client, image["url"].as_str().unwrap()).await;
    assert_eq!((status, bytes), (200, png));
    let header = |name: &str| headers[name].to_str().unwrap();
    assert_eq!((header("content-type"), header("x-content-type-options")), ("image/png", "nosniff"));
    assert!(headers["cache-control"].to_str().unwrap().starts_with("private, immutable"));
    let usage = client.get("/api/v1/usage").await.json();
    assert_eq!((&usage["total"]["cost_usd"], &usage["total"]["images"]), (&json!(0.0601), &json!(1)));
}

#[tokio::test]
async fn a_picture_of_another_size_is_cropped_to_the_one_requested() {
    let upstream = Upstream::start(answer_of(&[picture(Size(300, 200))], None));
    let muster = Muster::start(&settings(&openai(&upstream), ""));
    let client = muster.client();
    for size in ["1024x1024", "1792x1024", "1024x1792"] {
        let made =
            create(&client, json!({ "prompt": "a red boat", "size": size, "response_format": "b64_json" })).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let body = made.json();
        assert_eq!(body["size"], json!(size));
        let png = STANDARD.decode(body["data"][0]["b64_json"].as_str().unwrap()).unwrap();
        let (width, height) = size_of(&png);
        assert_eq!(format!("{width}x{height}"), size);
    }
    let auto = create(&client, json!({ "prompt": "a red boat", "size": "auto" })).await.json();
    assert_eq!(auto["size"], json!("300x200"));
}

#[tokio::test]
async fn the_next_provider_draws_where_one_fails_or_sends_no_picture() {
    let png = picture(Size(1024, 1024));
    let good = Upstream::start(answer_of(std::slice::from_ref(&png), None));
    let half = png[..png.len() / 2].to_vec();
    let (broken, text) = (answer_of(&[half], None), answer_of(&[b"<html>no</html>".to_vec()], None));
    for action in [UpstreamAction::Status(500, "", "{}"), UpstreamAction::Malformed, broken, text] {
        let bad = Upstream::start(action.clone());
        let providers = format!("{}{}", provider("one", &bad, "gpt-image-2"), provider("two", &good, "gpt-image-2"));
        let muster = Muster::start(&settings(&providers, ""));
        let drawn = generate(&muster.client(), json!({ "prompt": "a red boat", "model": "gpt-image-2" })).await;
        assert_eq!(drawn.status, 200, "{action:?}: {}", drawn.text);
        assert_eq!(drawn.json()["provider"], json!("two"));
        assert_eq!(bad.requests(), 1, "{action:?}");
    }
}

#[tokio::test]
async fn pictures_that_come_as_urls_are_fetched_by_the_rules_for_untrusted_ones() {
    let inner = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    inner.set_nonblocking(true).unwrap();
    let silent = inner.local_addr().unwrap();
    let web = Web::start(silent);
    let answer = |url: &str| {
        let body = json!({ "created": 1, "data": [{ "url": url }] }).to_string();
        UpstreamAction::Status(200, "", Box::leak(body.into_boxed_str()))
    };
    let upstream = Upstream::start(answer(&web.url("/picture.png")));
    let allowed = format!("[media]\nfetch_allow = [\"{}\"]\n", web.address);
    let muster = Muster::start(&settings(&openai(&upstream), &allowed));
    let client = muster.client();
    let body = json!({ "prompt": "a red boat", "model": "gpt-image-2" });
    let drawn = generate(&client, body.clone()).await;
    assert_eq!(drawn.status, 200, "{}", drawn.text);
    let stored = fetch(&client, drawn.json()["image"]["url"].as_str().unwrap()).await.1;
    assert_eq!((size_of(&stored), web.connections()), ((1024, 1024), 1));
    for (url, reason) in [
        (format!("http://{silent}/a.png"), "port"),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), "address"),
        (web.url("/inwards"), "port"),
        (web.url("/html"), "not_a_picture"),
    ] {
        upstream.set_action(answer(&url));
        let refused = generate(&client, body.clone()).await;
        assert!(matches!(refused.status, 502 | 503), "{url}: {} {}", refused.status, refused.text);
        assert!(!refused.text.contains("127.0.0.1") && !refused.text.contains("169.254"), "{reason}: {}", refused.text);
    }
    let nobody = inner.accept().map(drop).unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock, "nothing may be sent to an inner address");
    let metrics = client.get("/metrics").await.text;
    for counted in ["fetched\"} 1", "not_allowed\"} 3", "not_a_picture\"} 1"] {
        assert!(metrics.contains(&format!("muster_media_fetches_total{{outcome=\"{counted}")), "{counted}: {metrics}");
    }
}

#[tokio::test]
async fn the_health_module_notices_a_stored_picture_without_its_file() {
    let upstream = Upstream::start(answer_of(&[picture(Size(1024, 1024))], None));
    let muster = Muster::start(&settings(&openai(&upstream), "[media]\nmodels = []\n"));
    let client = muster.client();
    let probed = || muster.app.health.report().modules["media"].clone();
    crate::support::socket::wait_until("media is probed", || probed().status.name() != "starting").await;
    assert_eq!(probed().status.name(), "healthy", "{:?}", probed().why);
    let drawn = generate(&client, json!({ "prompt": "a red boat" })).await.json();
    let id = drawn["image"]["id"].as_str().unwrap();
    assert_eq!(muster.app.images.check().await, Ok(()));
    std::fs::remove_file(muster.data.path().join(format!("store/pictures/{id}.png"))).unwrap();
    let why = muster.app.images.check().await.unwrap_err();
    assert!(why.starts_with("the files of 1 stored pictures are missing"), "{why}");
    assert_eq!(client.get(&format!("/api/images/{id}")).await.status, 404);
}

#[tokio::test]
async fn a_refused_prompt_is_returned_at_once() {
    let refusal =
        r#"{"error": {"message": "not this", "type": "image_generation_user_error", "code": "moderation_blocked"}}"#;
    let refusing = Upstream::start(UpstreamAction::Status(400, "", refusal));
    let other = Upstream::start(answer_of(&[picture(Size(1024, 1024))], None));
    let providers = format!("{}{}", provider("one", &refusing, "gpt-image-2"), provider("two", &other, "gpt-image-2"));
    let muster = Muster::start(&settings(&providers, ""));
    let client = muster.client();
    let a = generate(&client, json!({ "prompt": "a red boat" })).await;
    assert_eq!((a.status, &a.json()["error"]["code"]), (400, &json!("content_policy_violation")), "{}", a.text);
    let b = create(&client, json!({ "prompt": "a red boat" })).await;
    let error = &b.json()["error"];
    assert_eq!(
        (b.status, &error["code"], &error["type"]),
        (400, &json!("content_policy_violation"), &json!("invalid_request_error"))
    );
    assert_eq!(other.requests(), 0);
    assert_eq!(client.get("/api/v1/usage").await.json()["total"]["cost_usd"], json!(0.0));
}

#[tokio::test]
async fn all_pictures_come_or_the_request_fails_and_says_what_it_cost() {
    let png = picture(Size(1024, 1024));
    let upstream = Upstream::start(answer_of(&[png.clone(), b"no picture".to_vec()], Some((20, 4_000))));
    let muster = Muster::start(&settings(&openai(&upstream), ""));
    let client = muster.client();
    let failed = create(&client, json!({ "prompt": "a red boat", "model": "gpt-image-2", "n": 2 })).await;
    assert_eq!(failed.status, 502, "{}", failed.text);
    // 20 × 5 $/M + 4,000 × 30 $/M.
    assert!(failed.json()["error"]["message"].as_str().unwrap().contains("0.120100 USD"), "{}", failed.text);
    let usage = client.get("/api/v1/usage").await.json();
    assert_eq!(usage["total"]["cost_usd"], json!(0.1201));
    assert_eq!(client.get("/api/images").await.json()["images"], json!([]));
    upstream.set_action(answer_of(&[png.clone(), png], Some((20, 4_000))));
    let made = create(&client, json!({ "prompt": "a red boat", "model": "gpt-image-2", "n": 2 })).await;
    assert_eq!(made.json()["data"].as_array().map(Vec::len), Some(2), "{}", made.text);
    assert_eq!(client.get("/api/v1/usage").await.json()["total"]["images"], json!(4), "two were drawn in vain");
}

#[tokio::test]
async fn the_dearest_picture_must_fit_the_budget() {
    let upstream = Upstream::start(answer_of(&[picture(Size(1024, 1024))], Some((20, 2_000))));
    let muster = Muster::start(&settings(&openai(&upstream), ""));
    // 7,024 × 30 $/M are 0.21072 $, and a few tokens of the prompt; after one of 0.0601 $ another one does not fit.
    let key = muster.client().make_key(&json!({ "name": "k", "scopes": ["chat"], "budget_usd": 0.25 })).await;
    let client = muster.client().with(key);
    assert_eq!(generate(&client, json!({ "prompt": "a red boat" })).await.status, 200);
    let refused = generate(&client, json!({ "prompt": "a red boat" })).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]["code"]),
        (429, &json!("budget_exhausted")),
        "{}",
        refused.text
    );
    assert_eq!(upstream.requests(), 1);
}

#[tokio::test]
async fn the_quota_holds_under_fifty_racing_requests_and_nothing_beyond_it_is_paid() {
    let upstream = Upstream::start(answer_of(&[picture(Size(1024, 1024))], None));
    let quota = "[images]\nowner_pictures = 7\n";
    let muster = Muster::start(&settings(&openai(&upstream), quota));
    let client = muster.client();
    let racing = join_all((0..50).map(|_| generate(&client, json!({ "prompt": "a red boat" })))).await;
    let statuses: Vec<u16> = racing.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 7, "{statuses:?}");
    let refused = racing.iter().find(|answer| answer.status != 200).unwrap();
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (429, &json!("image_quota")));
    assert_eq!(upstream.requests(), 7);
    let b = create(&client, json!({ "prompt": "a red boat" })).await;
    assert_eq!((b.status, &b.json()["error"]["code"]), (429, &json!("image_quota")));
    let first = client.get("/api/images?limit=5").await.json();
    let id = first["images"][0]["id"].as_str().unwrap();
    assert_eq!(client.delete(&format!("/api/images/{id}")).await.status, 204);
    assert_eq!(generate(&client, json!({ "prompt": "a red boat" })).await.status, 200, "there is room again");
}

#[tokio::test]
async fn a_picture_is_its_owners_and_whoevers_link_is_right() {
    let upstream = Upstream::start(answer_of(&[picture(Size(1024, 1024))], None));
    let muster = Muster::start(&settings(&openai(&upstream), ""));
    let client = muster.client();
    let other = client.with(client.make_key(&json!({ "name": "other", "scopes": ["chat"] })).await);
    let image = generate(&client, json!({ "prompt": "a red boat" })).await.json()["image"].clone();
    let (id, url) = (image["id"].as_str().unwrap(), image["url"].as_str().unwrap());
    assert!(url.starts_with(&muster.url()), "{url}");
    let path = format!("/api/images/{id}");
    let bytes = fetch(&client, url).await.1;
    let own = answer(client.request(Method::GET, &path)).await;
    assert_eq!(own.status, 200);
    let etag = own.header("etag").unwrap().to_owned();
    let again = answer(client.request(Method::GET, &path).header("if-none-match", &etag)).await;
    assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", Some(etag.as_str())));
    let head = answer(client.request(Method::HEAD, &path)).await;
    assert_eq!((head.status, head.header("content-length")), (200, Some(bytes.len().to_string().as_str())));
    let missing = [
        other.get(&path).await,
        other.delete(&path).await,
        other.get("/api/images/img_01ARZ3NDEKTSV4RRFFQ69G5FAV").await,
        client.without_key().get(&format!("{path}?sig=x")).await,
        client.without_key().get("/api/images/img_01ARZ3NDEKTSV4RRFFQ69G5FAV?sig=x").await,
    ];
    let texts: Vec<_> = missing.iter().map(|answer| (answer.status, answer.json()["error"].clone())).collect();
    assert!(texts.iter().all(|one| *one == texts[0] && one.0 == 404), "{texts:?}");
    assert_eq!(client.without_key().get(&path).await.status, 401);
    assert_eq!(other.get("/api/images").await.json()["images"], json!([]));
    assert_eq!(client.get("/api/images").await.json()["images"][0]["id"], json!(id));
    assert_eq!(client.delete(&path).await.status, 204);
    assert_eq!((client.get(&path).await.status, fetch(&client, url).await.0), (404, 404));
}

#[tokio::test]
async fn a_list_has_pages_newest_first() {
    let upstream = Upstream::start(answer_of(&[picture(Size(1024, 1024))], None));
    let muster = Muster::start(&settings(&openai(&upstream), ""));
    let client = muster.client();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.insert(0, generate(&client, json!({ "prompt": "a red boat" })).await.json()["image"]["id"].clone());
    }
    let first = client.get("/api/images?limit=2").await.json();
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = client.get(&format!("/api/images?limit=2&cursor={cursor}")).await.json();
    let listed = [&first, &second].into_iter().flat_map(|page| page["images"].as_array().unwrap());
    assert_eq!(listed.map(|image| image["id"].clone()).collect::<Vec<_>>(), ids);
    assert_eq!(second["next_cursor"], Value::Null);
}

#[tokio::test]
async fn values_out_of_bounds_are_refused_by_name() {
    let muster = Muster::start(&settings("", ""));
    let client = muster.client();
    for (body, field) in [
        (json!({}), "prompt"),
        (json!({ "prompt": " " }), "prompt"),
        (json!({ "prompt": "x".repeat(1_001) }), "prompt"),
        (json!({ "prompt": "x", "size": "512x512" }), "size"),
        (json!({ "prompt": "x", "quality": "medium" }), "quality"),
        (json!({ "prompt": "x", "seed": -1 }), "seed"),
        (json!({ "prompt": "x", "seed": 0.5 }), "seed"),
        (json!({ "prompt": "x", "seed": "7" }), "seed"),
        (json!({ "prompt": 7 }), "prompt"),
        (json!({ "prompt": "x", "size": 1024 }), "size"),
        (json!({ "prompt": "x", "quality": true }), "quality"),
        (json!({ "prompt": "x", "model": "" }), "model"),
        (json!({ "prompt": "x", "model": ["gpt-image-2"] }), "model"),
    ] {
        let refused = generate(&client, body.clone()).await;
        assert_eq!(
            (refused.status, &refused.json()["error"]["field"]),
            (400, &json!(field)),
            "{body}: {}",
            refused.text
        );
    }
    for (body, param, code) in [
        (json!({ "prompt": "x", "n": 5 }), "n", "invalid_value"),
        (json!({ "prompt": "x", "n": 0 }), "n", "invalid_value"),
        (json!({ "prompt": "x", "size": "512x512" }), "size", "unsupported_value"),
        (json!({ "prompt": "x", "quality": "ultra" }), "quality", "unsupported_value"),
        (json!({ "prompt": "x", "response_format": "xml" }), "response_format", "unsupported_value"),
        (json!({ "prompt": "x", "output_format": "webp" }), "output_format", "unsupported_value"),
        (json!({ "prompt": "x", "background": "transparent" }), "background", "unsupported_value"),
    ] {
        let refused = create(&client, body.clone()).await;
        let error = &refused.json()["error"];
        assert_eq!((refused.status, &error["param"], &error["code"]), (400, &json!(param), &json!(code)), "{body}");
    }
    for (body, param) in [
        (json!({}), "prompt"),
        (json!({ "prompt": 7 }), "prompt"),
        (json!({ "prompt": " " }), "prompt"),
        (json!({ "prompt": "x".repeat(1_001) }), "prompt"),
        (json!({ "prompt": "x", "model": 7 }), "model"),
        (json!({ "prompt": "x", "n": "2" }), "n"),
        (json!({ "prompt": "x", "n": 1.5 }), "n"),
        (json!({ "prompt": "x", "size": 1024 }), "size"),
        (json!({ "prompt": "x", "quality": 1 }), "quality"),
        (json!({ "prompt": "x", "response_format": 1 }), "response_format"),
        (json!({ "prompt": "x", "output_format": 1 }), "output_format"),
        (json!({ "prompt": "x", "background": 1 }), "background"),
        (json!({ "prompt": "x", "user": 1 }), "user"),
    ] {
        for path in ["/v1/images/generations", "/v1/images/generate"] {
            let refused = client.post(path, &body).await;
            let error = &refused.json()["error"];
            assert_eq!((refused.status, &error["param"]), (400, &json!(param)), "{path} {body}: {}", refused.text);
            assert_eq!(error["type"], "invalid_request_error", "{path} {body}");
        }
    }
}

#[tokio::test]
async fn what_is_absent_is_said_and_what_is_named_has_no_substitute() {
    let muster = Muster::start(&settings("", ""));
    let client = muster.client();
    for model in [None, Some("muster-sketch-1")] {
        let absent = generate(&client, json!({ "prompt": "a red boat", "model": model })).await;
        assert_eq!((absent.status, &absent.json()["error"]["code"]), (503, &json!("model_absent")), "{}", absent.text);
        assert!(absent.text.contains("muster models pull"), "{}", absent.text);
    }
    let known = generate(&client, json!({ "prompt": "a red boat", "model": "gpt-image-2" })).await;
    assert_eq!((known.status, &known.json()["error"]["code"]), (503, &json!("model_unconfigured")));
    let unknown = create(&client, json!({ "prompt": "a red boat", "model": "no-such-model" })).await;
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!("model_not_found")));
    let none = Muster::start(&settings("", "[images]\nfallback = \"none\"\n"));
    let refused = generate(&none.client(), json!({ "prompt": "a red boat" })).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (503, &json!("model_unconfigured")));
}

/// The folder of the illustrator's files, where they were fetched.
fn sketch_files() -> Option<String> {
    let own = || std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models-cache");
    let folder = std::env::var_os("MUSTER_MODELS_DIR").map_or_else(own, std::path::PathBuf::from);
    let manifest = muster_models::MediaManifest::embedded().unwrap();
    let found = ["pictures", "names"].iter().all(|id| manifest.get(id).unwrap().is_present(&folder));
    if !found {
        eprintln!("skipped: run `muster models pull pictures names`");
    }
    found.then(|| folder.display().to_string())
}

#[tokio::test]
async fn the_illustrator_stands_last_and_says_so() {
    let Some(cache) = sketch_files() else { return };
    let failing = Upstream::start(UpstreamAction::Status(500, "", "{}"));
    let text = format!("[llm]\nmodel = \"none\"\ncache = {cache:?}\n[chain]\nretries = 0\n{}", openai(&failing));
    let muster = Muster::start(&text);
    let client = muster.client();
    let drawn = generate(&client, json!({ "prompt": "three red boats", "seed": 7, "size": "1792x1024" })).await;
    assert_eq!(drawn.status, 200, "{}", drawn.text);
    let body = drawn.json();
    assert_eq!(
        (&body["model"], &body["method"], &body["seed"]),
        (&json!("muster-sketch-1"), &json!("sketch"), &json!(7))
    );
    assert_eq!(body["warnings"][0], json!("fallback_sketch"));
    assert_eq!(failing.requests(), 1);
    let bytes = fetch(&client, body["image"]["url"].as_str().unwrap()).await.1;
    assert_eq!(size_of(&bytes), (1792, 1024));
    let named = json!({ "prompt": "three red boats", "seed": 7, "size": "1792x1024", "model": "muster-sketch-1" });
    let again = generate(&client, named).await.json();
    assert!(!again["warnings"].as_array().unwrap().contains(&json!("fallback_sketch")));
    assert_eq!(fetch(&client, again["image"]["url"].as_str().unwrap()).await.1, bytes, "same prompt and seed");
    assert_eq!(generate(&client, json!({ "prompt": "a boat", "model": "gpt-image-2" })).await.status, 503);
}

#[tokio::test]
async fn a_chat_model_reads_the_scene_that_the_illustrator_draws() {
    let Some(cache) = sketch_files() else { return };
    let scene = r#"{"things": [{"name": "boat", "count": 3, "colour": "red"}], "setting": "sea", "time": "night", "weather": null}"#;
    let words: &'static [&'static str] =
        Box::leak(vec![&*Box::leak(scene.to_owned().into_boxed_str())].into_boxed_slice());
    let chat = Upstream::start(UpstreamAction::Answer(words));
    let text =
        format!("[llm]\nmodel = \"none\"\ncache = {cache:?}\n[chain]\nretries = 0\n{}", chat.provider("one", "alpha"));
    let muster = Muster::start(&text);
    let prompt = "the longing of those who wait at the quay";
    let drawn = generate(&muster.client(), json!({ "prompt": prompt, "seed": 7 })).await;
    assert_eq!(drawn.status, 200, "{}", drawn.text);
    let body = drawn.json();
    assert_eq!((&body["method"], &body["model"]), (&json!("sketch+llm"), &json!("muster-sketch-1")), "{body}");
    let revised = body["revised_prompt"].as_str().unwrap();
    assert!(revised.contains("3 × red") && revised.contains("sea") && revised.contains("night"), "{revised}");
    assert!(chat.last_text().contains(prompt));

    chat.set_action(UpstreamAction::Answer(&["no scene"]));
    let drawn = generate(&muster.client(), json!({ "prompt": "two cats", "seed": 7 })).await.json();
    assert_eq!(drawn["method"], "sketch", "what is no scene leaves the prompt to the rules: {drawn}");
    assert!(drawn["revised_prompt"].as_str().unwrap().contains("2 × cat"), "{drawn}");
    let asked = chat.requests();
    let named = json!({ "prompt": "two cats", "seed": 7, "model": "muster-sketch-1" });
    assert_eq!(generate(&muster.client(), named).await.json()["method"], "sketch");
    assert_eq!(chat.requests(), asked, "a named illustrator asks nobody");
}

#[tokio::test]
async fn no_scene_is_paid_for_that_cannot_be_drawn() {
    let scene: &[&str] = &[r#"{"things": [], "setting": "sea", "time": null, "weather": null}"#];
    let chat = Upstream::start(UpstreamAction::Answer(scene));
    let text = settings(&chat.provider("one", "alpha"), "");
    let muster = Muster::start(&text);
    let drawn = generate(&muster.client(), json!({ "prompt": "two cats" })).await;
    assert_eq!((drawn.status, &drawn.json()["error"]["code"]), (503, &json!("model_absent")), "{}", drawn.text);
    assert_eq!(chat.requests(), 0, "the illustrator's files are absent: nothing is bought for it");
}

#[tokio::test]
async fn pictures_are_kept_over_a_restart_and_in_no_backup() {
    let upstream = Upstream::start(answer_of(&[picture(Size(1024, 1024))], None));
    let text = settings(&openai(&upstream), "");
    let muster = Muster::start(&text);
    let image = generate(&muster.client(), json!({ "prompt": "a red boat" })).await.json()["image"].clone();
    let (id, url) = (image["id"].as_str().unwrap().to_owned(), image["url"].as_str().unwrap().to_owned());
    let backup = muster.app.backup().await.unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut &backup.file, &mut bytes).unwrap();
    assert!(bytes.windows(4).any(|part| part == b"keys"), "it is a backup");
    assert!(!bytes.windows(id.len()).any(|part| part == id.as_bytes()));
    let again = Muster::start_in(muster.stop(), &text);
    let client = again.client();
    assert_eq!(client.get(&format!("/api/images/{id}")).await.status, 200);
    assert_eq!(fetch(&client, &url).await.0, 200, "the signature is still valid");
}
