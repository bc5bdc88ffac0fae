//! The sandbox of engine processes, and fairness between those who call engines.
//!
//! What a hostile engine can do is tested in `actors/tasks/tests/engine_pool/doors.rs`. A kernel without a layer is
//! imitated by a filter of system calls that this program puts on a thread, and that what the thread starts inherits.

use std::path::Path;
use std::process::Command;

use muster_engines::{Context, Nature, vector};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use serde_json::{Value, json};

use crate::support::KEY;
use crate::support::client::Client;
use crate::support::process::{Launch, program};
use crate::support::server::Muster;
use crate::support::socket::wait_until;

/// Runs `start` as on a kernel in which these system calls fail with that error.
fn without<T: Send + 'static>(
    calls: Vec<(i64, Vec<SeccompRule>)>,
    errno: i32,
    start: impl FnOnce() -> T + Send + 'static,
) -> T {
    let answer = SeccompAction::Errno(errno.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(calls.into_iter().collect(), SeccompAction::Allow, answer, arch).unwrap();
    let filter: BpfProgram = filter.try_into().unwrap();
    let thread = std::thread::spawn(move || {
        seccompiler::apply_filter(&filter).unwrap();
        start()
    });
    thread.join().unwrap()
}

fn without_landlock<T: Send + 'static>(start: impl FnOnce() -> T + Send + 'static) -> T {
    let calls = [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self];
    without(calls.map(|call| (call, Vec::new())).into(), libc::ENOSYS, start)
}

/// Filters of system calls are rejected; the older prctl is not used.
fn without_seccomp<T: Send + 'static>(start: impl FnOnce() -> T + Send + 'static) -> T {
    let filter =
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::SECCOMP_SET_MODE_FILTER.into());
    let rule = SeccompRule::new(vec![filter.unwrap()]).unwrap();
    without(vec![(libc::SYS_seccomp, vec![rule])], libc::EINVAL, start)
}

fn settings(folder: &Path, mode: &str) {
    std::fs::write(folder.join("config.toml"), format!("[engines]\nsandbox = {mode:?}\n")).unwrap();
}

fn doctor(folder: &Path) -> Value {
    let output = program(folder).args(["doctor", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["subject"] == "engine sandbox").unwrap().clone()
}

#[test]
fn a_server_that_requires_the_sandbox_does_not_start_without_it() {
    type Lacking = fn(Box<dyn FnOnce() -> (Option<i32>, String) + Send>) -> (Option<i32>, String);
    let lacking: [(&str, Lacking); 2] =
        [("Landlock", |start| without_landlock(start)), ("seccomp", |start| without_seccomp(start))];
    for (name, lacking) in lacking {
        let folder = tempfile::tempdir().unwrap();
        settings(folder.path(), "require");
        let launch = Launch::new(folder.path());
        let (code, log) = lacking(Box::new(|| launch.fail()));
        assert_ne!(code, Some(0));
        assert!(log.contains(name) && log.contains("engines.sandbox"), "{log}");
    }
}

#[tokio::test]
async fn health_status_and_doctor_name_what_the_kernel_lacks() {
    let folder = tempfile::tempdir().unwrap();
    settings(folder.path(), "prefer");
    let launch = Launch::new(folder.path());
    let server = without_landlock(|| launch.start());
    let client = Client::new(&server.url).with(KEY);
    let ran = client.post("/api/q109/run", &json!({ "schema": {}, "document": 1 })).await;
    assert_eq!(ran.status, 200, "{}", ran.text);
    let polling = async {
        loop {
            let health = client.get("/api/health").await.json();
            if let Some(problem) = health["problems"]["engine-registry"].as_str() {
                break problem.to_owned();
            }
        }
    };
    let problem = tokio::time::timeout(crate::support::client::TEST_TIMEOUT, polling).await.unwrap();
    assert!(problem.contains("Landlock"), "{problem}");
    let status = client.get("/api/v1/status").await.json();
    let sandbox = &status["engines"]["sandbox"];
    assert_eq!((&sandbox["mode"], &sandbox["landlock_abi"]), (&json!("prefer"), &Value::Null), "{sandbox}");
    assert_eq!(sandbox["missing"][0]["layer"], "landlock", "{sandbox}");

    let other = tempfile::tempdir().unwrap();
    for (mode, ok) in [("prefer", false), ("require", false), ("off", true)] {
        settings(other.path(), mode);
        let path = other.path().to_owned();
        let found = without_landlock(move || doctor(&path));
        assert_eq!(found["ok"], ok, "{mode}: {found}");
        assert_eq!(found["message"].as_str().unwrap().contains("Landlock"), !ok, "{mode}: {found}");
    }
}

/// The kernel's own account of a worker process: /proc/PID/status.
#[tokio::test]
async fn a_worker_process_is_restricted_by_every_layer_of_this_kernel() {
    let folder = tempfile::tempdir().unwrap();
    settings(folder.path(), "prefer");
    let secret = "provider-key-of-this-test";
    let server = Launch::new(folder.path()).with("MUSTER_TEST_PROVIDER_KEY", secret).start();
    let client = Client::new(&server.url).with(KEY);
    let ran = client.post("/api/q109/run", &json!({ "schema": {}, "document": 1 })).await;
    assert_eq!(ran.status, 200, "{}", ran.text);
    let listed = Command::new("ps").args(["-o", "pid=", "--ppid", &server.child.id().to_string()]).output().unwrap();
    let workers = String::from_utf8(listed.stdout).unwrap();
    assert!(workers.split_whitespace().count() > 0);
    let missing = client.get("/api/v1/status").await.json()["engines"]["sandbox"]["missing"].clone();
    let lacks = |layer: &str| missing.as_array().unwrap().iter().any(|missing| missing["layer"] == layer);
    for worker in workers.split_whitespace() {
        let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap();
        let field = |name: &str| {
            let line =
                status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {status}"));
            line.trim().to_owned()
        };
        for (name, expected, layer) in [
            ("Seccomp:", "2", "seccomp"),
            ("NoNewPrivs:", "1", "no_new_privileges"),
            ("CapEff:", "0000000000000000", "capabilities"),
        ] {
            assert!(field(name) == expected || lacks(layer), "{name} {}", field(name));
        }
        let limits = std::fs::read_to_string(format!("/proc/{worker}/limits")).unwrap_or_default();
        for name in ["Max core file size", "Max file size"] {
            let limit = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0 0");
            assert!(limit.split_whitespace().take(2).all(|limit| limit == "0"), "{limits}");
        }
        // Another account cannot read it, and neither can this one unless it is the superuser.
        let environment = std::fs::read(format!("/proc/{worker}/environ")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&environment).contains(secret));
    }
}

