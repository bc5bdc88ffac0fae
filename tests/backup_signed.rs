//! Backups that are signed, and encrypted to recipients: whose are restored, who can read them, and what a restore ends.

use crate::support;

use std::fs;
use std::path::Path;

use muster_seal::{AgeIdentity, AgeReader};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::client::Client;
use support::process::{Launch, program};
use support::{EMAIL, KEY, PASSWORD};

use crate::backup::{back_up, backed_up, json_output, make_key, names, on, refused, restore, with_passphrase};

const PATH: &str = "/api/v1/admin/backup";

/// The key that signs for a folder's instance, as `muster backup` prints it.
fn vkey(file: &Path) -> String {
    fs::read_to_string(file.with_extension("vkey")).unwrap()
}

#[test]
fn a_signer_that_is_not_known_is_refused_until_its_key_or_its_instance_is_named() {
    let (source, file) = backed_up("one");
    let folder = tempfile::tempdir().unwrap();
    let from = ["restore", "--json", "--from", file.to_str().unwrap()];
    let with = |more: &[&str]| on(folder.path(), &[&from, more].concat());

    let unknown = refused(&with(&[]));
    let key = vkey(&file);
    for part in [key.as_str(), "--vkey", "--unsigned", "signing/"] {
        assert!(unknown.contains(part), "{part}: {unknown}");
    }
    let (_second, other) = backed_up("two");
    assert!(refused(&with(&["--vkey", &vkey(&other)])).contains("not known here"));
    assert_eq!(with(&["--vkey", "nonsense"]).status.code(), Some(2));
    let name = key.split_once("/audit/").unwrap().0;
    assert!(name.starts_with("ins_"), "the name of an instance is its identifier unless the settings name it: {key}");
    assert!(
        refused(&with(&["--unsigned"])).contains(&format!("--unsigned {name}")),
        "without a terminal nobody is asked"
    );
    let other = refused(&with(&["--unsigned", "other.example.org"]));
    assert!(other.contains(&format!("the instance of this backup is {name}")), "{other}");
    assert!(!folder.path().join("store/live").exists(), "nothing was restored so far");

    let restored = json_output(&with(&["--vkey", &key]));
    assert_eq!((&restored["backup"]["vkeys"][0], &restored["sessions"]), (&json!(key), &json!("ended")));
    assert_eq!(names(folder.path()), ["one"]);
    json_output(&with(&["--unsigned", name, "--force"]));
    // Over the instance that made it, no key has to be named.
    let again = ["restore", "--force", "--from", file.to_str().unwrap()];
    assert!(on(source.path(), &again).status.success());
}

