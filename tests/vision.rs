//! Vision: pictures that are taken and refused, the order of engines, and what answers say of themselves.

mod hostile;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::medical_images::pictures::{base64, chunk, grey, jpeg, png, zeros};
use crate::support::client::{Answer, Client, TEST_TIMEOUT, answer};
use crate::support::server::Muster;
use crate::support::upstream::{Upstream, UpstreamAction};

const PATH: &str = "/api/vision";

fn settings(models: &Path) -> String {
    format!("[llm]\nmodel = \"none\"\ncache = \"{}\"\n", models.display())
}

/// A server without models and providers.
fn bare() -> Muster {
    Muster::start(&settings(Path::new("/nonexistent")))
}

/// A server with the fetched models; `None`, after a line that says what is skipped, without this file.
fn with_models(file: &str) -> Option<Muster> {
    let own = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models-cache");
    let folder = std::env::var("MUSTER_MODELS_DIR").map_or_else(|_| own(), PathBuf::from);
    if !folder.join(file).is_file() {
        println!("skipped: {file} was not fetched (muster models pull)");
        return None;
    }
    Some(Muster::start(&settings(&folder)))
}

/// A picture of the open cases in base64; `None`, after a line that says what is skipped, where they are absent.
fn case(file: &str) -> Option<String> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/media");
    let path = std::env::var("MUSTER_MEDIA_CASES").map_or_else(|_| beside(), PathBuf::from).join(file);
    let read = std::fs::read(&path).ok();
    if read.is_none() {
        println!("skipped: {} is absent", path.display());
    }
    read.map(|bytes| base64(&bytes))
}

/// A server whose models that see are `alpha` of the first upstream and `beta` of the second.
fn with_providers(first: &Upstream, second: &Upstream) -> Muster {
    let price = "price = { input_per_million = 1.0, output_per_million = 2.0 }\n";
    let (one, two) = (first.provider("one", "alpha"), second.provider("two", "beta"));
    let routing = "[chain]\norder = [\"one\", \"two\"]\n[alias]\nvision = [\"alpha\", \"beta\"]\n";
    Muster::start(&format!("{one}{price}{two}{price}{routing}{}", settings(Path::new("/nonexistent"))))
}

async fn see(client: &Client, image: &str, task: &str) -> Answer {
    client.post(PATH, &json!({ "image": image, "task": task })).await
}

fn picture() -> String {
    base64(&grey(&[&[10, 200, 10], &[200, 10, 200]]))
}

fn assert_refused(refused: &Answer, code: &str, field: &str) {
    assert_eq!(refused.status, 400, "{code}: {}", refused.text);
    let error = &refused.json()["error"];
    assert_eq!((&error["code"], &error["field"]), (&json!(code), &json!(field)), "{error}");
}

