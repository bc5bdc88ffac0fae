//! Translation and the list of languages: the order of engines, what they say of themselves, and what must survive.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::client::{Answer, Client};
use crate::support::server::Muster;
use crate::support::upstream::{Upstream, UpstreamAction};

const PATH: &str = "/api/translate";
/// A placeholder, a URL and a line end that must survive.
const TEXT: &str = "The shelter opens at %(time)s.\n\nSee https://example.org/map now.";

/// Settings with this folder of models and this program of Apertium.
fn settings(models: &Path, apertium: &str) -> String {
    let models = models.display();
    format!("[llm]\nmodel = \"none\"\ncache = \"{models}\"\n[translate]\napertium = \"{apertium}\"\n")
}

/// A server without models, Apertium and providers.
fn bare() -> Muster {
    Muster::start(&settings(Path::new("/nonexistent"), ""))
}

/// The folder of fetched models; `None`, after a line that says what is skipped, without this file.
pub fn fetched(file: &str) -> Option<PathBuf> {
    let own = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models-cache");
    let folder = std::env::var("MUSTER_MODELS_DIR").map_or_else(|_| own(), PathBuf::from);
    let there = folder.join(file).is_file();
    if !there {
        println!("skipped: {file} was not fetched (muster models pull)");
    }
    there.then_some(folder)
}

/// A server with fetched models and no Apertium.
fn with_models(file: &str) -> Option<Muster> {
    Some(Muster::start(&settings(&fetched(file)?, "")))
}

fn with_provider(upstream: &Upstream, apertium: &str) -> Muster {
    let price = "price = { input_per_million = 1.0, output_per_million = 2.0 }\n[chain]\norder = [\"one\"]\n";
    let settings = settings(Path::new("/nonexistent"), apertium);
    Muster::start(&format!("{}{price}{settings}", upstream.provider("one", "alpha")))
}

