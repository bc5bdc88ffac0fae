//! The program: crashes, copies of the data folder, the command line.

use crate::support;

use std::path::Path;
use std::process::Output;

use muster_core::Millis;
use muster_core::audit::OldAuditEntry;
use muster_store::{Batch, Options, PageRequest, Record, SledStore, StoreHandle, Tree};
use serde_json::{Value, json};
use support::client::Client;
use support::process::{Launch, program, start};

const LOG: &str = "/api/v1/governance/audit";
const SETTINGS: &str =
    "[governance]\nname = \"muster.example.org\"\n[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n";

fn audit(folder: &Path, args: &[&str]) -> Output {
    program(folder).arg("audit").args(args).output().unwrap()
}

fn verdict(folder: &Path, args: &[&str]) -> (String, Option<i32>) {
    let output = audit(folder, &[&["verify"], args].concat());
    assert!(!output.stdout.is_empty(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap().trim().to_owned(), output.status.code())
}

fn verified(folder: &Path) -> (String, Option<i32>) {
    verdict(folder, &["--data", folder.join("store").to_str().unwrap()])
}

fn open(folder: &Path) -> StoreHandle {
    SledStore::open(Options::new(folder.join("store"))).unwrap().store
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::set_permissions(to, std::fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { std::fs::copy(&path, &target).map(drop).unwrap() }
    }
}

async fn make_keys(client: &Client, count: usize) {
    for _ in 0..count {
        client.make_key(&json!({ "name": "n", "scopes": ["chat"] })).await;
    }
}

#[tokio::test]
async fn after_kill_9_every_acknowledged_act_has_its_entry_and_the_log_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = 1;
    for round in 0..5 {
        let (server, client) = start(folder.path(), SETTINGS);
        let burst = (0..4).map(|_| make_keys(&client, 3 + round));
        futures::future::join_all(burst).await;
        made += 4 * (3 + round);
        server.kill();
        let (said, code) = verified(folder.path());
        assert!(said.starts_with("ok: "), "round {round}: {said}");
        assert_eq!(code, Some(0));
        let store = open(folder.path());
        let records = store.records::<muster_core::audit::AuditRecord>([], PageRequest::default()).values();
        let created = records.filter(|record| record.as_ref().unwrap().leaf().unwrap().action == "key_created").count();
        assert_eq!(created, made, "round {round}");
    }
}

#[tokio::test]
async fn an_old_copy_of_the_store_is_refused_and_accepted_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, client) = start(folder.path(), SETTINGS);
    make_keys(&client, 3).await;
    server.signal("TERM");
    server.ended();
    let (store, old) = (folder.path().join("store"), folder.path().join("old"));
    copy(&store.join("live"), &old);
    let mut server = Launch::new(folder.path()).start();
    let client = client.at(&server.url);
    make_keys(&client, 5).await;
    // The checkpoint of the new entries is in the file beside the store.
    let proof = client.get(&format!("{LOG}?action=key_created&limit=1")).await.json();
    let seq = &proof["entries"][0]["seq"];
    assert_eq!(client.get(&format!("{LOG}/{seq}/proof")).await.status, 200);
    server.signal("TERM");
    server.ended();
    std::fs::remove_dir_all(store.join("live")).unwrap();
    copy(&old, &store.join("live"));

    let (said, code) = verified(folder.path());
    assert!(said.starts_with("tail missing: "), "{said}");
    assert_eq!(code, Some(1));
    let (code, refused) = Launch::new(folder.path()).fail();
    assert_eq!(code, Some(1));
    assert!(refused.contains("rolled back") && refused.contains("--accept-rollback"), "{refused}");
    let mut server = Launch::new(folder.path()).with_args(&["--accept-rollback", "disk replaced, ticket 9"]).start();
    let client = client.at(&server.url);
    let begun = client.get(&format!("{LOG}?action=log.generation_begun")).await.json();
    let begun = &begun["entries"][0];
    assert_eq!(begun["details"]["reason"], "disk replaced, ticket 9");
    assert!(begun["entry"]["resource"].as_str().unwrap().starts_with("muster.example.org/audit/1 size "), "{begun}");
    let checkpoint = client.get(&format!("{LOG}/checkpoint")).await.json();
    assert_eq!(checkpoint["origin"], "muster.example.org/audit/2");
    server.signal("TERM");
    server.ended();
    assert!(verified(folder.path()).0.starts_with("ok: "));
}

