//! Engines over HTTP: listed, described, run within bounds, in processes that end with the server.

use std::path::Path;
use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::process::Launch;
use crate::support::server::Muster;

fn stats(muster: &Muster) -> muster_tasks::engine::EngineStats {
    muster.app.engines.stats()
}

#[tokio::test]
async fn each_engine_is_listed_described_and_runs_its_example() {
    let muster = Muster::start("[limits.agent]\nengines = \"unlimited\"\nhealth = \"unlimited\"\n");
    let client = muster.client();
    let listed = client.get("/api/engines").await.json();
    let engines = listed["engines"].as_array().unwrap();
    assert_eq!(engines.len(), muster_engines::all().count());
    for entry in engines {
        let path = format!("/api/q{}", entry["number"]);
        let described = client.get(&path).await;
        assert_eq!(described.status, 200, "{}", described.text);
        let described = described.json();
        for field in ["number", "id", "name", "family", "summary", "nature"] {
            assert_eq!(described[field], entry[field], "{path}: {field}");
        }
        for field in ["input_schema", "output_schema", "example", "method", "reference", "version", "cost", "data"] {
            assert!(!described[field].is_null(), "{path} has no {field}");
        }
        if entry["nature"] == "pure" {
            let ran = client.post(&format!("{path}/run"), &described["example"]).await;
            assert_eq!(ran.status, 200, "{path}: {}", ran.text);
            let ran = ran.json();
            assert_eq!((&ran["engine"], &ran["number"]), (&entry["id"], &entry["number"]));
            assert_eq!(ran["version"], described["version"]);
            assert!(ran["explain"].is_null(), "{ran}");
            assert!(ran["output"].is_object() && ran["duration_ms"].is_u64() && ran["warnings"].is_array(), "{ran}");
        }
    }
    assert_eq!(listed["next_cursor"], Value::Null);
}

#[tokio::test]
async fn the_list_is_filtered_by_family_and_words() {
    let muster = Muster::start("");
    let client = muster.client();
    let ids = |answer: Value| -> Vec<String> {
        let engines = answer["engines"].as_array().unwrap().iter();
        engines.map(|engine| engine["id"].as_str().unwrap().to_owned()).collect()
    };
    let found = ids(client.get("/api/engines?family=data&q=SCHEMA%20validat").await.json());
    assert_eq!(found, ["json-schema-validate"]);
    assert_eq!(ids(client.get("/api/engines?family=docs&q=json-schema-validate").await.json()), [""; 0]);
    let whole = ids(client.get("/api/engines?family=medical").await.json());
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/api/engines?family=medical&limit=10&cursor={cursor}")).await.json();
        let next = page["next_cursor"].as_str().map(str::to_owned);
        pages.extend(ids(page));
        let Some(next) = next else { break };
        cursor = next;
    }
    assert!(whole.len() > 20 && pages == whole, "{pages:?}");
    for wrong in ["limit=0", "limit=501", "cursor=geodesic-inverse"] {
        assert_eq!(client.get(&format!("/api/engines?family=medical&{wrong}")).await.status, 422, "{wrong}");
    }
    let refused = client.get("/api/engines?family=none").await;
    assert_eq!(refused.status, 422);
    assert_eq!(refused.json()["detail"][0]["loc"], json!(["query", "family"]));
}

#[tokio::test]
async fn an_invalid_input_is_rejected_with_the_location_of_each_failure() {
    let muster = Muster::start("");
    let client = muster.client();
    let refused = client.post("/api/q109/run", &json!({ "schema": {}, "formats": "yes", "more": 1 })).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    let detail = refused.json()["detail"].clone();
    let locs: Vec<&Value> = detail.as_array().unwrap().iter().map(|problem| &problem["loc"]).collect();
    for loc in [json!(["body", "document"]), json!(["body", "formats"]), json!(["body", "more"])] {
        assert!(locs.contains(&&loc), "{loc} is not in {locs:?}");
    }
    assert_eq!(client.post("/api/q109/run", &json!([1])).await.status, 422);
    for path in ["/api/q0109", "/api/q9999", "/api/qx", "/api/q-1"] {
        let got = client.get(path).await;
        assert_eq!((got.status, got.json()["error_code"].as_str()), (404, Some("NOT_FOUND")), "{path}");
    }
}