/// Each engine has under the restrictions the output that it has without.
#[tokio::test]
async fn every_engine_works_in_the_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("workspace");
    std::fs::create_dir_all(workspace.join("docs/deep")).unwrap();
    for (name, text) in
        [("docs/a.md", "# A\nTODO one\n"), ("docs/deep/b.rs", "fn b() {} // TODO two\n"), ("docs/.gitignore", "c.md\n")]
    {
        std::fs::write(workspace.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("a.md", workspace.join("docs/link.md")).unwrap();
    let muster = Muster::start(&format!(
        "[limits.agent]\nengines = \"unlimited\"\n[workspace]\npath = {:?}\n[engines]\nsandbox = \"require\"\n",
        workspace.display().to_string()
    ));
    let client = muster.client();
    for engine in muster_engines::all() {
        // Its answer is a model's: tests/gateway_engine.rs has it beside one, under the same restrictions.
        if engine.id == "model-gateway" {
            continue;
        }
        let path = format!("/api/q{}/run", engine.number);
        let (input, direct) = match (engine.nature, vector::of(engine)) {
            (Nature::Pure | Nature::Model | Nature::State, Some(vector)) => (vector.input.clone(), None),
            _ => {
                let context = Context::with_workspace(workspace.clone()).refusing("this is a test");
                (engine.example(), Some(engine.run(engine.example(), &context).unwrap()))
            }
        };
        let ran = client.post(&path, &input).await;
        assert_eq!(ran.status, 200, "{} {}", engine.id, ran.text);
        let output = ran.json()["output"].clone();
        match direct {
            Some(direct) => assert_eq!(output, direct, "{}", engine.id),
            None => assert_eq!(vector::of(engine).unwrap().mismatches(&output), [""; 0], "{}", engine.id),
        }
    }
}

/// A call that takes seconds: every pair of 10,000 characters by 10,000.
fn slow() -> Value {
    let text = |seed: usize| (0..10_000).map(|nth| char::from(b'a' + ((nth * seed) % 23) as u8)).collect::<String>();
    json!({ "query": text(7), "choices": [text(11)], "method": "damerau" })
}

#[tokio::test]
async fn a_trivial_engine_call_does_not_wait_for_the_slow_calls_of_another_key() {
    let muster = Muster::start("[engines]\nworkers = 2\n[limits.agent]\nengines = \"unlimited\"\n");
    let admin = muster.client();
    let key = |name: &str| json!({ "name": name, "scopes": ["engines"] });
    let slow_client = admin.with(admin.make_key(&key("slow")).await);
    let quick_client = admin.with(admin.make_key(&key("quick")).await);
    let calls: Vec<_> = (0..24)
        .map(|_| {
            let client = slow_client.clone();
            tokio::spawn(async move { client.post("/api/q171/run", &slow()).await.status })
        })
        .collect();
    let pending = || muster.app.engines.stats().running + muster.app.engines.stats().waiting;
    wait_until("the slow calls are queued", || pending() == 24).await;
    let answer = quick_client.post("/api/q109/run", &json!({ "schema": {}, "document": 1 })).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    // In the order of arrival, all of them would have ended.
    assert!(pending() >= 16, "{} of 24 slow calls are left", pending());
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    wait_until("calls end with their callers", || pending() == 0).await;
}

#[tokio::test]
async fn waiting_calls_of_one_key_beyond_the_limit_get_429_with_retry_after() {
    let muster = Muster::start("[engines]\nworkers = 2\nqueue_per_key = 2\n[limits.agent]\nengines = \"unlimited\"\n");
    let client = muster.client();
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.post("/api/q171/run", &slow()).await.status })
        })
        .collect();
    let stats = || muster.app.engines.stats();
    wait_until("the queue of the key is full", || (stats().running, stats().waiting) == (1, 2)).await;
    let refused = client.post("/api/q109/run", &json!({ "schema": {}, "document": 1 })).await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert_eq!(refused.json()["error_code"], "ENGINE_CALLS_QUEUED", "{}", refused.text);
    assert!(refused.number("retry-after").is_some_and(|seconds| seconds >= 1));
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}
