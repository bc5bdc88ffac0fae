//! `muster backup`, `restore`, `verify` and `compact`: a backup restores every acknowledged write and nobody can read or
//! change it, and a failed restore leaves no partial store.

use crate::support;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use muster_store::{Batch, Options, Rec, SledStore, Store, Tree};
use serde_json::{Value, json};
use support::KEY;
use support::client::Client;
use support::process::{Launch, program};

pub(crate) const WORDS: &str = "the passphrase of these tests";

/// The program with `--data` of a folder, and the tests' passphrase.
pub(crate) fn on(folder: &Path, args: &[&str]) -> Output {
    with_passphrase(folder, args, Some(WORDS))
}

pub(crate) fn with_passphrase(folder: &Path, args: &[&str], words: Option<&str>) -> Output {
    let mut command = program(folder);
    if let Some(words) = words {
        command.env("MUSTER_BACKUP_PASSPHRASE", words);
    }
    command.stdin(Stdio::null());
    command.arg(args[0]).arg("--data").arg(folder.join("store")).args(&args[1..]).output().unwrap()
}

pub(crate) fn json_output(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub(crate) fn refused(output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message} {}", String::from_utf8_lossy(&output.stdout));
    message
}

/// Creates a key in a stopped server's folder; returns its text.
pub(crate) fn make_key(folder: &Path, name: &str) -> String {
    let made = json_output(&on(folder, &["keys", "create", "--name", name, "--scope", "chat", "--json"]));
    made["key"].as_str().unwrap().to_owned()
}

/// Names of the keys in a stopped server's folder, newest first.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let listed = json_output(&on(folder, &["keys", "list", "--json"]));
    listed["keys"].as_array().unwrap().iter().map(|key| key["name"].as_str().unwrap().to_owned()).collect()
}

/// A folder with one key, and a backup of it in the folder.
pub(crate) fn backed_up(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    make_key(folder.path(), name);
    let file = folder.path().join("muster.backup");
    back_up(folder.path(), &file);
    (folder, file)
}

/// Writes a backup of a stopped server's folder, and beside it the key that signed it. Returns what was printed.
pub(crate) fn back_up(folder: &Path, file: &Path) -> Value {
    let written = json_output(&on(folder, &["backup", "--json", "--to", file.to_str().unwrap()]));
    keep_vkey(file, &written);
    written
}

fn keep_vkey(file: &Path, written: &Value) {
    fs::write(file.with_extension("vkey"), written["vkeys"][0].as_str().unwrap()).unwrap();
}

/// The arguments that restore a file, whose key is known where it is kept beside the file.
fn restoring(file: &Path) -> Vec<String> {
    let mut args = vec!["restore".to_owned(), "--from".to_owned(), file.display().to_string()];
    if let Ok(vkey) = fs::read_to_string(file.with_extension("vkey")) {
        args.extend(["--vkey".to_owned(), vkey]);
    }
    args
}

pub(crate) fn records(found: &Value, tree: &str) -> u64 {
    let trees = found["trees"].as_array().unwrap();
    trees.iter().find(|count| count["tree"] == tree).unwrap()["records"].as_u64().unwrap()
}

pub(crate) fn restore(folder: &Path, file: &Path, more: &[&str]) -> Output {
    let args = restoring(file);
    let args: Vec<&str> = args.iter().map(String::as_str).chain(["--json"]).chain(more.iter().copied()).collect();
    on(folder, &args)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_running_server_under_load_every_acknowledged_key_comes_back() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let process = Launch::new(here.path()).start();
    let admin = Client::new(&process.url).with(KEY);
    let body = |name: String| json!({ "name": name, "scopes": ["chat"] });
    let mut before = Vec::new();
    for n in 0..10 {
        before.push(admin.make_key(&body(format!("before-{n}"))).await);
    }
    let load: Vec<_> = (0..3)
        .map(|task| {
            let admin = admin.clone();
            tokio::spawn(async move {
                for n in 0..30 {
                    admin.make_key(&body(format!("during-{task}-{n}"))).await;
                }
            })
        })
        .collect();
    let file = there.path().join("muster.backup");
    let mut command = program(there.path());
    command.args(["backup", "--json", "--server", &process.url, "--to"]).arg(&file);
    command.env("MUSTER_API_KEY", KEY).env("MUSTER_BACKUP_PASSPHRASE", WORDS);
    let written = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let written = json_output(&written);
    assert!(written["records"].as_u64().unwrap() >= 11 && written["read_back"] == true);
    keep_vkey(&file, &written);
    for task in load {
        task.await.unwrap();
    }
    let everything = json_output(&on(there.path(), &["verify", "--json", file.to_str().unwrap()]));
    let kept = records(&everything, "keys");
    assert_eq!(everything["ok"], true);
    drop(process);

    assert_eq!(json_output(&restore(there.path(), &file, &[]))["set_aside"], Value::Null);
    let listed = names(there.path());
    assert!(listed.len() as u64 <= kept && (11..=101).contains(&listed.len()), "{} of {kept}", listed.len());
    let process = Launch::bare(there.path()).start();
    for key in before.iter().map(String::as_str).chain([KEY]) {
        assert_eq!(Client::new(&process.url).with(key).get("/v1/models").await.status, 200);
    }
}