#[tokio::test]
async fn each_refused_picture_has_its_code() {
    let muster = bare();
    let client = muster.client();
    let mut cut = grey(&[&[1, 2], &[3, 4]]);
    cut.truncate(45);
    let mut damaged = grey(&[&[1, 2], &[3, 4]]);
    damaged[41] ^= 0xff;
    let cases: Vec<(String, &str)> = vec![
        (String::new(), "invalid_image"),
        ("not base64 !".to_owned(), "invalid_image"),
        ("data:image/png,abc".to_owned(), "invalid_image"),
        (base64(b"hello"), "invalid_image"),
        (base64(&cut), "invalid_image"),
        (base64(&damaged), "invalid_image"),
        (base64(b"GIF89a"), "invalid_image"),
        (base64(b"\0\0\0\x18ftypavif"), "unsupported_image"),
        (base64(b"\0\0\0\x18ftypheic"), "unsupported_image"),
        (base64(b"II*\0\x08\0\0\0"), "unsupported_image"),
        (base64(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), "unsupported_image"),
        (base64(b"%PDF-1.7"), "unsupported_image"),
        (base64(&png(50_000, 50_000, [8, 0, 0], &[], &[])), "image_too_large"),
        (base64(&png(8_000, 5_001, [8, 0, 0], &[], &[])), "image_too_large"),
        (base64(&png(8_000, 5_000, [16, 6, 0], &[], &zeros(5_000 * 64_001))), "image_too_large"),
        (base64(&png(1, 1, [8, 0, 0], &[], &zeros(1 << 28))), "invalid_image"),
    ];
    for (image, code) in cases {
        assert_refused(&see(&client, &image, "describe").await, code, "image");
    }
    for (body, field) in [
        (json!({ "image": picture(), "task": "count" }), "task"),
        (json!({ "image": picture() }), "task"),
        (json!({ "image": picture(), "task": "detect", "min_score": 2 }), "min_score"),
        (json!({ "image": picture(), "task": "detect", "max_results": 101 }), "max_results"),
        (json!({ "image": picture(), "task": "describe", "language": "tlh" }), "language"),
        (json!({ "image": picture(), "task": "describe", "question": "x".repeat(1_001) }), "question"),
        (json!({ "image": picture(), "task": "ocr", "question": "who?" }), "question"),
        (json!({ "image": picture(), "task": "ocr", "pages": 2 }), "pages"),
        (json!({ "task": "ocr" }), "image"),
        (json!({ "image": 7, "task": "ocr" }), "image"),
        (json!({ "image": picture(), "task": 7 }), "task"),
        (json!({ "image": picture(), "task": "ocr", "model": "" }), "model"),
        (json!({ "image": picture(), "task": "ocr", "model": "x".repeat(201) }), "model"),
        (json!({ "image": picture(), "task": "ocr", "model": 7 }), "model"),
        (json!({ "image": picture(), "task": "ocr", "language": 7 }), "language"),
        (json!({ "image": picture(), "task": "detect", "min_score": "high" }), "min_score"),
        (json!({ "image": picture(), "task": "detect", "min_score": -0.1 }), "min_score"),
        (json!({ "image": picture(), "task": "detect", "max_results": 0 }), "max_results"),
        (json!({ "image": picture(), "task": "detect", "max_results": 1.5 }), "max_results"),
        (json!({ "image": picture(), "task": "describe", "question": "" }), "question"),
        (json!({ "image": picture(), "task": "describe", "question": 7 }), "question"),
    ] {
        assert_refused(&client.post(PATH, &body).await, "invalid_request", field);
    }
    let huge = see(&client, &"A".repeat(25 << 20), "describe").await;
    assert_eq!(huge.status, 413, "{}", huge.text);
    assert_eq!(client.without_key().post(PATH, &json!({})).await.status, 401);
    let key = client.make_key(&json!({ "name": "engines", "scopes": ["engines"] })).await;
    assert_eq!(see(&client.with(key), &picture(), "describe").await.status, 403);
}

#[tokio::test]
async fn a_form_says_the_same_as_json() {
    let muster = bare();
    let client = muster.client();
    let form = |file: &[u8], task: &str| {
        let part = |head: &str, content: &[u8]| {
            [b"--XyZ\r\nContent-Disposition: form-data; ", head.as_bytes(), b"\r\n\r\n", content, b"\r\n"].concat()
        };
        [
            part("name=\"task\"", task.as_bytes()),
            part("name=\"max_results\"", b"5"),
            part("name=\"image\"; filename=\"a.png\"\r\nContent-Type: image/png", file),
            b"--XyZ--\r\n".to_vec(),
        ]
        .concat()
    };
    let post = async |kind: &str, body: Vec<u8>| {
        answer(client.request(reqwest::Method::POST, PATH).header("content-type", kind).body(body)).await
    };
    let file = grey(&[&[10, 200, 10], &[200, 10, 200]]);
    let by_form = post("multipart/form-data; boundary=XyZ", form(&file, "describe")).await;
    assert_eq!(by_form.status, 200, "{}", by_form.text);
    let by_json = see(&client, &base64(&file), "describe").await.json();
    assert_eq!((&by_form.json()["result"], &by_form.json()["image"]), (&by_json["result"], &by_json["image"]));
    assert_refused(&post("multipart/form-data; boundary=XyZ", form(&file, "count")).await, "invalid_request", "task");
    assert_refused(&post("multipart/form-data; boundary=XyZ", form(b"hello", "ocr")).await, "invalid_image", "image");
    let broken = post("multipart/form-data; boundary=Other", form(&file, "describe")).await;
    assert_eq!((broken.status, &broken.json()["error"]["code"]), (400, &json!("invalid_request")), "{}", broken.text);
    for kind in ["multipart/form-data", "multipart/mixed; boundary=XyZ", "image/png"] {
        assert_eq!(post(kind, form(&file, "describe")).await.status, 415, "{kind}");
    }
}

