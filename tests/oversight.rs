//! Oversight: the policy, spending with closes, controls, deploys, the summary, and the search index in health.

use crate::support;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, VerifyingKey};
use muster_core::Millis;
use muster_limits::ledger::{Attribution, Entry, Hold, Outcome};
use muster_memory::Usage as Stored;
use muster_providers::Usage;
use muster_store::{Batch, Record, SledStore, Store, Tree};
use reqwest::Method;
use serde_json::{Value, json};
use support::client::{Client, answer};
use support::process;
use support::server::Muster;

const SETTINGS: &str = "[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n";
const G: &str = "/api/v1/governance";
const READS: [&str; 7] =
    ["", "/policy", "/financials", "/compliance", "/compliance/AC-5", "/compliance/report", "/deploys"];

async fn read(client: &Client, path: &str) -> Value {
    let answer = client.get(&format!("{G}{path}")).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

/// Waits until a condition holds of what a route returns.
async fn until(client: &Client, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    let limit = tokio::time::Instant::now() + Duration::from_secs(120);
    loop {
        looks.tick().await;
        let found = client.get(path).await.json();
        if holds(&found) {
            return found;
        }
        assert!(tokio::time::Instant::now() < limit, "{path}: {found}");
    }
}

#[tokio::test]
async fn auditors_and_super_admins_read_all_of_it_and_nobody_else_does() {
    let muster = Muster::start(SETTINGS);
    let (admin, auditor) = (muster.admin().await, muster.person("otto", "auditor").await);
    let approver = muster.person("ada", "approver").await;
    let key = muster.client().make_key(&json!({ "name": "n", "scopes": ["chat"], "roles": ["auditor"] })).await;
    let plain = muster.client().make_key(&json!({ "name": "m", "scopes": ["admin", "chat"] })).await;
    for path in READS {
        for who in [&admin, &auditor, &muster.client().with(key.clone())] {
            read(who, path).await;
        }
        for who in [&approver, &muster.client().with(plain.clone())] {
            let refused = who.get(&format!("{G}{path}")).await;
            assert_eq!(refused.status, 403, "{path}: {}", refused.text);
        }
        assert_eq!(muster.client().without_key().get(&format!("{G}{path}")).await.status, 401);
    }
    assert_eq!(auditor.get(&format!("{G}/compliance/ZZ-9")).await.status, 404);
}

/// Only people replace the policy, with the role `super_admin`: keys have roles for reading.
#[tokio::test]
async fn the_policy_is_read_tried_and_replaced() {
    let muster = Muster::start(SETTINGS);
    let (admin, auditor) = (muster.admin().await, muster.person("otto", "auditor").await);
    let before = read(&auditor, "/policy").await;
    assert_eq!(before["quorum"], json!(["security", "operations"]));
    assert_eq!(
        (&before["source"], &before["like_file"], &before["version"]),
        (&json!("file"), &json!(true), &json!(1))
    );
    assert_eq!(
        before["in_force"]["firmware.rollout"],
        json!({ "risk": "high", "roles": ["security", "operations"], "over": 100 })
    );
    assert!(before["veto"].as_str().unwrap().contains("no-audit"));

    let check = async |body: &Value| auditor.post(&format!("{G}/policy/check"), body).await;
    let request = |blast: u64| json!({ "action": "firmware.rollout", "resource": "job_1", "blast": blast });
    let judged = check(&json!({ "request": request(20_000) })).await.json();
    assert_eq!(judged["rules"], json!([{ "rule": "blast", "hard": false }]));
    assert_eq!(judged["policy"], before["policy"]);
    let text = "@id(\"few\") @hard forbid (principal, action, resource) when { context.blast > 5 };";
    let judged = check(&json!({ "veto": text, "request": request(6) })).await.json();
    assert_eq!(judged["rules"], json!([{ "rule": "few", "hard": true }]));
    let judged = check(&json!({ "veto": text, "request": request(5) })).await.json();
    assert_eq!((&judged["vetoed"], &judged["rules"]), (&json!(false), &json!([])));
    let errs = "@id(\"sum\") forbid (principal, action, resource) when { context.blast + 9223372036854775807 < 0 };";
    let judged = check(&json!({ "veto": errs, "request": request(1) })).await.json();
    assert_eq!(judged["rules"], json!([{ "rule": "sum", "hard": false }]), "a rule that errs vetoes");
    let wrong = "forbid (principal, action, resource) when { context.blasts > 5 };";
    let refused = check(&json!({ "veto": wrong, "request": request(5) })).await;
    assert_eq!(
        (refused.status, &refused.json()["detail"][0]["loc"]),
        (422, &json!(["body", "veto"])),
        "{}",
        refused.text
    );

    let policy = json!({ "guards": { "tasks.kill": { "over": 7, "risk": "high" } }, "veto": text });
    let put = async |client: &Client, body: &Value| {
        let request = client.request(Method::PUT, &format!("{G}/policy"));
        answer(request.header("content-type", "application/json").body(body.to_string())).await
    };
    for (who, status) in [(&auditor, 403), (&muster.client(), 401), (&muster.client().without_key(), 401)] {
        let refused = put(who, &policy).await;
        assert!([status, 403].contains(&refused.status), "{}", refused.text);
    }
    for bad in [
        json!({ "veto": wrong }),
        json!({ "quorum": [] }),
        json!({ "quorum": ["finance"] }),
        json!({ "guards": { "all": {} } }),
        json!({ "guards": { "trust.add": { "over": 1 } } }),
        json!({ "guards": { "policy.change": { "roles": ["security"] } } }),
        json!({ "vetos": "" }),
    ] {
        let refused = put(&admin, &bad).await;
        assert_eq!(refused.status, 422, "{bad}: {}", refused.text);
    }
    assert_eq!(read(&auditor, "/policy").await, before);
    // There is no quorum yet: a super_admin does it at once.
    let changed = put(&admin, &policy).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let after = read(&auditor, "/policy").await;
    assert_eq!(after, changed.json());
    assert_eq!((&after["version"], &after["source"], &after["like_file"]), (&json!(2), &json!("store"), &json!(false)));
    assert_eq!(after["in_force"]["tasks.kill"]["over"], 7);
    assert_eq!(check(&json!({ "request": request(6) })).await.json()["rules"][0]["rule"], "few");
}

fn call(at: Millis, key: &'static str, owner: &'static str, model: &'static str, nanos: u64) -> Entry<'static> {
    Entry {
        at,
        key_id: key,
        attribution: Attribution { owner, ..Attribution::default() },
        model_id: model,
        outcome: Outcome::Ok,
        usage: Usage { prompt_tokens: 10, completion_tokens: 5, estimated: false },
        images: 0,
        cost_nanos: Some(nanos),
    }
}

#[tokio::test]
async fn spending_has_rows_budgets_and_closes_that_are_entries_of_the_log() {
    let muster = Muster::start(&format!("{SETTINGS}[budget]\nmodels = {{ \"m\" = 5.0 }}\n"));
    let auditor = muster.person("otto", "auditor").await;
    let body = json!({ "name": "n", "scopes": ["chat"], "budget_usd": 12.5 });
    muster.client().make_key(&body).await;
    let (now, day) = (muster.app.clock.now(), 86_400_000);
    let at = |days: u64| Millis(now.0 - days * day);
    let ledger = &muster.app.ledger;
    for (entry, hold) in [
        (call(at(2), "key_1", "ann", "m", 1_500_000_000), Hold::none()),
        (call(at(2), "key_2", "bob", "m", 250_000_000), Hold::none()),
        (call(at(1), "key_1", "ann", "n", 7), Hold::none()),
        (call(at(0), "key_1", "ann", "m", 1), Hold::none()),
    ] {
        ledger.post(&entry, hold);
    }
    let by = async |group: &str| read(&auditor, &format!("/financials?group_by={group}")).await;
    let nanos = |found: &Value, name: &str| -> Vec<(String, u64)> {
        let rows = found["rows"].as_array().unwrap().iter();
        rows.map(|row| (row[name].as_str().unwrap_or_default().to_owned(), row["nanos"].as_u64().unwrap())).collect()
    };
    let named = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
        pairs.iter().map(|(name, nanos)| ((*name).to_owned(), *nanos)).collect()
    };
    assert_eq!(nanos(&by("key").await, "key_id"), named(&[("key_1", 1_500_000_008), ("key_2", 250_000_000)]));
    assert_eq!(nanos(&by("owner").await, "owner"), named(&[("ann", 1_500_000_008), ("bob", 250_000_000)]));
    assert_eq!(nanos(&by("model").await, "model"), named(&[("m", 1_750_000_001), ("n", 7)]));
    let days = by("day").await;
    assert_eq!(days["rows"].as_array().unwrap().len(), 3);
    assert_eq!(by("key,model").await["rows"].as_array().unwrap().len(), 3);
    let months: u64 = nanos(&by("month").await, "month").iter().map(|(_, nanos)| nanos).sum();
    assert_eq!((months, days["total_nanos"].as_u64()), (1_750_000_008, Some(1_750_000_008)));
    // The total is that of usage.
    let usage = muster.client().get("/api/v1/usage?key=all").await.json();
    assert_eq!(usage["total"], days["total"]);
    let budgets = days["budgets"].as_array().unwrap();
    let of = |kind: &str| budgets.iter().find(|budget| budget["kind"] == kind).unwrap();
    assert_eq!((&of("key")["limit_usd"], &of("model")["limit_usd"]), (&json!(12.5), &json!(5.0)));
    for query in ["group_by=team", "group_by=day,month", "group_by=key,owner", "from=2026-02-30", "from=2999-01-01"] {
        assert_eq!(auditor.get(&format!("{G}/financials?{query}")).await.status, 422, "{query}");
    }
    assert_eq!(days["closes"], json!([]));
    // A server that runs around midnight closes yesterday ten minutes later only.
    muster.app.oversight.closes.close_due().await.unwrap();
    let closes = by("day").await["closes"].as_array().unwrap().clone();
    assert!(!closes.is_empty(), "two days are over");
    assert_eq!(
        (&closes[0]["nanos"], &closes[0]["rows"], &closes[0]["matches"]),
        (&json!(1_750_000_000), &json!(2), &json!(true))
    );
    for close in &closes {
        let entry = muster.app.audit.entry(close["seq"].as_u64().unwrap()).await.unwrap().entry;
        assert_eq!((entry.action.as_str(), entry.resource.as_str()), ("ledger.close", close["day"].as_str().unwrap()));
        assert_eq!((&entry.details["nanos"], &entry.details["sha256"]), (&close["nanos"], &close["sha256"]));
    }
    // What is booked on a closed day later shows.
    ledger.post(&call(at(2), "key_3", "", "m", 1), Hold::none());
    let closes = by("day").await["closes"].as_array().unwrap().clone();
    assert_eq!((&closes[0]["matches"], &closes[0]["nanos"]), (&json!(false), &json!(1_750_000_000)));
}

#[tokio::test]
async fn a_fresh_server_passes_no_control_and_its_report_is_signed() {
    let muster = Muster::start(SETTINGS);
    let auditor = muster.person("otto", "auditor").await;
    let controls = read(&auditor, "/compliance").await["controls"].as_array().unwrap().clone();
    assert!(controls.len() >= 20);
    for control in &controls {
        assert_ne!(control["status"], "pass", "{control}");
        assert!(!control["why"].as_str().unwrap().is_empty() && control["frameworks"].as_array().unwrap().len() > 1);
    }
    let id = controls[0]["id"].as_str().unwrap();
    assert_eq!(read(&auditor, &format!("/compliance/{id}")).await["title"], controls[0]["title"]);
    // An act is evidence from then on.
    let key = muster.client().post("/api/v1/keys", &json!({ "name": "n", "scopes": ["chat"] })).await.json();
    let revoked = muster.client().delete(&format!("/api/v1/keys/{}", key["id"].as_str().unwrap())).await;
    assert!(revoked.status < 300, "{}", revoked.text);
    // As soon as its module of health was probed.
    let rotated = until(&auditor, &format!("{G}/compliance/IA-5"), |control| control["status"] == "pass").await;
    let evidence = &rotated["evidence"][0];
    assert_eq!((&evidence["kind"], &evidence["count"]), (&json!("audit"), &json!(1)));
    let entry = muster.app.audit.entry(evidence["last_seq"].as_u64().unwrap()).await.unwrap().entry;
    assert_eq!((entry.action.as_str(), evidence["first_seq"].as_u64()), ("key_revoked", evidence["last_seq"].as_u64()));

    let signed = read(&auditor, "/compliance/report").await;
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(signed["signature"][name].as_str().unwrap()).unwrap();
    let key = VerifyingKey::from_bytes(&bytes("public_key").try_into().unwrap()).unwrap();
    let verifies = |report: &Value| {
        let text = muster_tlog::canonical::to_canonical(report).unwrap();
        let message = [b"muster.compliance.v1\0", text.as_bytes()].concat();
        key.verify_strict(&message, &Signature::from_slice(&bytes("signature")).unwrap()).is_ok()
    };
    assert!(verifies(&signed["report"]));
    let mut altered = signed["report"].clone();
    altered["controls"][0]["status"] = json!("pass");
    assert!(!verifies(&altered));
    assert!(muster.app.audit.vkeys().unwrap().iter().any(|vkey| vkey.key_bytes() == &key.to_bytes()));
}

#[tokio::test]
async fn deploys_are_recorded_with_their_end() {
    let folder = tempfile::tempdir().unwrap();
    let list = async |client: &Client, count: usize| {
        let path = format!("{G}/deploys");
        let found =
            until(client, &path, |found| found["deploys"].as_array().is_some_and(|all| all.len() == count)).await;
        found["deploys"].as_array().unwrap().clone()
    };
    let (mut server, client) = process::start(folder.path(), SETTINGS);
    let first = list(&client, 1).await;
    let program = std::fs::read(env!("CARGO_BIN_EXE_muster")).unwrap();
    let hash: String =
        <sha2::Sha256 as sha2::Digest>::digest(program).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        (&first[0]["binary_sha256"], &first[0]["end"], &first[0]["previous"]),
        (&json!(hash), &json!(null), &json!(null))
    );
    assert_eq!(first[0]["version"], env!("CARGO_PKG_VERSION"));
    // Other settings, by a reload.
    std::fs::write(folder.path().join("config.toml"), format!("{SETTINGS}[governance]\nfreeze = true\n")).unwrap();
    let reloaded = client.post("/api/v1/admin/reload", &json!({})).await;
    assert_eq!(
        (reloaded.status, &reloaded.json()["reloaded"]),
        (200, &json!(["governance.freeze"])),
        "{}",
        reloaded.text
    );
    let two = list(&client, 2).await;
    assert_eq!((&two[0]["previous"], &two[1]["end"]), (&first[0]["id"], &json!("clean")));
    assert_ne!(two[0]["config_sha256"], two[1]["config_sha256"]);
    // Stopped in order, the same program with the same settings goes on.
    server.signal("TERM");
    server.ended();
    let (server, client) = process::start(folder.path(), &format!("{SETTINGS}[governance]\nfreeze = true\n"));
    until(&client, &format!("{G}/deploys"), |found| found["deploys"][0]["end"].is_null()).await;
    assert_eq!(list(&client, 2).await[0]["id"], two[0]["id"]);
    // Killed, it ended.
    server.kill();
    let (_server, client) = process::start(folder.path(), &format!("{SETTINGS}[governance]\nfreeze = true\n"));
    let three = list(&client, 3).await;
    assert_eq!((&three[1]["id"], &three[1]["end"]), (&two[0]["id"], &json!("killed")));
    let summary = client.get(G).await.json();
    assert_eq!(summary["deploys"][0]["id"], three[0]["id"]);
}

