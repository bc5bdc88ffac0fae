//! Every kind of record that grants something is compared with the audit log before a backup is restored: what was written
//! past the server is found even if the server signed the backup afterwards.

use crate::support;

use std::path::Path;
use std::time::Duration;

use muster_auth::PrivateKey;
use muster_core::audit::AuditRecord;
use muster_store::{Batch, Options, Rec, Record, Scan, SledStore, Store, Tree};
use serde_json::{Value, json};
use support::client::{Client, TEST_TIMEOUT};
use support::process::{Launch, start};
use support::{EMAIL, KEY, PASSWORD};

use crate::backup::{back_up, copy, json_output, on, refused, restore};

const CHECKPOINT: &str = "/api/v1/governance/audit/checkpoint";

/// Hashing of passwords as cheap as it is permitted.
const QUICK: &str = "[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n";

/// The folder of a stopped server with a key, a person and a trust anchor, whose log was signed after them.
async fn instance() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, admin) = start(folder.path(), QUICK);
    admin.make_key(&json!({ "name": "to-edit", "scopes": ["chat"] })).await;
    let (person, _) = admin.login(EMAIL, PASSWORD).await;
    let release = PrivateKey::generate().unwrap();
    let body = json!({ "name": "release", "public_key": release.public().to_jwk() });
    assert_eq!(person.post("/api/v1/firmware/keys", &body).await.status, 201);
    let before = entries(&admin).await;
    until(async || admin.get(CHECKPOINT).await.json()["size"].as_u64() >= Some(before)).await;
    process.signal("TERM");
    process.ended();
    folder
}

