//! `muster approvals`, and the health module.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use muster_auth::PrivateKey;
use muster_store::{Batch, Rec, Store, Tree};
use serde_json::{Value, json};

use super::council::{APPROVALS, Council, Person, SETTINGS};
use super::{KEYS, admin_key};
use crate::support::PASSWORD;
use crate::support::process::{program, start};
use crate::support::server::Muster;
use crate::support::socket::wait_until;

/// Runs the program with these arguments and standard input, with `folder` as its home.
fn muster(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut command = program(folder);
    command.env("XDG_CONFIG_HOME", folder.join("settings")).env_remove("HTTP_PROXY").env_remove("http_proxy");
    command.env("NO_PROXY", "127.0.0.1").args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[tokio::test]
async fn a_decider_reads_checks_and_signs_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let (process, client) = start(folder.path(), SETTINGS);
    let admin = Person::admin(&client).await;
    let mut security = admin.make("sec", "super_admin").await;
    let run = |args: &[&str], input: &str| muster(folder.path(), args, input);
    let login = run(&["login", "--server", &process.url, "--email", &security.email], &format!("{PASSWORD}\n"));
    assert!(login.status.success(), "{}", output_text(&login));
    // The key of the login is the decider's.
    let file = std::fs::read_to_string(folder.path().join("settings/muster/device-key.json")).unwrap();
    security.key = PrivateKey::from_jwk(&serde_json::from_str(&file).unwrap()).unwrap();
    let operations = admin.make("ops", "super_admin").await;
    let requester = admin.make("req", "super_admin").await;
    for (person, role) in [(&security, "security"), (&operations, "operations")] {
        assert_eq!(person.enrol(&[role]).await.status, 201);
    }
    let council = Council { admin, security, operations, requester };
    let id = council.requester.ask(KEYS, &admin_key("by-cli")).await;
    let listed = run(&["approvals", "list", "--state", "pending", "--json"], "");
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["approvals"][0]["id"], *id, "{listed}");
    let shown = output_text(&run(&["approvals", "show", &id], ""));
    for part in ["key.grant", "by-cli", "\"scopes\"", "pending"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let declined = run(&["approvals", "approve", &id, "--role", "security"], "no\n");
    assert_eq!((declined.status.code(), output_text(&declined).contains("nothing was signed")), (Some(1), true));
    let wrong = run(&["approvals", "approve", &id, "--role", "operations", "--yes"], "");
    assert_eq!(wrong.status.code(), Some(1), "{}", output_text(&wrong));
    assert!(output_text(&wrong).contains("ROLE_NOT_HELD"), "{}", output_text(&wrong));
    let approved = run(&["approvals", "approve", &id, "--role", "security", "--yes", "--json"], "");
    assert!(approved.status.success(), "{}", output_text(&approved));
    let approved: Value = serde_json::from_slice(&approved.stdout).unwrap();
    assert_eq!(approved["decisions"][0]["kid"], council.security.key.public().thumbprint());
    assert_eq!(council.operations.decide(&id, "approve", "operations").await.status, 200);
    assert_eq!(council.requester.execute(KEYS, &admin_key("by-cli"), &id).await.status, 201);

    let id = council.requester.ask(KEYS, &admin_key("rejected")).await;
    let rejected = run(&["approvals", "reject", &id, "--role", "security", "--comment", "no", "--yes", "--json"], "");
    let rejected: Value = serde_json::from_slice(&rejected.stdout).unwrap();
    assert_eq!(rejected["state"], "rejected");
    assert_eq!(run(&["approvals", "approve", "x"], "").status.code(), Some(2), "a usage error");
    assert!(output_text(&run(&["approvals", "--help"], "")).contains("muster approvals approve"));
}

#[tokio::test]
async fn an_overdue_review_degrades_the_module() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    let id = council.requester.ask(KEYS, &admin_key("urgent")).await;
    for person in [&council.security, &council.operations] {
        assert_eq!(person.break_glass(&id).await.status, 200);
    }
    let data = muster.stop();
    // The review was due a minute ago.
    let store = muster_store::SledStore::open(muster_store::Options::new(data.path().join("store"))).unwrap().store;
    let rec = store.get(Tree::Approvals, id.as_bytes()).unwrap().unwrap();
    let mut record: Value = serde_json::from_slice(&rec.bytes).unwrap();
    record["break_glass"]["review_due_at"] = json!("2020-01-01T00:00:00.000Z");
    let rec = Rec { schema: rec.schema, bytes: serde_json::to_vec(&record).unwrap() };
    store.commit(Batch::put(Tree::Approvals, id.as_bytes(), rec)).await.unwrap();
    store.close();
    drop(store);
    let muster = Muster::start_in(data, SETTINGS);
    let probed = || muster.app.health.report().modules["governance"].status.name() != "starting";
    wait_until("governance is probed", probed).await;
    let report = muster.client().get("/api/health").await.json();
    assert_eq!(report["module_statuses"]["governance"], "degraded", "{report}");
    assert!(report["problems"]["governance"].as_str().unwrap().contains("overdue"), "{report}");
    let reviewer = Person::admin(&muster.client()).await;
    let got = reviewer.client.post(&format!("{APPROVALS}/{id}/review"), &json!({ "comment": "late" })).await;
    assert!(matches!(got.status, 200 | 403), "{}", got.text);
}
