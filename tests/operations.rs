//! The program as an operator uses it: its start, rejected starts, its end.

use crate::support;

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use support::KEY;
use support::client::{Client, TEST_TIMEOUT};
use support::dialect::Chat;
use support::process::{Launch, Process};
use support::upstream::{Upstream, UpstreamAction};

/// Standard error of a start that fails.
fn refused(launch: Launch) -> String {
    let (code, output) = launch.fail();
    assert_eq!(code, Some(1), "{output}");
    output
}

fn settings(folder: &Path, text: &str) {
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

fn with_upstream(folder: &Path, action: UpstreamAction, more: &str) -> Upstream {
    let upstream = Upstream::start(action);
    settings(folder, &(upstream.provider("one", "alpha") + more));
    upstream
}

/// Reads all lines up to the first that `holds`.
fn read_until(process: &mut Process, holds: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    loop {
        let line = process.line();
        assert!(!line.is_empty(), "it ended after {text:?}");
        text.push_str(&line);
        if holds(&line) {
            return text;
        }
    }
}

#[test]
fn the_first_start_prints_a_key_and_a_call_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let _upstream = with_upstream(folder.path(), UpstreamAction::Answer(&["Canberra", ", of course"]), "");
    let mut process = Launch::bare(folder.path()).start();
    let output = read_until(&mut process, |line| line.contains(" -d "));
    let key = output.split_whitespace().find(|word| word.starts_with("mst_")).unwrap().to_owned();
    let call = &output[output.find("curl ").expect("a call to paste")..];
    assert!(call.contains(&process.url) && call.contains(&key), "{call}");
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: the printed call was not run, as there is no curl");
    } else {
        let ran = Command::new("sh").args(["-c", call]).env("no_proxy", "*").output().unwrap();
        let answer = String::from_utf8_lossy(&ran.stdout);
        assert!(answer.contains("Canberra") && answer.trim_end().ends_with("data: [DONE]"), "{call} gave {answer}");
    }
    assert!(!process.log().contains(&key), "the key is written nowhere");
    process.kill();

    let mut process = Launch::bare(folder.path()).start();
    process.signal("TERM");
    assert!(!process.rest().contains("mst_"), "the second start prints no key");
    assert_eq!(process.ended().code(), Some(0));
}

#[test]
fn bad_settings_stop_the_start_with_name_and_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let start = || refused(Launch::new(folder));
    for (text, output) in [
        ("[server]\nworkers = 1\nlisten_adress = \"x\"\n", &["config.toml", "line 3", "listen_adress", "listen"][..]),
        ("[server]\nworkers = \"many\"\n", &["config.toml", "line 2", "workers", "string"]),
        ("[sevrer]\n", &["config.toml", "line 1", "sevrer", "server"]),
        ("[llm]\nslots = 0\n", &["llm.slots", "1 to 64"]),
        ("[limits.plan_a.fre]\n", &["config.toml", "fre", "free"]),
        ("[[provider]]\nid = \"x\"\nkind = \"telepathy\"\n", &["telepathy", "openai"]),
        ("[chain]\norder = [\"ghost\"]\n", &["ghost"]),
    ] {
        settings(folder, text);
        let message = start();
        assert!(output.iter().all(|part| message.contains(part)), "{text:?} is reported as {message:?}");
    }
    settings(folder, "");
    for (variable, value, output) in [
        ("MUSTER__SERVER__WORKERS", "many", "MUSTER__SERVER__WORKERS"),
        ("MUSTER__SERVER__PROT", "1", "MUSTER__SERVER__PROT"),
        ("MUSTER__NOWHERE__X", "1", "MUSTER__NOWHERE__X"),
        ("MUSTER__LOG__LEVEL", "verbose", "log.level"),
        ("MUSTER_BOOTSTRAP_KEY", "too short", "MUSTER_BOOTSTRAP_KEY"),
    ] {
        let message = refused(Launch::new(folder).with(variable, value));
        assert!(message.contains(output), "{variable}={value} is reported as {message:?}");
    }
    std::fs::remove_file(folder.join("config.toml")).unwrap();
    assert!(refused(Launch::new(folder).with_args(&["--config", "none.toml"])).contains("none.toml"));
    let usage = support::process::program(folder).args(["serve", "--listen", "nowhere"]).output().unwrap();
    assert_eq!(usage.status.code(), Some(2));
}

#[test]
fn a_second_process_on_the_same_data_reports_that_it_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Launch::new(folder.path()).start();
    let message = refused(Launch::new(folder.path()));
    assert!(
        message.contains("store") && (message.contains("in use") || message.contains("another process")),
        "{message:?}"
    );
}

#[test]
fn a_port_that_is_taken_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let message = refused(Launch::new(folder.path()).with_args(&["--listen", &address]));
    assert!(message.contains(&address) && message.contains("--listen"), "{message:?}");
}