#[tokio::test]
async fn absent_models_are_named_and_a_description_says_what_it_did_not_assess() {
    let muster = bare();
    let client = muster.client();
    for task in ["detect", "ocr", "moderate"] {
        let absent = see(&client, &picture(), task).await;
        assert_eq!((absent.status, &absent.json()["error"]["code"]), (503, &json!("model_absent")), "{}", absent.text);
        let command = format!("muster models pull {task}");
        assert_eq!(absent.json()["error"]["details"]["how"], command);
    }
    let described = see(&client, &picture(), "describe").await.json();
    assert_eq!(
        (&described["method"], &described["provider"], &described["model"]),
        (&json!("facts"), &json!("embedded"), &json!("facts"))
    );
    assert_eq!(described["warnings"], json!(["objects_not_assessed", "text_not_assessed"]));
    assert_eq!((&described["result"]["facts"]["objects"], &described["cost_usd"]), (&Value::Null, &json!(0.0)));
    let text = described["result"]["description"].as_str().unwrap();
    assert!(text.starts_with("A landscape picture of 3 by 2 pixels"), "{text}");
    let body = json!({ "image": picture(), "task": "describe", "question": "Who?", "language": "pt" });
    let asked = client.post(PATH, &body).await.json();
    let warnings = asked["warnings"].as_array().unwrap();
    assert!(
        warnings.contains(&json!("question_not_answered")) && warnings.contains(&json!("language_not_available")),
        "{asked}"
    );
    let named = client.post(PATH, &json!({ "image": picture(), "task": "detect", "model": "pp-ocrv5-mobile" })).await;
    assert_refused(&named, "unsupported_value", "model");
    let unknown = client.post(PATH, &json!({ "image": picture(), "task": "describe", "model": "no-such-model" })).await;
    assert_eq!(
        (unknown.status, &unknown.json()["error"]["code"]),
        (404, &json!("model_not_found")),
        "{}",
        unknown.text
    );
    let metrics = client.get("/metrics").await.text;
    assert!(metrics.contains("muster_vision_requests_total{method=\"facts\",outcome=\"served\",provider=\"embedded\",task=\"describe\"} 2"), "{metrics}");
    let status = || muster.app.health.report().modules["media"].status.name();
    crate::support::socket::wait_until("media is probed", || status() != "starting").await;
    let report = muster.app.health.report();
    let why = report.modules["media"].why.clone().unwrap_or_default();
    assert!(status() == "degraded" && why.contains("detect, ocr, moderate"), "{why}");
}

/// An Exif block that says to turn the picture by a quarter, clockwise.
const QUARTER: &[u8] = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";

#[tokio::test]
async fn sizes_are_those_of_the_upright_picture_as_it_was_sent() {
    let muster = bare();
    let client = muster.client();
    let rows: Vec<u8> = (0..3_000_u32).flat_map(|_| [0].into_iter().chain(std::iter::repeat_n(200, 10))).collect();
    let turned =
        png(10, 3_000, [8, 0, 0], &[chunk(b"eXIf", QUARTER)], &crate::medical_images::pictures::deflate(&rows));
    let image = see(&client, &base64(&turned), "describe").await.json()["image"].clone();
    let expected = json!({ "width": 3_000, "height": 10, "format": "png", "bytes": turned.len(), "oriented": true });
    assert_eq!(image, expected);
}

#[tokio::test]
async fn a_provider_sees_the_picture_without_its_metadata_and_answers_by_a_schema() {
    let first = Upstream::start(UpstreamAction::Answer(&["{\"description\": ", "\"A striped square.\"}"]));
    let second = Upstream::start(UpstreamAction::Answer(&["{}"]));
    let muster = with_providers(&first, &second);
    let client = muster.client();
    let photo = base64(&jpeg(40, 30, &[]));
    let body = json!({ "image": photo, "task": "describe", "question": "Which shape?", "language": "pt" });
    let answered = client.post(PATH, &body).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    let described = answered.json();
    assert_eq!(described["result"]["description"], "A striped square.");
    assert_eq!(
        (&described["method"], &described["provider"], &described["model"]),
        (&json!("model"), &json!("one"), &json!("alpha"))
    );
    assert_eq!((&described["result"]["language"], &described["attempts"][0]["outcome"]), (&json!("pt"), &json!("ok")));
    assert!(
        described["usage"]["total_tokens"].as_u64().unwrap() > 0 && described["cost_usd"].as_f64().unwrap() > 0.0,
        "{described}"
    );
    let sent = first.last_request();
    assert_eq!(sent["response_format"]["type"], "json_schema");
    let url = sent["messages"][1]["content"][0]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/jpeg;base64,") && !url.contains(&photo), "encoded anew");
    assert_eq!(sent["messages"][1]["content"][1]["text"], "Which shape?");
    assert!(sent["messages"][0]["content"].to_string().contains("Portuguese"));
    assert_eq!(second.requests(), 0);
}