#[tokio::test]
async fn each_alteration_of_a_data_folder_has_its_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, client) = start(folder.path(), SETTINGS);
    make_keys(&client, 3).await;
    assert_eq!(client.get(&format!("{LOG}/checkpoint")).await.status, 200);
    let key = client.get("/api/v1/keys").await.json()["keys"][0]["id"].as_str().unwrap().to_owned();
    let export = client.get(&format!("{LOG}/export")).await.text;
    let vkey = client.get(&format!("{LOG}/keys")).await.json()["keys"][0].as_str().unwrap().to_owned();
    server.signal("TERM");
    server.ended();
    assert!(verified(folder.path()).0.starts_with("ok: "));
    std::fs::write(folder.path().join("export.ndjson"), &export).unwrap();
    assert!(verdict(folder.path(), &["export.ndjson", "--vkey", &vkey]).0.starts_with("ok: "));
    assert!(verdict(folder.path(), &["export.ndjson", "--unsigned"]).0.ends_with("SIGNATURE NOT CHECKED"));
    let usage = audit(folder.path(), &["verify", "export.ndjson"]);
    assert_eq!((usage.status.code(), usage.stdout.len()), (Some(2), 0));

    // A record is given more than its entry says, with a good checksum.
    let altered = tempfile::tempdir().unwrap();
    copy(folder.path(), altered.path());
    let store = open(altered.path());
    let (name, mut rec) =
        store.entries(Tree::Keys, key.as_bytes().to_vec(), PageRequest::default()).next().unwrap().unwrap();
    let mut record: Value = serde_json::from_slice(&rec.bytes).unwrap();
    record["scopes"] = json!(["admin", "chat"]);
    rec.bytes = serde_json::to_vec(&record).unwrap();
    store.commit(Batch::put(Tree::Keys, name, rec)).await.unwrap();
    drop(store);
    let (said, code) = verified(altered.path());
    assert!(said.starts_with("record differs from its entry: ") && said.contains(&key), "{said}");
    assert_eq!(code, Some(1));

    // A leaf, with a good checksum.
    let altered = tempfile::tempdir().unwrap();
    copy(folder.path(), altered.path());
    let store = open(altered.path());
    let key = muster_store::number_key(2);
    let record = store.record::<muster_core::audit::AuditRecord>(&key).unwrap().unwrap();
    let forged = muster_core::audit::AuditRecord { leaf: record.leaf.replace("\"ok\"", "\"failed\""), ..record };
    store.commit(Batch::put(Tree::AuditLog, key, forged.encode().unwrap())).await.unwrap();
    drop(store);
    let (said, code) = verified(altered.path());
    assert!(said.starts_with("root mismatch: ") || said.starts_with("altered at 2: "), "{said}");
    assert_eq!(code, Some(1));
    let (_, refused) = Launch::new(altered.path()).fail();
    assert!(refused.contains("another root"), "{refused}");

    // A checkpoint that nobody here signed.
    let altered = tempfile::tempdir().unwrap();
    copy(folder.path(), altered.path());
    let file = altered.path().join("store/audit/checkpoints");
    let lines = std::fs::read_to_string(&file).unwrap();
    let (before, last) = lines.trim_end().rsplit_once('\n').unwrap_or(("", lines.trim_end()));
    let size = last.split("audit/1\\n").nth(1).unwrap().split("\\n").next().unwrap();
    let forged = last.replace(&format!("audit/1\\n{size}\\n"), "audit/1\\n1\\n");
    std::fs::write(&file, format!("{before}\n{forged}\n").trim_start()).unwrap();
    let (said, _) = verified(altered.path());
    assert!(said.starts_with("bad signature: "), "{said}");
}

#[tokio::test]
async fn a_rotated_key_is_announced_by_the_command_line_and_signs_after_a_reload() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, client) = start(folder.path(), SETTINGS);
    let data = folder.path().join("store");
    let output = audit(folder.path(), &["rotate-key", "--data", data.to_str().unwrap(), "--json"]);
    assert!(output.status.success(), "{output:?}");
    let again = audit(folder.path(), &["rotate-key", "--data", data.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(1), "the first one is not complete");
    assert_eq!(client.post("/api/v1/admin/reload", &Value::Null).await.status, 200);
    let both = loop {
        let keys = client.get(&format!("{LOG}/keys")).await.json();
        if keys["keys"].as_array().unwrap().len() == 2 {
            break keys;
        }
        make_keys(&client, 1).await;
    };
    let named = client.get(&format!("{LOG}?action=log.key_added")).await.json();
    assert_eq!(named["entries"][0]["entry"]["resource"], both["keys"][0]);
    server.signal("TERM");
    server.ended();
    assert!(verified(folder.path()).0.starts_with("ok: "));
}