#[tokio::test]
async fn an_answer_explains_itself_on_request() {
    let muster = Muster::start("");
    let client = muster.client();
    let input = json!({ "schema": {}, "document": 1 });
    let ran = client.post("/api/q109/run?explain=true", &input).await;
    assert_eq!(ran.status, 200, "{}", ran.text);
    let explain = ran.json()["explain"].clone();
    assert!(
        explain["steps"].is_array() && explain["assumptions"].is_array() && explain["data"].is_array(),
        "{explain}"
    );
    let references = muster_engines::by_number(109).unwrap().reference;
    assert_eq!(explain["references"][0], references.split("; ").next().unwrap());
    let refused = client.post("/api/q109/run?explain=perhaps", &input).await;
    assert_eq!((refused.status, &refused.json()["detail"][0]["loc"]), (422, &json!(["query", "explain"])));
    assert_eq!(client.post("/api/q109/run?explian=true", &input).await.status, 422);
}

#[tokio::test]
async fn a_run_is_streamed_to_a_client_that_accepts_events() {
    let muster = Muster::start("");
    let client = muster.client();
    let events = async |input: Value| {
        let request = client.post_request("/api/q109/run", &input).header("accept", "text/event-stream");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
        response.text().await.unwrap()
    };
    let data = |text: &str, name: &str| -> Value {
        let rest = text.strip_prefix(&format!("event: {name}\ndata: ")).unwrap_or_else(|| panic!("{text}"));
        serde_json::from_str(rest.strip_suffix("\n\n").unwrap()).unwrap()
    };
    let result = data(&events(json!({ "schema": {}, "document": 1 })).await, "result");
    assert_eq!((&result["engine"], &result["output"]["valid"]), (&json!("json-schema-validate"), &json!(true)));
    let error = data(&events(json!({ "schema": {} })).await, "error");
    assert_eq!(error["detail"][0]["loc"], json!(["body", "document"]));
}

#[tokio::test]
async fn the_description_has_an_entity_tag_and_a_slice_for_each_family() {
    let muster = Muster::start("");
    let client = muster.client().without_key();
    for path in ["/openapi.json", "/openapi/engines/data.json"] {
        let got = client.get(path).await;
        assert_eq!(got.status, 200, "{path}");
        let tag = got.header("etag").unwrap().to_owned();
        let again = client.request(Method::GET, path).header("if-none-match", tag).send().await.unwrap();
        assert_eq!(again.status(), 304, "{path}");
    }
    let slice = client.get("/openapi/engines/text.json").await.json();
    let refused = slice["paths"]["/api/q171/run"]["post"]["responses"]["422"]["$ref"].as_str().unwrap();
    let refused = slice.pointer(refused.trim_start_matches('#')).unwrap();
    assert!(refused["description"].is_string(), "{refused}");
    assert!(slice["paths"]["/api/q171/run"].is_object() && slice["paths"]["/api/q109/run"].is_null());
    assert_eq!(client.get("/openapi/engines/none.json").await.status, 404);
}

#[tokio::test]
async fn a_key_needs_the_scope_and_has_its_own_limit() {
    let muster = Muster::start("[limits.agent]\nengines = 2\n");
    let client = muster.client();
    let chat = client.make_key(&json!({ "name": "chat", "scopes": ["chat"] })).await;
    let input = json!({ "schema": {}, "document": 1 });
    for refused in
        [client.with(chat.clone()).get("/api/engines").await, client.with(chat).post("/api/q109/run", &input).await]
    {
        assert_eq!(refused.status, 403);
        assert!(refused.text.contains("engines"), "{}", refused.text);
    }
    for left in [1, 0] {
        let ran = client.post("/api/q109/run", &input).await;
        assert_eq!((ran.status, ran.number("x-ratelimit-remaining")), (200, Some(left)), "{}", ran.text);
    }
    let refused = client.post("/api/q109/run", &input).await;
    assert_eq!(refused.status, 429);
    assert!(refused.number("retry-after").is_some());
    // Reading does not count against it.
    assert_eq!(client.get("/api/q109").await.status, 200);
}