#[tokio::test]
async fn without_recipients_the_route_needs_the_role_super_admin_and_a_passphrase() {
    const PATH: &str = "/api/v1/admin/backup";
    let folder = tempfile::tempdir().unwrap();
    let process = Launch::new(folder.path()).start();
    let operator = Client::new(&process.url).with(KEY);
    let body = json!({ "passphrase": WORDS });
    for scopes in [json!(["chat"]), json!(["admin"]), json!(["admin", "chat", "memory", "engines", "agents"])] {
        let key = operator.make_key(&json!({ "name": "n", "scopes": scopes, "plan_b": "enterprise" })).await;
        let refused = operator.with(key).post(PATH, &body).await;
        assert_eq!(refused.status, 403, "{scopes}: {:.200}", refused.text);
        let needed = if scopes == json!(["chat"]) { "scope `admin`" } else { "role `operations` or `super_admin`" };
        assert!(refused.text.contains(needed), "{}", refused.text);
    }
    for body in [json!({}), json!({ "passphrase": "too short" })] {
        let refused = operator.post(PATH, &body).await;
        assert_eq!(refused.status, 422, "{:.200}", refused.text);
        assert!(refused.text.contains("passphrase"), "{}", refused.text);
    }
    let request = operator.post_request(PATH, &body).send().await.unwrap();
    assert_eq!(
        (request.status().as_u16(), &request.headers()["content-type"]),
        (200, &"application/octet-stream".parse().unwrap())
    );
    let length: usize = request.headers()["content-length"].to_str().unwrap().parse().unwrap();
    let bytes = request.bytes().await.unwrap();
    assert_eq!(bytes.len(), length);
    let file = folder.path().join("over-http.backup");
    fs::write(&file, &bytes).unwrap();
    assert_eq!(json_output(&on(folder.path(), &["verify", "--json", file.to_str().unwrap()]))["ok"], true);
}