/// Waits until nothing accepts connections at the address.
async fn refuses_connections(url: &str) {
    let address = url.trim_start_matches("http://").to_owned();
    let mut interval = tokio::time::interval(Duration::from_millis(10));
    let closed = async {
        while TcpStream::connect(&address).is_ok() {
            interval.tick().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, closed).await.expect("new connections are refused");
}

#[tokio::test]
async fn every_part_of_people_the_network_and_agents_is_probed_and_well() {
    let muster = crate::support::server::Muster::start("");
    let parts = ["auth", "sessions", "realtime-feed", "devices", "incidents", "firmware-jobs"];
    let parts: Vec<&str> = parts
        .into_iter()
        .chain(["agent-runtime", "task-queue", "memory-store", "medical-knowledge", "governance"])
        .collect();
    let report = || muster.app.health.report();
    let probed =
        || parts.iter().chain(&["agent-registry"]).all(|part| report().modules[part].status.name() != "starting");
    crate::support::socket::wait_until("every part is probed", probed).await;
    let health = muster.client().get("/api/health").await.json();
    assert_eq!(health["modules"], 29);
    // On a busy machine five engines may take longer than a probe does.
    let engines = report().modules["engine-registry"].why.clone();
    assert!(engines.as_ref().is_none_or(|message| message.contains("busy")), "{engines:?}");
    // A build without the heavy engines lacks agents, and reports it.
    let agents = if cfg!(feature = "engines") { "healthy" } else { "degraded" };
    assert_eq!(health["module_statuses"]["agent-registry"], agents, "{health}");
    for part in parts {
        assert_eq!(health["module_statuses"][part], "healthy", "{health}");
    }
}

#[tokio::test]
async fn sigterm_lets_a_running_stream_end() {
    for chat in Chat::ALL {
        let folder = tempfile::tempdir().unwrap();
        let upstream = with_upstream(folder.path(), UpstreamAction::HeldAfter(1), "");
        let mut process = Launch::new(folder.path()).start();
        let client = Client::new(&process.url).with(KEY);
        let mut events = chat.stream(&client, "alpha").await;
        events.wait_for("w0").await;
        process.signal("TERM");
        refuses_connections(&process.url).await;
        upstream.release_held();
        let output = chat.streamed(&mut events).await;
        assert!(output.done.is_some() && output.error.is_none() && events.whole, "{chat:?}: {output:?}");
        drop((events, client));
        assert_eq!(process.ended().code(), Some(0), "{chat:?}");
    }
}

#[tokio::test]
async fn what_does_not_end_is_cut_when_the_grace_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = with_upstream(folder.path(), UpstreamAction::Endless, "[server]\nshutdown_grace_seconds = 1\n");
    let mut process = Launch::new(folder.path()).start();
    let mut events = Chat::B.stream(&Client::new(&process.url).with(KEY), "alpha").await;
    events.wait_for("on and on").await;
    let begun = Instant::now();
    process.signal("TERM");
    // Read to the end, as by a client that waits for it.
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    assert!(last.is_some_and(|event| event.data != "[DONE]"), "a stream that was cut has no proper end");
    assert_eq!(process.ended().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    tokio::time::timeout(TEST_TIMEOUT, upstream.client_disconnected()).await.expect("the upstream is left too");
}

#[tokio::test]
async fn a_second_sigterm_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let _upstream =
        with_upstream(folder.path(), UpstreamAction::HeldAfter(1), "[server]\nshutdown_grace_seconds = 60\n");
    let mut process = Launch::new(folder.path()).start();
    let client = Client::new(&process.url).with(KEY);
    let key = client.make_key(&json!({ "name": "n", "scopes": ["chat"] })).await;
    let mut events = Chat::B.stream(&client, "alpha").await;
    events.wait_for("w0").await;
    let begun = Instant::now();
    process.signal("TERM");
    refuses_connections(&process.url).await;
    process.signal("TERM");
    assert_eq!(process.ended().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let process = Launch::new(folder.path()).start();
    assert_eq!(Client::new(&process.url).with(key).get("/v1/models").await.status, 200, "what was acknowledged stays");
}

#[tokio::test]
async fn a_key_that_was_acknowledged_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let mut keys = Vec::new();
    for round in 0..10 {
        let process = Launch::new(folder.path()).start();
        let client = Client::new(&process.url).with(KEY);
        for (made_in, key) in keys.iter().enumerate() {
            let status = client.with(key).get("/v1/models").await.status;
            assert_eq!(status, 200, "the key of round {made_in} in round {round}");
        }
        keys.push(client.make_key(&json!({ "name": "n", "scopes": ["chat"], "plan_b": "enterprise" })).await);
        process.kill();
    }
    let process = Launch::new(folder.path()).start();
    assert_eq!(Client::new(&process.url).with(&keys[9]).get("/v1/models").await.status, 200);
}