#[tokio::test]
async fn a_body_as_deep_as_bodies_may_be_goes_through_and_back() {
    let muster = Muster::start("");
    // The document is inside two objects, with `const` around it.
    for (levels, status) in [(62, 200), (63, 422)] {
        let nested = (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let input = json!({ "schema": { "const": nested.clone() }, "document": nested });
        let ran = muster.client().post("/api/q109/run", &input).await;
        assert_eq!(ran.status, status, "{levels}: {}", ran.text);
        if status == 200 {
            assert_eq!(ran.json()["output"]["valid"], json!(true), "{}", ran.text);
        }
    }
}

/// The suite's regular expression that a backtracking matcher needs exponential time for, behind a reference that this
/// library has to backtrack for.
#[tokio::test]
async fn the_server_answers_others_while_an_engine_is_at_its_bound() {
    let muster = Muster::start("[engines]\ntime_seconds = 1\nworkers = 1\n");
    let client = muster.client();
    let deep = (0..3_000).map(|nth| {
        (
            format!("d{nth}"),
            json!({ "anyOf": [
        { "$ref": format!("#/$defs/d{}", nth + 1) }, { "$ref": format!("#/$defs/d{}", nth + 1) }
    ] }),
        )
    });
    let mut defs: serde_json::Map<String, Value> = deep.collect();
    defs.insert("d3000".to_owned(), json!({ "const": 0 }));
    let input = json!({ "schema": { "$ref": "#/$defs/d0", "$defs": defs }, "document": 1 });
    let path = "/api/q109/run";
    let (bad, health) = tokio::join!(client.post(path, &input), client.get("/api/health/live"));
    assert_eq!(health.status, 200);
    // 2^3000 alternatives, twice: it exceeds its time, memory or stack limit, whichever is first.
    assert!([408, 413, 422].contains(&bad.status), "{} {}", bad.status, bad.text);
    let good = client.post(path, &json!({ "schema": {}, "document": 1 })).await;
    assert_eq!(good.status, 200, "{}", good.text);
    assert!(stats(&muster).processes <= 1);
}

/// The child processes of this process.
fn children(of: u32) -> Vec<u32> {
    let listed = Command::new("ps").args(["-o", "pid=", "--ppid", &of.to_string()]).output().unwrap();
    String::from_utf8(listed.stdout).unwrap().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

async fn gone(pids: &[u32]) {
    let there = |pid: &u32| Path::new(&format!("/proc/{pid}")).exists();
    let begun = std::time::Instant::now();
    while pids.iter().any(there) {
        assert!(begun.elapsed().as_secs() < 20, "processes are left: {pids:?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn no_process_outlives_the_server_however_it_ends() {
    for signal in ["TERM", "KILL"] {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Launch::new(folder.path()).start();
        let client = crate::support::client::Client::new(server.url.clone()).with(crate::support::KEY);
        let ran = client.post("/api/q109/run", &json!({ "schema": {}, "document": 1 })).await;
        assert_eq!(ran.status, 200, "{}", ran.text);
        let workers = children(server.child.id());
        assert!(!workers.is_empty());
        server.signal(signal);
        server.child.wait().unwrap();
        gone(&workers).await;
    }
}

#[tokio::test]
async fn the_description_has_each_engine_with_its_types() {
    let muster = Muster::start("");
    let api = muster.client().without_key().get("/openapi.json").await.json();
    for engine in muster_engines::all() {
        let run = &api["paths"][format!("/api/q{}/run", engine.number)]["post"];
        let body = &run["requestBody"]["content"]["application/json"];
        assert_eq!(body["example"], engine.example());
        assert_eq!(body["schema"]["properties"], engine.input_schema()["properties"]);
        let output = &run["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["output"];
        assert_eq!(output["properties"], engine.output_schema()["properties"]);
    }
}

#[tokio::test]
async fn code_is_outlined_where_the_grammars_are_built_in() {
    let muster = Muster::start("");
    let input = json!({ "source": "def f(a, b):\n    return a\n", "language": "python" });
    let ran = muster.client().post("/api/q189/run", &input).await;
    if !cfg!(feature = "engines") {
        assert_eq!((ran.status, ran.json()["error_code"].as_str()), (404, Some("NOT_FOUND")), "{}", ran.text);
        return;
    }
    assert_eq!(ran.status, 200, "{}", ran.text);
    let ran = ran.json();
    assert_eq!((&ran["output"]["symbols"][0]["name"], &ran["output"]["errors"]), (&json!("f"), &json!(0)), "{ran}");
    assert_eq!(ran["warnings"], json!([]), "{ran}");
}

/// An engine reads only the configured folder.
#[cfg(feature = "engines")]
#[tokio::test]
async fn a_path_out_of_the_workspace_is_refused_and_entered_in_the_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("workspace"), folder.path().join("secret.txt"));
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(&outside, "needle\n").unwrap();
    std::fs::write(inside.join("own.txt"), "needle\n").unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("link.txt")).unwrap();
    let muster = Muster::start(&format!("[workspace]\npath = {:?}\n", inside.display().to_string()));
    let client = muster.client();
    let search = |path: &str| json!({ "pattern": "needle", "path": path });
    let found = client.post("/api/q188/run", &search(".")).await.json();
    assert_eq!(found["output"]["matches"].as_array().map(Vec::len), Some(1), "{found}");
    let absolute = outside.display().to_string();
    for path in ["../secret.txt", "link.txt", "a/../../secret.txt", &absolute, "/etc/passwd"] {
        let refused = client.post("/api/q188/run", &search(path)).await;
        assert_eq!(refused.status, 403, "{path}: {}", refused.text);
        assert_eq!(refused.json()["error_code"], "PATH_OUTSIDE_WORKSPACE", "{path}");
    }
    assert_eq!(escapes(&muster).len(), 5);
}

/// The audit log's entries for paths outside the workspace folder.
#[cfg(feature = "engines")]
fn escapes(muster: &Muster) -> Vec<Value> {
    let entries = crate::support::audit_entries(muster);
    entries.into_iter().filter(|entry| entry["action"] == "workspace_escape_refused").collect()
}

#[cfg(feature = "engines")]
#[tokio::test]
async fn the_audit_log_names_the_owner_and_the_task_of_an_agent_that_would_leave_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let muster = Muster::start(&format!("[workspace]\npath = {:?}\n", folder.path().display().to_string()));
    let client = muster.client();
    let body = json!({ "task": "look", "params": { "path": "../elsewhere" } });
    let begun = client.post("/api/v1/agents/code-explorer/run", &body).await.json();
    let path = format!("/api/v1/tasks/{}", begun["task_id"].as_str().unwrap());
    let mut task = client.get(&path).await.json();
    while task["finished_at"].is_null() {
        task = client.get(&format!("{path}?wait=20&after_seq={}", task["seq"])).await.json();
    }
    assert_eq!(task["status"], "failed", "{task}");
    // Each step that would leave the folder is refused on its own.
    let entries = escapes(&muster);
    assert!(!entries.is_empty());
    for entry in entries {
        assert_eq!((&entry["actor"], &entry["details"]["task_id"]), (&task["owner"], &begun["task_id"]), "{entry}");
        assert!(entry["actor"].as_str().unwrap().starts_with("key_"), "{entry}");
    }
}