/// A program in place of Apertium, with this script for what is not a list of pairs.
fn program(folder: &Path, script: &str) -> String {
    let path = folder.join("apertium");
    let text =
        format!("#!/bin/bash\nif [ \"$1\" = -l ]; then echo '  eng-spa'; echo '  spa-eng'; exit; fi\n{script}\n");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

async fn translate(client: &Client, text: &str, from: &str, to: &str) -> Answer {
    client.post(PATH, &json!({ "text": text, "from": from, "to": to })).await
}

fn assert_field(refused: &Answer, field: &str) {
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert_eq!(refused.json()["error"]["field"], field, "{}", refused.text);
}

#[tokio::test]
async fn a_wrong_field_is_named() {
    let muster = bare();
    let client = muster.client();
    let body = |more: Value| {
        let mut body = json!({ "text": "hello", "to": "pt", "from": "en" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let terms: serde_json::Map<String, Value> = (0..201).map(|nth| (format!("term{nth}"), json!("x"))).collect();
    for (more, field) in [
        (json!({ "to": "tlh" }), "to"),
        (json!({ "from": "EN" }), "from"),
        (json!({ "text": "" }), "text"),
        (json!({ "text": "x".repeat(20_001) }), "text"),
        (json!({ "format": "rtf" }), "format"),
        (json!({ "glossary": terms }), "glossary"),
        (json!({ "tone": "formal" }), "tone"),
        (json!({ "text": 7 }), "text"),
        (json!({ "text": " \n" }), "text"),
        (json!({ "to": null }), "to"),
        (json!({ "to": ["pt"] }), "to"),
        (json!({ "from": 7 }), "from"),
        (json!({ "format": 7 }), "format"),
        (json!({ "glossary": ["shelter"] }), "glossary"),
        (json!({ "glossary": { "": "x" } }), "glossary"),
        (json!({ "model": 7 }), "model"),
        (json!({ "stream": "yes" }), "stream"),
    ] {
        assert_field(&client.post(PATH, &body(more)).await, field);
    }
    let none = client.without_key().post(PATH, &body(json!({}))).await;
    assert_eq!((none.status, &none.json()["success"]), (401, &json!(false)));
    let key = client.make_key(&json!({ "name": "engines", "scopes": ["engines"] })).await;
    assert_eq!(client.with(key).get("/api/languages").await.status, 403);
}

#[tokio::test]
async fn without_models_the_server_says_what_to_add() {
    let muster = bare();
    let client = muster.client();
    let refused = translate(&client, "The road is closed.", "en", "pt").await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert_eq!(refused.header("retry-after"), None);
    let error = &refused.json()["error"];
    assert_eq!(error["code"], "no_engine_for_pair");
    assert_eq!((&error["details"]["from"], &error["details"]["to"]), (&json!("en"), &json!("pt")));
    assert_eq!(error["details"]["tried"], json!([]));
    assert!(error["details"]["how"].as_str().unwrap().contains("muster models pull"), "{error}");
    let undetected = client.post(PATH, &json!({ "text": "The road is closed.", "to": "pt" })).await;
    assert_eq!((undetected.status, &undetected.json()["error"]["code"]), (503, &json!("model_absent")));
    let same = translate(&client, " The road ", "en", "en").await.json();
    assert_eq!((&same["translation"], &same["method"]), (&json!(" The road "), &json!("identity")));
    let listed = client.get("/api/languages").await.json();
    assert_eq!((listed["languages"].as_array().unwrap().len(), &listed["translated"]), (84, &json!(0)));
    let arabic = listed["languages"].as_array().unwrap().iter().find(|language| language["code"] == "ar").unwrap();
    assert_eq!((&arabic["rtl"], &arabic["script"], &arabic["detected"]), (&json!(true), &json!("Arab"), &json!(false)));
    let detect = client.post("/api/q167/run", &json!({ "text": "hello" })).await;
    assert_eq!((detect.status, &detect.json()["error_code"]), (503, &json!("MODEL_ABSENT")), "{}", detect.text);
}

#[tokio::test]
async fn a_provider_translates_and_placeholders_survive() {
    const REPLY: &[&str] = &["{\"translations\": [\"O abrigo abre às XQ0.\", ", "\"Veja XQ0 agora.\"]}"];
    let upstream = Upstream::start(UpstreamAction::Answer(REPLY));
    let muster = with_provider(&upstream, "");
    let translated = translate(&muster.client(), TEXT, "en", "pt").await;
    assert_eq!(translated.status, 200, "{}", translated.text);
    let answer = translated.json();
    assert_eq!(answer["translation"], "O abrigo abre às %(time)s.\n\nVeja https://example.org/map agora.");
    assert_eq!(
        (&answer["method"], &answer["provider"], &answer["model"]),
        (&json!("model"), &json!("one"), &json!("alpha"))
    );
    assert_eq!((&answer["route"], &answer["detected"]), (&json!(["en", "pt"]), &json!(false)));
    assert!(answer["tokens"].as_u64().unwrap() > 0 && answer["cost_usd"].as_f64().unwrap() > 0.0, "{answer}");
    let sent = upstream.last_request();
    assert_eq!(sent["response_format"]["type"], "json_schema");
    assert!(!sent.to_string().contains("example.org"), "what must survive is not sent: {sent}");
}

#[tokio::test]
async fn a_malformed_answer_makes_place_for_the_next_engine() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["no JSON"]));
    let folder = tempfile::tempdir().unwrap();
    let apertium = program(folder.path(), "sed 's/road/carretera/'");
    let muster = with_provider(&upstream, &apertium);
    let client = muster.client();
    let answer = translate(&client, "The road to {place}", "en", "es").await.json();
    assert_eq!(
        (&answer["translation"], &answer["method"]),
        (&json!("The carretera to {place}"), &json!("rules")),
        "{answer}"
    );
    assert_eq!(
        (&answer["provider"], &answer["tokens"], &answer["cost_usd"]),
        (&json!("apertium"), &json!(0), &json!(0.0))
    );
    let named = json!({ "text": "The road", "from": "en", "to": "es", "model": "alpha" });
    let refused = client.post(PATH, &named).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]["code"]),
        (503, &json!("no_engine_for_pair")),
        "no substitute"
    );
    assert_eq!(refused.json()["error"]["details"]["tried"][0]["engine"], "model");
    let listed = client.get("/api/languages").await.json();
    let of = |code: &str| listed["languages"].as_array().unwrap().iter().find(|l| l["code"] == code).unwrap().clone();
    let methods = |ways: &Value| ways.as_array().unwrap().iter().map(|way| way["method"].clone()).collect::<Vec<_>>();
    assert_eq!(methods(&of("es")["from_english"]), ["model", "rules"]);
    assert_eq!(methods(&of("hr")["from_english"]), ["model"]);
}

#[tokio::test]
async fn the_program_of_rules_has_no_network_and_little_time() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["x"]));
    let folder = tempfile::tempdir().unwrap();
    let port = upstream.address.port();
    let script = format!(
        "cat >/dev/null; if (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; then echo Conectado.; else echo Aislado.; fi"
    );
    let apertium = program(folder.path(), &script);
    let muster = Muster::start(&settings(Path::new("/nonexistent"), &apertium));
    let answer = translate(&muster.client(), "Is it connected?", "en", "es").await.json();
    assert!(answer["translation"].as_str().unwrap().starts_with("Aislado"), "{answer}");
    program(folder.path(), "while :; do :; done");
    let refused = translate(&muster.client(), "Is it connected?", "en", "es").await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    let tried = &refused.json()["error"]["details"]["tried"];
    assert_eq!((&tried[0]["engine"], &tried[0]["route"]), (&json!("rules"), &json!(["en", "es"])), "{tried}");
}