#[test]
fn a_backup_shows_nothing_and_needs_its_passphrase() {
    let (source, file) = backed_up("a-name-to-look-for");
    let bytes = fs::read(&file).unwrap();
    let shows = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(bytes.starts_with(b"MUSTSEA1") && !shows(b"a-name-to-look-for") && !shows(b"secret_sha256"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);

    let folder = tempfile::tempdir().unwrap();
    let args = restoring(&file);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let wrong = refused(&with_passphrase(folder.path(), &args, Some("another passphrase")));
    assert!(wrong.contains("the passphrase is wrong"), "{wrong}");
    let missing = refused(&with_passphrase(folder.path(), &args, None));
    assert!(missing.contains("MUSTER_BACKUP_PASSPHRASE") && missing.contains("--key-file"), "{missing}");
    let short = refused(&with_passphrase(source.path(), &["backup", "--to", "b"], Some("short")));
    assert!(short.contains("12 to 4096 bytes"), "{short}");
    let key = folder.path().join("key");
    fs::write(&key, format!("{WORDS}\n")).unwrap();
    let by_file = [args.as_slice(), &["--key-file", key.to_str().unwrap(), "--json"]].concat();
    json_output(&with_passphrase(folder.path(), &by_file, None));
    assert_eq!(names(folder.path()), ["a-name-to-look-for"]);
}

/// Backups were protected by checksums alone: whoever could write one could exchange the hash of a key, mend the
/// checksums, and open the server after a restore.
#[test]
fn an_unencrypted_backup_is_restored_only_if_the_operator_says_so() {
    let (source, _) = backed_up("one");
    let store = SledStore::open(Options::new(source.path().join("store"))).unwrap().store;
    let plain = store.save_snapshot(1).unwrap();
    drop(store);
    assert!(fs::read(&plain).unwrap().starts_with(b"MUSTSNP1"), "as backups were before");
    let folder = tempfile::tempdir().unwrap();
    let message = refused(&restore(folder.path(), &plain, &[]));
    assert!(message.contains("is not encrypted") && message.contains("--unencrypted"), "{message}");
    assert!(!folder.path().join("store/live").exists());
    assert!(refused(&on(folder.path(), &["verify", plain.to_str().unwrap()])).contains("--unencrypted"));
    assert_eq!(
        json_output(&on(folder.path(), &["verify", "--unencrypted", "--json", plain.to_str().unwrap()]))["ok"],
        true
    );
    let unsigned = refused(&restore(folder.path(), &plain, &["--unencrypted"]));
    assert!(unsigned.contains("is not signed") && unsigned.contains("--unsigned"), "{unsigned}");
    json_output(&restore(folder.path(), &plain, &["--unencrypted", "--unsigned", "muster"]));
    assert_eq!(names(folder.path()), ["one"]);
    let other = folder.path().join("text");
    fs::write(&other, "something else").unwrap();
    assert!(refused(&restore(folder.path(), &other, &[])).contains("is not a backup"));
}

#[tokio::test]
async fn while_a_server_runs_the_folder_is_not_touched_and_a_hint_is_printed() {
    let (_other, file) = backed_up("other");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let _process = Launch::new(folder).start();
    let to = folder.join("b").display().to_string();
    let mut restoring = restoring(&file);
    restoring.push("--force".to_owned());
    let restoring: Vec<&str> = restoring.iter().map(String::as_str).collect();
    for (args, hint) in [
        (&["backup", "--to", &to][..], "--server"),
        (&restoring, "stop the server"),
        (&["verify"], "stop the server"),
        (&["compact"], "stop the server"),
    ] {
        let message = refused(&on(folder, args));
        assert!(message.contains("in use") && message.contains(hint), "{message}");
    }
    assert!(!Path::new(&to).exists());
}

#[test]
fn no_flipped_bit_and_no_cut_is_restored() {
    let (_source, file) = backed_up("one");
    let good = fs::read(&file).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.backup");
    fs::copy(file.with_extension("vkey"), bad.with_extension("vkey")).unwrap();
    let places = (0..good.len()).step_by(good.len() / 12 + 1).chain([good.len() - 1]);
    let flipped = places.map(|at| {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        bytes
    });
    for bytes in flipped.chain([good[..good.len() - 5].to_vec(), [good.as_slice(), b"x"].concat(), Vec::new()]) {
        fs::write(&bad, bytes).unwrap();
        assert_eq!(on(folder.path(), &["verify", "--json", bad.to_str().unwrap()]).status.code(), Some(1));
        refused(&restore(folder.path(), &bad, &["--force"]));
        assert!(!folder.path().join("store/live").exists(), "nothing of it is in place");
    }
    json_output(&restore(folder.path(), &file, &[]));
    assert_eq!(names(folder.path()), ["one"]);
}

#[test]
fn a_damaged_store_is_reported_by_verify_and_not_backed_up() {
    let (folder, _) = backed_up("needle-in-the-log");
    let folder = folder.path();
    assert_eq!(json_output(&on(folder, &["verify", "--json"]))["ok"], true);
    let db = folder.join("store/live/db");
    let mut bytes = fs::read(&db).unwrap();
    let needle = b"needle-in-the-log";
    let places: Vec<_> = (0..bytes.len() - needle.len()).filter(|&at| bytes[at..].starts_with(needle)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] ^= 1;
    }
    fs::write(&db, bytes).unwrap();
    let output = on(folder, &["verify", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &found["ok"]), (Some(1), &json!(false)));
    assert!(!found["problems"].as_array().unwrap().is_empty());
    let to = folder.join("again.backup");
    refused(&on(folder, &["backup", "--to", to.to_str().unwrap()]));
    assert!(!to.exists());
}

