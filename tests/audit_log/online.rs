//! A running server.

use crate::support;

use muster_core::audit::AuditRecord;
use muster_store::{Batch, Record, Tree, number_key};
use muster_tlog::{Checkpoint, Hash, TlogProof, VerifierKey, read_bundle, verify_consistency, verify_inclusion};
use serde_json::{Value, json};
use support::client::{Client, answer};
use support::server::Muster;
use support::socket::{Socket, admin_token};

const LOG: &str = "/api/v1/governance/audit";
const SETTINGS: &str =
    "[governance]\nname = \"muster.example.org\"\n[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n";

async fn get(client: &Client, path: &str) -> Value {
    let answer = client.get(&format!("{LOG}{path}")).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

async fn text(client: &Client, path: &str) -> String {
    let request = client.request(reqwest::Method::GET, &format!("{LOG}{path}")).header("accept", "text/plain");
    let answer = answer(request).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/plain"), "{path}");
    answer.text
}

async fn vkeys(client: &Client) -> Vec<VerifierKey> {
    let keys = get(client, "/keys").await;
    keys["keys"].as_array().unwrap().iter().map(|key| key.as_str().unwrap().parse().unwrap()).collect()
}

fn path_of(proof: &Value) -> Vec<Hash> {
    let hashes = proof["path"].as_array().unwrap().iter();
    hashes.map(|hash| Hash::from_base64(hash.as_str().unwrap()).unwrap()).collect()
}

#[tokio::test]
async fn an_act_is_found_shown_and_proven_by_what_nobody_here_has_to_be_trusted_for() {
    let muster = Muster::start(SETTINGS);
    let admin = muster.admin().await;
    muster.client().make_key(&json!({ "name": "ci", "scopes": ["chat"] })).await;
    let found = get(&admin, "?action=key_created&outcome=ok&limit=1").await;
    let entry = &found["entries"][0];
    let (seq, leaf) = (entry["seq"].as_u64().unwrap(), entry["leaf"].as_str().unwrap());
    assert_eq!(get(&admin, &format!("/{seq}")).await, *entry);
    assert_eq!(entry["details"]["name"], "ci");
    assert!(!leaf.contains("\"ci\""), "a leaf has identifiers only: {leaf}");
    assert_eq!(entry["entry"], serde_json::from_str::<Value>(leaf).unwrap());

    // The proof, as JSON and as a C2SP tlog-proof.
    let proof = get(&admin, &format!("/{seq}/proof")).await;
    let keys = vkeys(&admin).await;
    let origin = "muster.example.org/audit/1";
    let note = proof["checkpoint"].as_str().unwrap();
    let opened = Checkpoint::open(note.as_bytes(), origin, &keys).unwrap().checkpoint;
    assert_eq!(proof["size"], opened.size);
    let hash = Hash::of_leaf(leaf.as_bytes());
    assert_eq!(proof["leaf_hash"], hash.to_string());
    verify_inclusion(&hash, seq, opened.size, &path_of(&proof), &opened.root).unwrap();
    let tlog_proof = TlogProof::parse(text(&admin, &format!("/{seq}/proof")).await.as_bytes()).unwrap();
    tlog_proof.verify(&hash, origin, &keys).unwrap();
    let small = get(&admin, &format!("/{seq}/proof?size={}", seq + 1)).await;
    let earlier = Checkpoint::open(small["checkpoint"].as_str().unwrap().as_bytes(), origin, &keys).unwrap().checkpoint;
    assert_eq!(earlier.size, seq + 1);
    verify_inclusion(&hash, seq, earlier.size, &path_of(&small), &earlier.root).unwrap();

    let consistency = get(&admin, &format!("/consistency?from={}&to={}", earlier.size, opened.size)).await;
    let path = path_of(&consistency);
    verify_consistency(earlier.size, &earlier.root, opened.size, &opened.root, &path).unwrap();

    // The tiles.
    let newest = Checkpoint::open(text(&admin, "/log/checkpoint").await.as_bytes(), origin, &keys).unwrap().checkpoint;
    let width = newest.size;
    assert!(width < 256, "the rest of this test reads one partial tile");
    let bytes = async |path: &str| {
        let answer = answer(admin.request(reqwest::Method::GET, &format!("{LOG}{path}"))).await;
        assert_eq!(answer.status, 200, "{path}");
        answer
    };
    assert_eq!(bytes(&format!("/log/tile/0/000.p/{width}")).await.headers["content-length"], (width * 32).to_string());
    assert!(!bytes(&format!("/log/tile/entries/000.p/{width}")).await.text.is_empty());
    for path in ["/log/tile/0/000", "/log/tile/0/0", "/log/tile/9/000", "/log/tile/0/001", "/log/nothing"] {
        assert_eq!(admin.get(&format!("{LOG}{path}")).await.status, 404, "{path}");
    }
    let entries = muster.app.audit.resource(format!("tile/entries/000.p/{width}").parse().unwrap()).await.unwrap();
    let muster_audit::LogResource::Bytes { bytes, full: false } = entries else { panic!("no partial bundle") };
    assert_eq!(read_bundle(&bytes).unwrap()[usize::try_from(seq).unwrap()], leaf.as_bytes());

    for path in ["/99999999", "/x", "/01", "/-1"] {
        assert_eq!(admin.get(&format!("{LOG}{path}")).await.status, 404, "{path}");
    }
    for path in ["?outcome=maybe", "?limit=0", "?cursor=aud_1", "/0/proof?size=0", "/consistency?from=9&to=1"] {
        assert_eq!(admin.get(&format!("{LOG}{path}")).await.status, 422, "{path}");
    }
}

#[tokio::test]
async fn who_may_read_the_log_does_and_only_a_super_admin_erases() {
    let muster = Muster::start(SETTINGS);
    let admin = muster.admin().await;
    let auditor = muster.person("otto", "auditor").await;
    get(&auditor, "?limit=1").await;
    let body = json!({ "reason": "request of the person" });
    for role in ["viewer", "operator", "incident_commander", "admin", "approver"] {
        let refused = muster.person(role, role).await;
        for path in ["", "/0", "/0/proof", "/checkpoint", "/keys", "/log/checkpoint", "/export", "/consistency?from=0"]
        {
            assert_eq!(refused.get(&format!("{LOG}{path}")).await.status, 403, "{role} {path}");
        }
    }
    assert_eq!(muster.client().without_key().get(LOG).await.status, 401);
    let login = get(&admin, "?action=login&limit=1").await["entries"][0].clone();
    let erase = format!("{LOG}/{}/erase", login["seq"]);
    assert_eq!(auditor.post(&erase, &body).await.status, 403);
    assert_eq!(muster.client().post(&erase, &body).await.status, 401, "no key erases");
    assert_eq!(admin.post(&erase, &json!({ "reason": "" })).await.status, 422);
    let before = get(&admin, &format!("/{}/proof", login["seq"])).await;
    let erased = admin.post(&erase, &body).await;
    assert_eq!(erased.status, 200, "{}", erased.text);
    assert_eq!((&erased.json()["salt"], &erased.json()["details"]), (&Value::Null, &Value::Null));
    assert_eq!(erased.json()["leaf"], login["leaf"]);
    let size = &before["size"];
    let after = get(&admin, &format!("/{}/proof?size={size}", login["seq"])).await;
    assert_eq!((&after["path"], &after["leaf_hash"]), (&before["path"], &before["leaf_hash"]));
    assert_eq!(admin.post(&erase, &body).await.status, 409);
    let logged = get(&admin, "?action=audit.erase").await["entries"][0].clone();
    assert_eq!(logged["details"]["reason"], "request of the person");
}

#[tokio::test]
async fn what_auditors_read_is_logged_once_a_minute_and_what_others_read_is_not() {
    let muster = Muster::start(SETTINGS);
    let (admin, auditor) = (muster.admin().await, muster.person("otto", "auditor").await);
    for _ in 0..3 {
        assert_eq!(auditor.get("/api/v1/users").await.status, 200);
        assert_eq!(admin.get("/api/v1/users").await.status, 200);
        assert_eq!(get(&auditor, "?limit=1").await["entries"].as_array().unwrap().len(), 1);
    }
    // It is appended beside the requests.
    let entries = loop {
        let found = get(&admin, "?action=audited.read").await["entries"].as_array().unwrap().clone();
        if !found.is_empty() {
            break found;
        }
        tokio::task::yield_now().await;
    };
    let read: Vec<_> = entries.iter().map(|entry| entry["entry"]["resource"].as_str().unwrap()).collect();
    assert_eq!(read, ["GET /api/v1/users"], "{entries:?}");
}

#[tokio::test]
async fn settings_backups_and_refusals_are_logged() {
    let muster = Muster::start(SETTINGS);
    let admin = muster.admin().await;
    assert_eq!(admin.post("/api/v1/admin/reload", &Value::Null).await.status, 200);
    let backup = admin.post("/api/v1/admin/backup", &json!({ "passphrase": "a long sentence for this test" })).await;
    assert_eq!(backup.status, 200);
    assert_eq!(get(&admin, "?action=settings.reloaded").await["entries"].as_array().unwrap().len(), 1);
    assert_eq!(get(&admin, "?action=backup.created").await["entries"].as_array().unwrap().len(), 1);
    let viewer = muster.person("vera", "viewer").await;
    for _ in 0..5 {
        assert_eq!(viewer.get(LOG).await.status, 403);
        assert_eq!(viewer.without_key().get(LOG).await.status, 401);
    }
    // They are appended beside the requests.
    let refused = loop {
        let found = get(&admin, "?action=request.refused&outcome=refused").await["entries"].clone();
        if found.as_array().unwrap().len() >= 2 {
            break found;
        }
        tokio::task::yield_now().await;
    };
    let refused = refused.as_array().unwrap();
    assert_eq!(refused.len(), 2, "the first of each kind: {refused:?}");
    assert!(refused.iter().all(|entry| entry["entry"]["resource"] == format!("GET {LOG}")), "{refused:?}");
    let export = admin.get(&format!("{LOG}/export")).await;
    assert_eq!(export.status, 200);
    assert_eq!(get(&admin, "?action=audit.export").await["entries"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn checkpoints_and_alarms_are_events_for_auditors_and_a_planted_fault_is_red() {
    let muster = Muster::start(SETTINGS);
    let mut socket = Socket::connect(&muster, &admin_token(&muster).await).await;
    socket.subscribe(json!({ "ch": "governance" })).await;
    let viewer = muster.person("vera", "viewer").await;
    drop(viewer);
    let mut stranger = Socket::connect(&muster, &support::socket::token(&muster, "vera@example.org").await).await;
    let refused = stranger.request(json!({ "subscribe": { "ch": "governance" } })).await;
    assert!(refused.to_string().contains("audit:read"), "{refused}");
    let mut event = async |name: &str| loop {
        let frame = socket.frame().await.to_string();
        if frame.contains(name) {
            return frame;
        }
    };
    assert!(event("audit.checkpoint").await.contains("muster.example.org/audit/1"));
    // The planted fault: an entry is not the one that was logged.
    let store = muster_store::StoreHandle::clone(&muster.app.store);
    let record = store.record::<AuditRecord>(&number_key(0)).unwrap().unwrap();
    let altered = AuditRecord { leaf: record.leaf.replace("\"ok\"", "\"failed\""), ..record };
    store.commit(Batch::put(Tree::AuditLog, number_key(0), altered.encode().unwrap())).await.unwrap();
    assert!(event("audit.alarm").await.contains("entry 0"));
    let mut health = muster.app.health.changes();
    health.wait_for(|report| report.modules["audit-log"].status.name() == "unhealthy").await.unwrap();
}