#[tokio::test]
async fn segments_are_streamed_in_order_and_make_the_translation() {
    const REPLY: &[&str] = &["{\"translations\": [\"O abrigo abre às XQ0.\", \"Veja XQ0 agora.\"]}"];
    let upstream = Upstream::start(UpstreamAction::Answer(REPLY));
    let muster = with_provider(&upstream, "");
    let body = json!({ "text": TEXT, "from": "en", "to": "pt", "stream": true });
    let mut events = muster.client().stream(PATH, &body).await;
    let all = events.rest().await;
    let names: Vec<&str> = all.iter().map(|event| event.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["segment", "segment", "done"]);
    let data: Vec<Value> = all.iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect();
    assert_eq!((&data[0]["index"], &data[1]["index"]), (&json!(0), &json!(1)));
    let joined: String = data[..2].iter().map(|segment| segment["translation"].as_str().unwrap()).collect();
    assert_eq!(data[2]["translation"], joined);
    upstream.set_action(UpstreamAction::Status(500, "", "{}"));
    let failed = muster.client().stream(PATH, &body).await.rest().await;
    assert_eq!(failed.last().unwrap().name.as_deref(), Some("error"));
    let error: Value = serde_json::from_str(&failed.last().unwrap().data).unwrap();
    assert_eq!(error["error"]["code"], "no_engine_for_pair", "{error}");
}

#[tokio::test]
async fn a_client_that_leaves_stops_the_provider() {
    let upstream = Upstream::start(UpstreamAction::Held(Box::new(UpstreamAction::Answer(&["{}"]))));
    let muster = with_provider(&upstream, "");
    let client = muster.client();
    let call = tokio::spawn(async move { translate(&client, "The road is closed.", "en", "pt").await });
    upstream.first_request().await;
    call.abort();
    upstream.client_disconnected().await;
}

#[tokio::test]
async fn the_embedded_models_translate_and_placeholders_survive() {
    let Some(muster) = with_models("model.enpt.intgemm.alphas.bin") else { return };
    let client = muster.client();
    let answer = translate(&client, TEXT, "en", "pt").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let answer = answer.json();
    let text = answer["translation"].as_str().unwrap();
    assert!(text.contains("abrigo") && text.contains("%(time)s") && text.contains("\n\n"), "{text}");
    assert_eq!(text.matches("https://example.org/map").count(), 1, "{text}");
    assert_eq!(
        (&answer["method"], &answer["provider"], &answer["cost_usd"]),
        (&json!("neural"), &json!("embedded"), &json!(0.0))
    );
    assert!(answer["tokens"].as_u64().unwrap() > 0);
    let glossary = json!({ "text": "The shelter opens at nine.", "from": "en", "to": "pt", "glossary": { "shelter": "albergue" } });
    let answer = client.post(PATH, &glossary).await.json();
    assert!(answer["translation"].as_str().unwrap().contains("albergue"), "{answer}");
    let listed = client.get("/api/languages").await.json();
    assert_eq!(listed["translated"], 2);
}

#[tokio::test]
async fn a_client_that_leaves_stops_the_embedded_model() {
    let Some(muster) = with_models("model.enpt.intgemm.alphas.bin") else { return };
    let client = muster.client();
    let text = "The river rose quickly and the people of the valley had to leave their houses. ".repeat(240);
    let body = json!({ "text": text, "from": "en", "to": "pt", "stream": true });
    let mut events = client.stream(PATH, &body).await;
    assert_eq!(events.next().await.unwrap().name.as_deref(), Some("segment"));
    drop(events);
    let stopped = "muster_state{name=\"stopped\",part=\"translate/en-pt\"} 1";
    let ends = async {
        while !client.get("/metrics").await.text.contains(stopped) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::support::client::TEST_TIMEOUT, ends).await.expect("the model stopped");
}

#[tokio::test]
async fn names_are_translated_between_any_pair_and_languages_are_detected() {
    let Some(muster) = with_models("languages.bin") else { return };
    if fetched("picture-names.json").is_none() {
        return;
    }
    let client = muster.client();
    // CLDR 48: 🔥 is "feu" and "Feuer".
    let answer = translate(&client, "Feu", "fr", "de").await.json();
    assert_eq!(
        (&answer["translation"], &answer["method"], &answer["provider"]),
        (&json!("Feuer"), &json!("dictionary"), &json!("cldr"))
    );
    let body = json!({ "text": "Der Fluss ist über die Ufer getreten und viele Menschen müssen ihre Häuser verlassen.", "to": "de" });
    let answer = client.post(PATH, &body).await.json();
    assert_eq!(
        (&answer["from"], &answer["detected"], &answer["method"]),
        (&json!("de"), &json!(true), &json!("identity"))
    );
    assert!(answer["confidence"].as_f64().unwrap() > 0.9);
    let undetermined = client.post(PATH, &json!({ "text": "12 345", "to": "de" })).await;
    assert_field(&undetermined, "from");
    let detected = client.post("/api/q167/run", &body_of("Ko te reo Māori te reo taketake o Aotearoa")).await.json();
    assert_eq!(detected["output"]["language"], "mi", "{detected}");
    let named = json!({ "text": "Feu!", "from": "fr", "to": "de" });
    let named = client.post("/api/q165/run", &named).await.json();
    assert_eq!(
        (&named["output"]["translation"], &named["output"]["method"]),
        (&json!("Feuer!"), &json!("phrase-table")),
        "{named}"
    );
}

fn body_of(text: &str) -> Value {
    json!({ "text": text })
}