#[test]
fn a_store_in_the_way_is_set_aside_whole_and_only_by_force() {
    let (_source, file) = backed_up("new");
    let (old, _) = backed_up("old");
    let folder = old.path();
    // An entry of the old store's journal must not come into the new one.
    fs::create_dir_all(folder.join("store/ledger")).unwrap();
    fs::write(folder.join("store/ledger/000001.seg"), b"of the old store").unwrap();
    assert!(refused(&restore(folder, &file, &[])).contains("--force"));
    assert_eq!(names(folder), ["old"]);

    let done = json_output(&restore(folder, &file, &["--force"]));
    assert_eq!(names(folder), ["new"]);
    assert!(!folder.join("store/ledger").exists());
    let aside = PathBuf::from(done["set_aside"].as_str().unwrap());
    assert_eq!(fs::read(aside.join("ledger/000001.seg")).unwrap(), b"of the old store");
    // The store that was moved aside is a complete data folder.
    let listed = program(folder).args(["keys", "--data"]).arg(&aside).args(["list", "--json"]).output().unwrap();
    assert_eq!(json_output(&listed)["keys"][0]["name"], "old");
}

#[test]
fn a_backup_takes_journals_along_that_are_not_in_the_records_yet() {
    let (source, _) = backed_up("one");
    let segment: Vec<u8> = (0..600_000_u32).map(|n| (n % 251) as u8).collect();
    let ledger = source.path().join("store/ledger");
    fs::create_dir_all(&ledger).unwrap();
    fs::write(ledger.join("000001.seg"), &segment).unwrap();
    fs::write(ledger.join("000002.seg"), b"").unwrap();
    let file = source.path().join("with-journals.backup");
    let written = back_up(source.path(), &file);
    assert_eq!(written["journals"][0], json!({ "name": "ledger/000001.seg", "bytes": 600_000 }));

    let folder = tempfile::tempdir().unwrap();
    json_output(&restore(folder.path(), &file, &[]));
    let there = folder.path().join("store/ledger");
    assert_eq!(fs::read(there.join("000001.seg")).unwrap(), segment);
    assert_eq!(fs::read(there.join("000002.seg")).unwrap(), b"");
    assert_eq!(names(folder.path()), ["one"]);
}

/// Many records, so that there is something to interrupt.
fn fill(folder: &Path, count: u32) {
    let store = SledStore::open(Options::new(folder.join("store"))).unwrap().store;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for from in (0..count).step_by(1_000) {
        let rec = |n: u32| Rec { schema: 1, bytes: n.to_be_bytes().repeat(50) };
        let batch = (from..from + 1_000)
            .fold(Batch::default(), |batch, n| batch.and_put(Tree::Ledger, n.to_be_bytes(), rec(n)));
        runtime.block_on(store.commit(batch)).unwrap();
    }
    store.close();
}

const FILL: u32 = 15_000;

#[test]
fn compaction_frees_space_and_keeps_every_record() {
    let (folder, _) = backed_up("one");
    let folder = folder.path();
    for _ in 0..3 {
        fill(folder, FILL / 3);
    }
    let before = json_output(&on(folder, &["verify", "--json"]));
    let done = json_output(&on(folder, &["compact", "--json"]));
    let (was, is) = (done["bytes_before"].as_u64().unwrap(), done["bytes_after"].as_u64().unwrap());
    assert!(is < was, "{done}");
    assert_eq!(json_output(&on(folder, &["verify", "--json"])), before);
    assert_eq!(names(folder), ["one"]);
    let left: Vec<_> = fs::read_dir(folder.join("store")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("compact")), "{left:?}");
}

/// Runs the command and kills it after this share of the duration of a complete run; `None` lets it finish.
fn killed_after(folder: &Path, args: &[&str], moment: Option<std::time::Duration>) {
    let mut command = program(folder);
    command.args(args).arg("--data").arg(folder.join("store")).env("MUSTER_BACKUP_PASSPHRASE", WORDS);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let _ = stdout.read_to_string(&mut String::new());
        let _ = sender.send(());
    });
    match moment {
        Some(moment) if receiver.recv_timeout(moment).is_err() => child.kill().unwrap(),
        _ => {}
    }
    child.wait().unwrap();
    reader.join().unwrap();
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target)
        } else {
            fs::copy(entry.path(), &target).map(drop).unwrap()
        }
    }
}