/// Waits until a condition holds.
async fn until(condition: impl AsyncFn() -> bool) {
    let polling = async {
        let mut interval = tokio::time::interval(Duration::from_millis(50));
        while !condition().await {
            interval.tick().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, polling).await.expect("it did not come");
}

async fn entries(auditor: &Client) -> u64 {
    let newest = auditor.get("/api/v1/governance/audit?limit=1").await;
    newest.json()["entries"][0]["seq"].as_u64().unwrap() + 1
}

/// A change of a record, and what the refusal of its backup says.
struct Edit {
    name: &'static str,
    tree: Tree,
    change: fn(&[u8], &Rec) -> Option<Rec>,
    said: &'static str,
}

/// Changes a record in JSON that has a member with this value.
fn json_of(rec: &Rec, member: &str, value: &Value, change: fn(&mut Value)) -> Option<Rec> {
    let mut record: Value = serde_json::from_slice(&rec.bytes).ok()?;
    if record.get(member)? != value {
        return None;
    }
    change(&mut record);
    Some(Rec { schema: rec.schema, bytes: serde_json::to_vec(&record).unwrap() })
}

fn the_key(rec: &Rec, change: fn(&mut Value)) -> Option<Rec> {
    json_of(rec, "name", &json!("to-edit"), change)
}

fn the_person(rec: &Rec, change: fn(&mut Value)) -> Option<Rec> {
    json_of(rec, "email", &json!(EMAIL), change)
}

fn the_entry(rec: &Rec, change: fn(&mut AuditRecord)) -> Option<Rec> {
    let mut record = AuditRecord::decode(rec).ok()?;
    record.details.as_ref()?;
    change(&mut record);
    record.encode().ok()
}

/// What an attacker with the files would change.
const EDITS: [Edit; 12] = [
    Edit {
        name: "the secret of a key",
        tree: Tree::Keys,
        change: |_, rec| the_key(rec, |key| key["secret_sha256"] = Value::from(vec![0_u8; 32])),
        said: "says that it allows something else",
    },
    Edit {
        name: "the scopes of a key",
        tree: Tree::Keys,
        change: |_, rec| the_key(rec, |key| key["scopes"] = json!(["chat", "admin"])),
        said: "says that it allows something else",
    },
    Edit {
        name: "the roles of a key",
        tree: Tree::Keys,
        change: |_, rec| the_key(rec, |key| key["roles"] = json!(["super_admin"])),
        said: "says that it allows something else",
    },
    Edit {
        name: "the owner of a key",
        tree: Tree::Keys,
        change: |_, rec| the_key(rec, |key| key["owner"] = json!("usr_01M7ZC2GXH0005F7FKJW5QGHJ6")),
        said: "says that it allows something else",
    },
    Edit {
        name: "a key that nobody made",
        tree: Tree::Keys,
        change: |_, rec| the_key(rec, |key| key["id"] = json!("key_01M7ZC2GXH0005F7FKJW5QGHJ6")),
        said: "no entry of the audit log is about it",
    },
    Edit {
        name: "the password of a person",
        tree: Tree::Users,
        change: |_, rec| {
            the_person(rec, |person| {
                person["password"] = json!("$argon2id$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA");
            })
        },
        said: "says that it allows something else",
    },
    Edit {
        name: "the role of a person",
        tree: Tree::Users,
        change: |_, rec| the_person(rec, |person| person["role"] = json!("admin")),
        said: "says that it allows something else",
    },
    Edit {
        name: "a trust anchor",
        tree: Tree::Artifacts,
        change: |_, rec| json_of(rec, "name", &json!("release"), another_anchor),
        said: "says that it allows something else",
    },
    Edit {
        name: "the leaf of an entry",
        tree: Tree::AuditLog,
        change: |_, rec| {
            the_entry(rec, |entry| entry.leaf = entry.leaf.replace("\"outcome\":\"ok\"", "\"outcome\":\"failed\""))
        },
        said: "is not the one that was signed",
    },
    Edit {
        name: "a leaf that is none",
        tree: Tree::AuditLog,
        change: |_, rec| the_entry(rec, |entry| entry.leaf.push(' ')),
        said: "was altered",
    },
    Edit {
        name: "the details of an entry",
        tree: Tree::AuditLog,
        change: |_, rec| the_entry(rec, |entry| entry.details = Some("{\"name\":\"another\"}".to_owned())),
        said: "its details are not those that it commits to",
    },
    Edit {
        name: "the salt of an entry",
        tree: Tree::AuditLog,
        change: |_, rec| the_entry(rec, |entry| entry.salt = Some([7; 16])),
        said: "its details are not those that it commits to",
    },
];

/// The public key of RFC 8037, appendix A.2.
fn another_anchor(anchor: &mut Value) {
    anchor["x"] = json!("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
}

/// Changes one record in a stopped store, past everything that logs it. The store mends the checksums.
fn edit(folder: &Path, edit: &Edit) {
    let store = SledStore::open(Options::new(folder.join("store"))).unwrap().store;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let records = store.scan(edit.tree, &Scan { limit: 200, ..Scan::default() }).unwrap().items;
    let changed = records.into_iter().find_map(|(key, rec)| Some(((edit.change)(&key, &rec)?, key)));
    let (rec, key) = changed.unwrap_or_else(|| panic!("no record to edit: {}", edit.name));
    runtime.block_on(store.commit(Batch::put(edit.tree, key, rec))).unwrap();
    store.close();
}

#[tokio::test]
async fn a_record_that_was_changed_past_the_server_is_not_restored() {
    let source = instance().await;
    tokio::task::spawn_blocking(move || {
        let unchanged = source.path().join("unchanged.backup");
        back_up(source.path(), &unchanged);
        let there = tempfile::tempdir().unwrap();
        json_output(&restore(there.path(), &unchanged, &[]));
        for case in &EDITS {
            println!("{}", case.name);
            let folder = tempfile::tempdir().unwrap();
            copy(&source.path().join("store"), &folder.path().join("store"));
            edit(folder.path(), case);
            let file = folder.path().join("edited.backup");
            back_up(folder.path(), &file);
            let target = tempfile::tempdir().unwrap();
            let message = refused(&restore(target.path(), &file, &[]));
            assert!(
                message.contains(case.said) && message.contains("Nothing was restored"),
                "{}: {message}",
                case.name
            );
            assert!(!target.path().join("store/live").exists(), "{}", case.name);
            let verified = on(folder.path(), &["verify", "--json", file.to_str().unwrap()]);
            assert_eq!(verified.status.code(), Some(1), "{}", case.name);
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_restored_store_begins_the_next_generation_which_names_the_last_checkpoint() {
    let source = instance().await;
    let folder = tempfile::tempdir().unwrap();
    let file = source.path().join("muster.backup");
    let written = back_up(source.path(), &file);
    let origin = written["origin"].as_str().unwrap().to_owned();
    assert!(origin.ends_with("/audit/1"), "{origin}");
    json_output(&restore(folder.path(), &file, &[]));
    let process = Launch::bare(folder.path()).start();
    let auditor = Client::new(&process.url).with(KEY);
    until(async || {
        let signed = auditor.get(CHECKPOINT).await.json();
        signed["origin"].as_str().is_some_and(|origin| origin.ends_with("/audit/2"))
    })
    .await;
    let begun = auditor.get("/api/v1/governance/audit?action=log.generation_begun").await.json();
    let entry = &begun["entries"][0];
    assert!(entry["entry"]["resource"].as_str().unwrap().starts_with(&format!("{origin} size ")), "{begun}");
    assert_eq!(entry["details"]["cause"], "restored");
}