#[tokio::test]
async fn a_watch_keeps_the_checkpoint_and_notices_two_histories() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = start(folder.path(), SETTINGS);
    make_keys(&client, 1).await;
    let watch = |url: &str, keep: &str| {
        let mut command = program(folder.path());
        command.args(["audit", "watch", "--once", "--server", url, "--keep", keep]);
        let output = command.env("MUSTER_API_KEY", support::KEY).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (said, code, error) = watch(&server.url, "kept.txt");
    assert!(said.starts_with("ok: ") && code == Some(0), "{said}{error}");
    make_keys(&client, 2).await;
    let (said, code, _) = watch(&server.url, "kept.txt");
    assert!(said.starts_with("ok: ") && code == Some(0), "{said}");
    // A checkpoint that was kept and is not of this history.
    let kept = std::fs::read_to_string(folder.path().join("kept.txt")).unwrap();
    let root = kept.lines().nth(2).unwrap();
    std::fs::write(
        folder.path().join("forged.txt"),
        kept.replace(root, "ipgbVRHzl1UEZ648CS6WyZDRWJ/KHhcEPuUBa+oe8sE="),
    )
    .unwrap();
    let (said, code, _) = watch(&server.url, "forged.txt");
    assert!(said.starts_with("bad signature: ") && code == Some(1), "{said}");
}

#[tokio::test]
async fn entries_of_an_earlier_version_are_moved_into_the_log_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, _) = start(folder.path(), SETTINGS);
    server.signal("TERM");
    server.ended();
    // The data folder of a version before the log: entries in their own tree, records without entries.
    let store = open(folder.path());
    let before = folder.path().join("before");
    {
        let old: StoreHandle = SledStore::open(Options::new(before.join("store"))).unwrap().store;
        for tree in [Tree::Keys, Tree::Users] {
            for found in store.entries(tree, [], PageRequest::default()) {
                let (key, rec) = found.unwrap();
                old.commit(Batch::put(tree, key, rec)).await.unwrap();
            }
        }
        for number in 0..600_u64 {
            let entry = OldAuditEntry {
                id: format!("aud_{number:026}"),
                at: Millis(1_700_000_000_000 + number),
                actor: "usr_old".to_owned(),
                action: "login".to_owned(),
                resource: format!("ses_{number}"),
                details: json!({ "ip": "192.0.2.1" }),
            };
            old.commit(Batch::put(Tree::Audit, entry.id.clone(), entry.encode().unwrap())).await.unwrap();
        }
    }
    drop(store);
    std::fs::copy(folder.path().join("config.toml"), before.join("config.toml")).unwrap();
    for _ in 0..2 {
        let mut server = Launch::new(&before).start();
        let client = Client::new(&server.url).with(support::KEY);
        let imported = client.get(&format!("{LOG}?action=audit.imported")).await.json();
        assert_eq!(imported["entries"].as_array().unwrap().len(), 1);
        assert_eq!(imported["entries"][0]["details"]["count"], 600);
        let first = client.get(&format!("{LOG}/1")).await.json();
        assert_eq!((&first["entry"]["resource"], &first["entry"]["via"]), (&json!("ses_0"), &json!("import")));
        assert_eq!(first["details"]["ip"], "192.0.2.1");
        let old_route = client.get("/api/v1/audit?actor=usr_old&limit=1").await.json();
        assert_eq!(old_route["entries"][0]["id"], format!("aud_{:026}", 599));
        let recorded = client.get(&format!("{LOG}?action=state.recorded")).await.json();
        assert_eq!(recorded["entries"].as_array().unwrap().len(), 2, "the key and the person: {recorded}");
        server.signal("TERM");
        server.ended();
        assert!(verified(&before).0.starts_with("ok: "), "{:?}", verified(&before));
    }
    assert_eq!(open(&before).entries(Tree::Audit, [], PageRequest::default()).count(), 0);
}