#[test]
fn a_restore_or_a_compaction_killed_at_any_moment_leaves_the_old_or_the_new() {
    let (source, _) = backed_up("new");
    fill(source.path(), FILL);
    let file = source.path().join("large.backup");
    back_up(source.path(), &file);
    let (old, _) = backed_up("old");

    let fresh = || {
        let folder = tempfile::tempdir().unwrap();
        copy(&old.path().join("store"), &folder.path().join("store"));
        folder
    };
    let args = restoring(&file);
    let args: Vec<&str> = args.iter().map(String::as_str).chain(["--force"]).collect();
    let (begun, whole) = (Instant::now(), fresh());
    killed_after(whole.path(), &args, None);
    let takes = begun.elapsed();
    let mut seen = Vec::new();
    for round in 0..20_u32 {
        let folder = fresh();
        // The last fifth of the time has the renames: it is sampled more densely.
        let share = if round < 8 { f64::from(round) / 8.0 * 0.8 } else { 0.8 + f64::from(round - 8) / 12.0 * 0.3 };
        killed_after(folder.path(), &args, (round < 19).then(|| takes.mul_f64(share)));
        let found = json_output(&on(folder.path(), &["verify", "--json"]));
        let names = names(folder.path());
        let expected = if names == ["new"] { u64::from(FILL) } else { 0 };
        assert!(names == ["new"] || names == ["old"], "{names:?}");
        assert_eq!((&found["ok"], records(&found, "ledger")), (&json!(true), expected), "round {round}");
        seen.push(names);
    }
    assert!(seen.contains(&vec!["old".to_owned()]) && seen.contains(&vec!["new".to_owned()]), "{seen:?}");

    let begun = Instant::now();
    killed_after(whole.path(), &["compact"], None);
    let takes = begun.elapsed();
    for round in 0..8_u32 {
        killed_after(whole.path(), &["compact"], Some(takes.mul_f64(0.5 + f64::from(round) * 0.08)));
        let found = json_output(&on(whole.path(), &["verify", "--json"]));
        assert_eq!((&found["ok"], records(&found, "ledger")), (&json!(true), u64::from(FILL)), "round {round}");
    }
}

#[test]
fn wrong_usage_is_exit_code_two_and_a_file_is_not_overwritten_without_force() {
    let (folder, file) = backed_up("one");
    let folder = folder.path();
    let bytes = fs::read(&file).unwrap();
    make_key(folder, "two");
    let again = ["backup", "--to", file.to_str().unwrap()];
    assert!(refused(&on(folder, &again)).contains("--force"));
    assert_eq!(fs::read(&file).unwrap(), bytes);
    assert!(on(folder, &[&again[..], &["--force"]].concat()).status.success());
    assert_ne!(fs::read(&file).unwrap(), bytes);

    for args in [&["backup"][..], &["restore"], &["verify", "--frobnicate"], &["compact", "--to", "x"]] {
        assert_eq!(on(folder, args).status.code(), Some(2), "{args:?}");
    }
    for command in ["backup", "restore", "verify", "compact"] {
        let help = program(folder).args([command, "--help"]).output().unwrap();
        assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("Example"), "{command}");
    }
    let nowhere = tempfile::tempdir().unwrap();
    for args in [&["verify"][..], &["compact"], &["backup", "--to", "x"]] {
        assert!(refused(&on(nowhere.path(), args)).contains("no store"), "{args:?}");
    }
    assert!(!nowhere.path().join("store").exists(), "looking makes no folder");
}

/// A record of a newer schema than its tree names would make every backup unreadable.
#[test]
fn every_schema_of_the_sources_is_known_to_backups() {
    let mut checked = 0;
    let mut folders = vec![std::path::PathBuf::from("actors")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for declared in text.split("const TREE: Tree = Tree::").skip(1) {
                    let (tree, rest) = declared.split_once(';').unwrap();
                    let Some((_, schema)) = rest.split_once("const SCHEMA: u16 = ") else { continue };
                    let schema: u16 = schema.split_once(';').unwrap().0.parse().unwrap();
                    let known = muster_store::Tree::ALL.iter().find(|known| format!("{known:?}") == tree).unwrap();
                    assert!(schema <= known.newest_schema(), "{}: Tree::newest_schema of {tree}", path.display());
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 20, "{checked}");
}