#[tokio::test]
async fn a_malformed_answer_goes_to_the_next_provider_and_a_named_model_has_no_substitute() {
    let first = Upstream::start(UpstreamAction::Answer(&["I see a cat."]));
    let second = Upstream::start(UpstreamAction::Answer(&["{\"description\": \"A cat.\"}"]));
    let muster = with_providers(&first, &second);
    let client = muster.client();
    let described = see(&client, &picture(), "describe").await.json();
    assert_eq!(
        (&described["result"]["description"], &described["model"]),
        (&json!("A cat."), &json!("beta")),
        "{described}"
    );
    let outcomes: Vec<&Value> =
        described["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(outcomes, [&json!("malformed"), &json!("ok")]);
    let named = client.post(PATH, &json!({ "image": picture(), "task": "describe", "model": "alpha" })).await;
    assert_eq!((named.status, &named.json()["error"]["code"]), (503, &json!("provider_failed")), "{}", named.text);
    second.set_action(UpstreamAction::Status(500, "", "{}"));
    let facts = see(&client, &picture(), "describe").await.json();
    assert_eq!(facts["method"], "facts", "{facts}");
    assert!(facts["attempts"].as_array().unwrap().len() >= 2, "{facts}");
}

#[tokio::test]
async fn boxes_of_a_named_chat_model_are_approximate() {
    let reply = "{\"objects\": [{\"label\": \"cat\", \"score\": 0.9, \"box\": {\"x\": 0.5, \"y\": 0, \"width\": 0.5, \"height\": 1}}]}";
    let first = Upstream::start(UpstreamAction::Answer(Box::leak(Box::new([reply]))));
    let second = Upstream::start(UpstreamAction::Answer(&["{}"]));
    let muster = with_providers(&first, &second);
    let body = json!({ "image": base64(&jpeg(200, 100, &[])), "task": "detect", "model": "alpha" });
    let found = muster.client().post(PATH, &body).await.json();
    assert_eq!(found["warnings"], json!(["approximate_boxes"]), "{found}");
    let place = json!({ "x": 100.0, "y": 0.0, "width": 100.0, "height": 100.0 });
    assert_eq!(found["result"]["objects"], json!([{ "label": "cat", "score": 0.9, "box": place }]));
}

#[tokio::test]
async fn a_client_that_leaves_stops_the_provider() {
    let first = Upstream::start(UpstreamAction::Held(Box::new(UpstreamAction::Answer(&["{}"]))));
    let second = Upstream::start(UpstreamAction::Answer(&["{}"]));
    let muster = with_providers(&first, &second);
    let client = muster.client();
    let leaving = client.clone();
    let call = tokio::spawn(async move { see(&leaving, &picture(), "describe").await });
    first.first_request().await;
    call.abort();
    first.client_disconnected().await;
    let left = "outcome=\"left\",provider=\"none\",task=\"describe\"} 1";
    let counted = async {
        while !client.get("/metrics").await.text.contains(left) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, counted).await.expect("it is counted");
}

#[tokio::test]
async fn the_embedded_models_read_find_and_score() {
    let Some(muster) = with_models("ppocrv5_rec.onnx") else { return };
    let client = muster.client();
    let blank = see(&client, &base64(&grey(&vec![[255; 64].as_slice(); 64])), "ocr").await;
    assert_eq!(blank.status, 200, "{}", blank.text);
    assert_eq!((&blank.json()["result"]["text"], &blank.json()["model"]), (&json!(""), &json!("pp-ocrv5-mobile")));
    let (Some(page), Some(person)) = (case("ocr/page.png"), case("photos/astronaut.jpg")) else { return };
    let read = see(&client, &page, "ocr").await.json();
    let lines = read["result"]["lines"].as_array().unwrap();
    assert!(!lines.is_empty() && read["result"]["rotation"] == 0, "{read}");
    let (width, height) = (read["image"]["width"].as_f64().unwrap(), read["image"]["height"].as_f64().unwrap());
    for line in lines {
        let side = |name: &str| line["box"][name].as_f64().unwrap();
        assert!(side("x") + side("width") <= width + 0.2 && side("y") + side("height") <= height + 0.2, "{line}");
    }
    let found = see(&client, &person, "detect").await.json();
    assert!(found["result"]["objects"].as_array().unwrap().iter().any(|object| object["label"] == "person"), "{found}");
    assert_eq!((&found["method"], &found["model"]), (&json!("neural"), &json!("nanodet-416")));
    let scored = see(&client, &person, "moderate").await.json();
    assert_eq!(scored["result"]["flagged"], false, "{scored}");
    assert!(scored["result"]["not_assessed"].as_array().unwrap().contains(&json!("violence")), "{scored}");
    assert_eq!(scored["result"]["categories"].as_object().unwrap().len(), 1, "only what was assessed");
    let described = see(&client, &person, "describe").await.json();
    assert!(described["result"]["facts"]["objects"]["person"].as_u64().unwrap() >= 1, "{described}");
    for (task, model) in [("detect", "nanodet-416"), ("moderate", "open-nsfw"), ("describe", "facts")] {
        let named = client.post(PATH, &json!({ "image": person, "task": task, "model": "embedded" })).await;
        assert_eq!((named.status, &named.json()["model"]), (200, &json!(model)), "{}", named.text);
    }
    let metrics = client.get("/metrics").await.text;
    assert!(metrics.contains("muster_state{name=\"ready\",part=\"vision/ocr\"} 1"), "{metrics}");
}

#[tokio::test]
async fn a_full_queue_refuses_and_clients_that_leave_make_room() {
    let Some(muster) = with_models("ppocrv5_rec.onnx") else { return };
    let Some(page) = case("ocr/guide-en-p20.png") else { return };
    let client = muster.client();
    assert_eq!(see(&client, &picture(), "ocr").await.status, 200);
    let (sender, mut answers) = tokio::sync::mpsc::unbounded_channel();
    let calls: Vec<_> = (0..80)
        .map(|_| {
            let (client, page, sender) = (client.clone(), page.clone(), sender.clone());
            tokio::spawn(async move { sender.send(see(&client, &page, "ocr").await) })
        })
        .collect();
    let refused = loop {
        let answer = tokio::time::timeout(TEST_TIMEOUT, answers.recv()).await.unwrap().unwrap();
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (503, &json!("vision_busy")), "{}", refused.text);
    assert!(refused.number("retry-after").is_some(), "{}", refused.text);
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    let again = async {
        while see(&client, &picture(), "ocr").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, again).await.expect("the queue empties");
    let metrics = client.get("/metrics").await.text;
    let stopped =
        metrics.lines().find_map(|line| line.strip_prefix("muster_state{name=\"stopped\",part=\"vision/ocr\"} "));
    assert!(stopped.unwrap().parse::<u64>().unwrap() > 0, "calls whose clients left did not go on");
}

/// A program that answers as Tesseract 5 does: its languages, the script of a page, and one line of two words.
const TESSERACT: &str = r#"#!/bin/sh
case "$*" in
*--list-langs*) printf 'List of available languages in "/usr/share" (3):\neng\nosd\nrus\n' ;;
*"--psm 0"*) cat >/dev/null; printf 'Page number: 0\nScript: Cyrillic\nScript confidence: 4.2\n' ;;
*"-l rus+eng"*) cat >/dev/null
    printf 'level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n'
    printf '4\t1\t1\t1\t1\t0\t0\t0\t2\t1\t-1\t\n'
    printf '5\t1\t1\t1\t1\t1\t0\t0\t1\t1\t96.0\tДобрый\n5\t1\t1\t1\t1\t2\t1\t0\t1\t1\t96.0\tдень\n' ;;
*) exit 1 ;;
esac
"#;

#[tokio::test]
async fn a_page_in_another_script_is_read_by_tesseract_where_it_is_installed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tesseract");
    std::fs::write(&program, TESSERACT).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let installed = format!("{}[media]\ntesseract = \"{}\"\n", settings(Path::new("/nonexistent")), program.display());
    let muster = Muster::start(&installed);
    let body = json!({ "image": picture(), "task": "ocr", "model": "tesseract" });
    let read = muster.client().post(PATH, &body).await;
    assert_eq!(read.status, 200, "{}", read.text);
    let read = read.json();
    assert_eq!((&read["method"], &read["provider"]), (&json!("tesseract"), &json!("embedded")), "{read}");
    assert_eq!(read["result"]["text"], "Добрый день");
    assert_eq!(read["result"]["lines"][0]["score"], 0.96);

    let without = Muster::start(&format!("{}[media]\ntesseract = \"\"\n", settings(Path::new("/nonexistent"))));
    let refused = without.client().post(PATH, &body).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (503, &json!("model_absent")), "{}", refused.text);
    assert!(refused.text.contains("install tesseract-ocr"), "{}", refused.text);
}