#[tokio::test]
async fn the_summary_has_every_part() {
    let muster = Muster::start(SETTINGS);
    let auditor = muster.person("otto", "auditor").await;
    let now = muster.app.clock.now();
    muster.app.ledger.post(&call(now, "key_1", "ann", "m", 2_500_000_000), Hold::none());
    let summary = until(&auditor, G, |summary| summary["audit"]["size"].as_u64().is_some_and(|size| size > 0)).await;
    assert_eq!(summary["constituted"], false);
    assert_eq!(summary["approvals"]["pending"], json!({ "low": 0, "medium": 0, "high": 0, "critical": 0 }));
    assert_eq!(summary["financials"]["spent_usd"], 2.5);
    assert_eq!(summary["compliance"]["pass"], 0);
    assert!(summary["compliance"]["no_evidence"].as_u64().unwrap() > 0);
    assert!(summary["server"].as_str().unwrap().starts_with("ins_"));
    assert!(summary["audit"]["origin"].as_str().unwrap().contains("/audit/"));
}

/// Three entries that the index does not know: the count of the store says so.
#[tokio::test]
async fn health_reports_an_index_that_lacks_what_the_store_has() {
    let muster = Muster::start(SETTINGS);
    let status = |report: &Value| report.pointer("/module_statuses/search-index").cloned();
    until(&muster.client(), "/api/health", |report| status(report) == Some(json!("healthy"))).await;
    let data = muster.stop();
    let options = muster_store::Options::new(data.path().join("store"));
    let opened = SledStore::open(options).unwrap();
    let planted = Stored { entries: 3, versions: 0, bytes: 30 }.encode().unwrap();
    opened.store.commit(Batch::put(Tree::MemoryIds, b"n/usr_ghost\0".to_vec(), planted)).await.unwrap();
    opened.store.close();
    drop(opened);
    let muster = Muster::start_in(data, SETTINGS);
    let report = until(&muster.client(), "/api/health", |report| status(report) == Some(json!("degraded"))).await;
    let problem = report["problems"]["search-index"].as_str().unwrap();
    assert!(problem.starts_with("the index has 0 entries, the store 3"), "{problem}");
}