#[test]
fn the_keys_stay_with_the_machine() {
    let (source, file) = backed_up("one");
    let folder = tempfile::tempdir().unwrap();
    json_output(&restore(folder.path(), &file, &[]));
    assert!(!folder.path().join("store/signing/log-keys.json").exists(), "in no backup");
    let mode = fs::metadata(source.path().join("store/signing/log-keys.json")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
}

#[tokio::test]
async fn with_recipients_only_they_can_read_a_backup() {
    let (ours, other) = (AgeIdentity::generate(), AgeIdentity::generate());
    let folder = tempfile::tempdir().unwrap();
    let settings = format!("[backup]\nrecipients = [\"{}\"]\n", ours.recipient());
    let (process, admin) = support::process::start(folder.path(), &settings);
    admin.make_key(&json!({ "name": "kept", "scopes": ["chat"] })).await;

    let refused_passphrase = admin.post(PATH, &json!({ "passphrase": "the passphrase of these tests" })).await;
    assert_eq!(refused_passphrase.status, 422);
    assert!(refused_passphrase.text.contains("leave it out"), "{}", refused_passphrase.text);
    // The role operations is enough where nobody but the recipients can read the file.
    let body = json!({ "name": "n", "scopes": ["admin"], "roles": ["operations"] });
    let operations = admin.with(admin.make_key(&body).await);
    let response = operations.post_request(PATH, &json!({})).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let promised = response.headers()["repr-digest"].to_str().unwrap().to_owned();
    let bytes = response.bytes().await.unwrap();
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, Sha256::digest(&bytes));
    assert_eq!(promised, format!("sha-256=:{encoded}:"));
    let mut content = Vec::new();
    let mut reader = AgeReader::new(&bytes[..], std::slice::from_ref(&ours)).unwrap();
    std::io::Read::read_to_end(&mut reader, &mut content).unwrap();
    assert!(content.starts_with(b"MUSTBAK1"));
    assert!(AgeReader::new(&bytes[..], std::slice::from_ref(&other)).is_err());

    // The command line verifies the digest, and says that it cannot read the file back.
    let (elsewhere, file) = (tempfile::tempdir().unwrap(), folder.path().join("muster.backup.age"));
    let mut command = program(elsewhere.path());
    command.args(["backup", "--json", "--server", &process.url, "--to"]).arg(&file).env("MUSTER_API_KEY", KEY);
    let written = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let written = json_output(&written);
    assert_eq!((&written["read_back"], &written["records"]), (&json!(false), &Value::Null));
    drop(process);

    let key_of = |identity: &AgeIdentity, name: &str| {
        let file = elsewhere.path().join(name);
        // As `age-keygen` writes it.
        let text = format!("# public key: {}\n{}\n", identity.recipient(), identity.to_secret_text());
        fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let (right, wrong) = (key_of(&ours, "right"), key_of(&other, "wrong"));
    fs::create_dir_all(elsewhere.path().join("store")).unwrap();
    let copied = elsewhere.path().join("store/signing");
    fs::create_dir(&copied).unwrap();
    fs::set_permissions(&copied, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    fs::copy(folder.path().join("store/signing/log-keys.json"), copied.join("log-keys.json")).unwrap();
    let from = ["restore", "--json", "--from", file.to_str().unwrap()];
    let with = |more: &[&str]| with_passphrase(elsewhere.path(), &[&from, more].concat(), None);
    assert!(refused(&with(&[])).contains("--identity"));
    assert!(refused(&with(&["--identity", &wrong])).contains("other recipients"));
    json_output(&with(&["--identity", &wrong, "--identity", &right]));
    assert!(names(elsewhere.path()).contains(&"kept".to_owned()));
}

#[test]
fn a_stopped_server_is_backed_up_to_recipients_too() {
    let identity = AgeIdentity::generate();
    let (folder, _) = backed_up("one");
    let folder = folder.path();
    let recipient = identity.recipient().to_string();
    let (given, set) = (folder.join("given.age"), folder.join("set.age"));
    let run = |to: &Path, more: &[&str]| {
        with_passphrase(folder, &[&["backup", "--json", "--to", to.to_str().unwrap()], more].concat(), None)
    };
    assert_eq!(json_output(&run(&given, &["--recipient", &recipient]))["read_back"], false);
    fs::write(folder.join("config.toml"), format!("[backup]\nrecipients = [\"{recipient}\"]\n")).unwrap();
    json_output(&run(&set, &[]));
    let key = folder.join("identity");
    fs::write(&key, identity.to_secret_text()).unwrap();
    for file in [&given, &set] {
        let args = ["verify", "--json", file.to_str().unwrap(), "--identity", key.to_str().unwrap()];
        let verified = json_output(&with_passphrase(folder, &args, None));
        assert_eq!((&verified["ok"], &verified["backup"]["generation"]), (&json!(true), &json!(1)));
    }
    assert_eq!(run(&folder.join("x"), &["--recipient", &identity.to_secret_text()]).status.code(), Some(2));
    fs::write(folder.join("config.toml"), format!("[backup]\nrecipients = [\"{}\"]\n", identity.to_secret_text()))
        .unwrap();
    let private = refused(&run(&folder.join("x"), &[]));
    assert!(private.contains("backup.recipients") && private.contains("private"), "{private}");
}

/// Whoever has the recipients' public key can encrypt to them, and cannot sign.
#[test]
fn another_instance_s_backup_and_one_signed_anew_are_refused() {
    let (source, _) = backed_up("one");
    let (other, file) = backed_up("planted");
    let from = ["restore", "--force", "--from", file.to_str().unwrap()];
    let refused_other = refused(&on(source.path(), &from));
    assert!(refused_other.contains("not known here"), "{refused_other}");
    assert_eq!(names(source.path()), ["one"]);
    // An attacker's header may name the victim's key, but not sign with it.
    let (mine, theirs) = (vkey(&source.path().join("muster.backup")), vkey(&file));
    assert_eq!(mine.len(), theirs.len());
    let identity = AgeIdentity::generate();
    let plain = decrypted(other.path(), &identity);
    let at = plain.windows(theirs.len()).position(|part| part == theirs.as_bytes()).unwrap();
    let mut forged = plain.clone();
    forged[at..at + theirs.len()].copy_from_slice(mine.as_bytes());
    let file = other.path().join("forged.backup");
    let result = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        refused(&on(source.path(), &["restore", "--unencrypted", "--force", "--from", file.to_str().unwrap()]))
    };
    assert!(result(&plain).contains("not known here"));
    let changed = result(&forged);
    assert!(changed.contains("header is not accepted") || changed.contains("not valid"), "{changed}");
    assert_eq!(names(source.path()), ["one"]);
}

/// The signed content of a new backup of a folder.
fn decrypted(folder: &Path, identity: &AgeIdentity) -> Vec<u8> {
    let file = folder.join("to-decrypt.age");
    let args = ["backup", "--json", "--to", file.to_str().unwrap(), "--recipient", &identity.recipient().to_string()];
    json_output(&with_passphrase(folder, &args, None));
    let mut content = Vec::new();
    let bytes = fs::read(&file).unwrap();
    let mut reader = AgeReader::new(&bytes[..], std::slice::from_ref(identity)).unwrap();
    std::io::Read::read_to_end(&mut reader, &mut content).unwrap();
    content
}

/// A record is edited and the checksums are mended, as anybody can who reads the format: only the signature is left.
#[test]
fn a_record_whose_checksum_was_mended_is_refused_by_the_signature() {
    let (source, _) = backed_up("a-name-to-edit");
    let content = decrypted(source.path(), &AgeIdentity::generate());
    let (edited, count) = with_edited_record(&content, b"a-name-to-edit", b"b-name-to-edit");
    assert!(count >= 1);
    let file = source.path().join("edited.backup");
    let from = ["restore", "--unencrypted", "--force", "--from", file.to_str().unwrap()];
    fs::write(&file, &edited).unwrap();
    let message = refused(&on(source.path(), &from));
    assert!(message.contains("its signature by") && message.contains("is not valid"), "{message}");
    assert_eq!(names(source.path()), ["a-name-to-edit"]);
    // The control: written back as it was, the same bytes are accepted.
    let (same, _) = with_edited_record(&content, b"a-name-to-edit", b"a-name-to-edit");
    assert_eq!(same, content);
    fs::write(&file, &same).unwrap();
    assert!(on(source.path(), &from).status.success());
}

/// Replaces a text in the records of a signed backup and computes the checksums anew. Returns the number of records that
/// had it.
fn with_edited_record(content: &[u8], text: &[u8], by: &[u8]) -> (Vec<u8>, usize) {
    let start = 12 + u32::from_le_bytes(content[8..12].try_into().unwrap()) as usize;
    let (mut out, mut rest, mut chain, mut count) = (content[..start].to_vec(), &content[start..], 0, 0);
    let mut size = 16;
    loop {
        let mut item = rest[..size].to_vec();
        let last = item[0] == 255;
        for at in 0..item.len().saturating_sub(text.len() - 1) {
            if item[at..].starts_with(text) {
                item[at..at + text.len()].copy_from_slice(by);
                count += 1;
            }
        }
        chain = crc32c::crc32c_append(chain, &item);
        out.extend_from_slice(&item);
        out.extend_from_slice(&chain.to_le_bytes());
        rest = &rest[size + 4..];
        if last {
            break;
        }
        size = match rest[0] {
            255 => 9,
            _ => 5 + u32::from_le_bytes(rest[1..5].try_into().unwrap()) as usize,
        };
    }
    out.extend_from_slice(rest);
    (out, count)
}

#[tokio::test]
async fn a_restore_ends_all_sessions_unless_they_are_to_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let process = Launch::new(folder.path()).start();
    let (_, login) = Client::new(&process.url).login(EMAIL, PASSWORD).await;
    let token = login.json()["data"]["token"].as_str().unwrap().to_owned();
    process.kill();
    let file = folder.path().join("muster.backup");
    back_up(folder.path(), &file);
    for (more, status) in [(&["--force", "--keep-sessions"][..], 200), (&["--force"], 401)] {
        let restored = json_output(&restore(folder.path(), &file, more));
        assert_eq!(restored["sessions"], if status == 200 { "kept" } else { "ended" });
        let process = Launch::bare(folder.path()).start();
        let person = Client::new(&process.url).with(&token);
        assert_eq!(person.get("/api/v1/auth/me").await.status, status);
        assert_eq!(Client::new(&process.url).login(EMAIL, PASSWORD).await.1.status, 200, "and people can log in anew");
        process.kill();
    }
}