#[tokio::test]
async fn logs_for_machines_are_json_and_hold_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let _upstream = with_upstream(folder.path(), UpstreamAction::Answer(&["hello"]), "");
    let launch = Launch::new(folder.path()).with("MUSTER__LOG__FORMAT", "json").with("MUSTER__LOG__LEVEL", "trace");
    let mut process = launch.start();
    let client = Client::new(&process.url).with(KEY);
    let key = client.make_key(&json!({ "name": "n", "scopes": ["chat"] })).await;
    for chat in Chat::ALL {
        chat.post(&client.with(&key), "alpha").await;
    }
    client.with(format!("{key}x")).get("/v1/models").await;
    process.signal("TERM");
    process.rest();
    assert_eq!(process.ended().code(), Some(0));
    let log = process.log();
    let mut answered = 0;
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(line["level"].is_string() && line["timestamp"].is_string(), "{line}");
        answered += usize::from(line["message"] == "answered");
    }
    assert!(answered >= 5, "requests are logged: {log}");
    for secret in [&key[17..], &KEY[17..]] {
        assert!(!log.contains(secret), "a secret is in the log");
    }
}

/// Links and proofs of possession are bound to the URL of the server, so it must be set where others reach it.
#[tokio::test]
async fn an_address_that_others_reach_needs_the_public_url() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let message = refused(Launch::new(folder.path()).with_args(&["--listen", address]));
        for part in
            ["auth.public_url", address, "public_url = \"https://muster.example.org\"", "MUSTER__AUTH__PUBLIC_URL"]
        {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
    let settings = folder.path().join("config.toml");
    std::fs::write(&settings, "[server]\nlisten = \"0.0.0.0:0\"\n[llm]\nmodel = \"none\"\n").unwrap();
    let doctor = support::process::program(folder.path()).args(["doctor", "--json"]).output().unwrap();
    let text = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(text.contains("public URL") && text.contains("auth.public_url"), "{text}");

    let launch = Launch::new(folder.path()).with_args(&["--listen", "0.0.0.0:0"]);
    let process = launch.with("MUSTER__AUTH__PUBLIC_URL", "http://192.0.2.10:8080").start();
    let url = process.url.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(Client::new(&url).get("/api/health/live").await.status, 200);
}

/// Data files were readable by every user of the machine.
#[tokio::test]
async fn the_data_folder_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let exposed = || {
        let mut found = Vec::new();
        let mut left = vec![store.clone()];
        while let Some(path) = left.pop() {
            let meta = std::fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
            if meta.permissions().mode() & 0o077 != 0 {
                found.push((path, format!("{:o}", meta.permissions().mode())));
            }
        }
        found
    };
    let process = Launch::new(folder.path()).start();
    let client = Client::new(&process.url).with(support::KEY);
    client.make_key(&json!({ "name": "n", "scopes": ["chat"] })).await;
    let passphrase = json!({ "passphrase": "a long passphrase" });
    assert_eq!(client.post_request("/api/v1/admin/backup", &passphrase).send().await.unwrap().status(), 200);
    assert_eq!(exposed(), []);
    process.kill();

    let open = |path: &str, mode| {
        std::fs::set_permissions(store.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (path, mode) in [(".", 0o755), ("live", 0o755), ("live/db", 0o644), ("snapshots", 0o755), ("lock", 0o666)] {
        open(path, mode);
    }
    let doctor = || {
        let mut command = support::process::program(folder.path());
        command.args(["doctor", "--json", "--data"]).arg(&store).env("MUSTER__LLM__MODEL", "none");
        let findings: serde_json::Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let findings = findings["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|finding| finding["subject"] == "file permissions").unwrap()
    };
    let finding = doctor();
    assert_eq!(finding["ok"], false, "{finding}");
    assert!(finding["message"].as_str().unwrap().starts_with("5 files and folders"), "{finding}");
    assert!(finding["remedy"].as_str().unwrap().contains("chmod -R go="), "{finding}");
    drop(Launch::bare(folder.path()).start());
    assert_eq!(exposed(), []);
    assert_eq!(doctor()["ok"], true);
}

/// What an operator can do nothing about is no warning.
#[tokio::test]
async fn a_start_with_a_provider_warns_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    settings(
        folder,
        "[[provider]]\nid = \"one\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodels = [\"m\"]\n",
    );
    let process = Launch::new(folder).with("MUSTER__LLM__MODEL", "auto").with("MUSTER__LLM__CACHE", "none").start();
    let client = support::client::Client::new(&process.url);
    // Every module was probed, and the state of the model is known.
    let mut interval = tokio::time::interval(std::time::Duration::from_millis(50));
    let probed = async {
        while client.get("/api/health").await.text.contains("\"starting\"")
            || !process.log().contains("the embedded model is not installed")
        {
            interval.tick().await;
        }
    };
    tokio::time::timeout(support::client::TEST_TIMEOUT, probed).await.unwrap();
    let log = process.log();
    let complaints: Vec<_> = log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).collect();
    // Restrictions that this machine's kernel lacks are something that an operator can do something about.
    let complaints: Vec<_> = complaints.into_iter().filter(|line| !line.contains("sandbox")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