#[test]
fn the_output_says_what_lives_again() {
    let (_source, file) = backed_up("one");
    let folder = tempfile::tempdir().unwrap();
    make_key(folder.path(), "before");
    let key = vkey(&file);
    let output = on(folder.path(), &["restore", "--force", "--from", file.to_str().unwrap(), "--vkey", &key]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    for part in ["revoked after 2", "are valid again", "all sessions were ended", "next generation", key.as_str()] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Erasing replaces a record; its bytes stay in the files until they are rewritten.
#[test]
fn compaction_removes_erased_bytes_and_names_the_copies_that_have_them() {
    let text = b"a-name-that-is-erased";
    let (source, _) = backed_up("a-name-that-is-erased");
    let folder = source.path();
    let store = muster_store::SledStore::open(muster_store::Options::new(folder.join("store"))).unwrap().store;
    store.save_snapshot(1).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let all = muster_store::Scan { limit: 100, ..muster_store::Scan::default() };
    for tree in muster_store::Tree::ALL {
        for (key, rec) in muster_store::Store::scan(&*store, tree, &all).unwrap().items {
            if rec.bytes.windows(text.len()).any(|part| part == text) {
                let erased = muster_store::Rec { bytes: Vec::new(), ..rec };
                let batch = muster_store::Batch::put(tree, key, erased);
                runtime.block_on(muster_store::Store::commit(&*store, batch)).unwrap();
            }
        }
    }
    store.close();
    drop(store);
    let (live, snapshots) = (folder.join("store/live"), folder.join("store/snapshots"));
    assert!(contains(&live, text) && contains(&snapshots, text), "as long as nothing is rewritten");
    let first = json_output(&on(folder, &["compact", "--json"]));
    assert_eq!(first["copies"].as_array().unwrap().len(), 1, "{first}");
    assert!(!contains(&live, text) && contains(&snapshots, text));
    let said = on(folder, &["compact"]);
    assert!(String::from_utf8_lossy(&said.stdout).contains("may still contain them: snapshots/"));
    json_output(&on(folder, &["compact", "--snapshots", "--json"]));
    assert!(!contains(&live, text) && !contains(&snapshots, text));
    assert_eq!(fs::read_dir(&snapshots).unwrap().count(), 1, "and one of now is in their place");
}

/// Whether a file below a folder contains a text.
fn contains(folder: &Path, text: &[u8]) -> bool {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        if path.is_dir() {
            contains(&path, text)
        } else {
            fs::read(&path).unwrap().windows(text.len()).any(|part| part == text)
        }
    })
}
