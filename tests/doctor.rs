//! `muster doctor`: findings and their remedies.

use crate::support;

use std::path::Path;

use serde_json::Value;
use support::process::{Launch, program};

/// Exit code and findings of a run with these settings and variables.
fn doctor(folder: &Path, settings: &str, variables: &[(&str, &str)]) -> (i32, Vec<Value>) {
    let listen = "[server]\nlisten = \"127.0.0.1:0\"\n";
    std::fs::write(folder.join("config.toml"), format!("{settings}{listen}")).unwrap();
    let run =
        |args: &[&str]| program(folder).args(["doctor"]).args(args).envs(variables.iter().copied()).output().unwrap();
    let output = run(&["--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().clone();
    // The plain-text output: one line for each finding and one for each remedy.
    let plain = run(&[]);
    let mends = findings.iter().filter(|finding| finding["remedy"].is_string()).count();
    assert_eq!(String::from_utf8(plain.stdout).unwrap().lines().count(), findings.len() + mends);
    assert_eq!(plain.status.code(), output.status.code());
    (output.status.code().unwrap(), findings)
}

fn finding<'a>(findings: &'a [Value], name: &str) -> &'a Value {
    findings.iter().find(|finding| finding["subject"] == name).unwrap_or_else(|| panic!("no {name} in {findings:?}"))
}

/// The finding that keeps the exit code from being 0, and its remedy.
fn only_bad(findings: &[Value]) -> (&str, &str) {
    let bad: Vec<_> = findings.iter().filter(|finding| finding["ok"] == false).collect();
    assert_eq!(bad.len(), 1, "{findings:?}");
    (bad[0]["subject"].as_str().unwrap(), bad[0]["remedy"].as_str().unwrap())
}

#[test]
fn a_missing_model_is_exit_code_one_with_the_command_that_helps() {
    let folder = tempfile::tempdir().unwrap();
    let (code, findings) = doctor(folder.path(), "[llm]\nmodel = \"small\"\n", &[]);
    assert_eq!(code, 1);
    let (name, mend) = only_bad(&findings);
    assert_eq!(name, "embedded model");
    let command = if cfg!(feature = "llm") { "muster models pull small" } else { "llm" };
    assert!(mend.contains(command), "{mend}");
}

#[test]
fn a_model_that_was_switched_off_is_no_fault_where_a_provider_answers() {
    let folder = tempfile::tempdir().unwrap();
    let provider =
        "[[provider]]\nid = \"one\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodels = [\"alpha\"]\n";
    let (code, findings) = doctor(folder.path(), &format!("[llm]\nmodel = \"none\"\n{provider}"), &[]);
    assert_eq!(code, 0, "{findings:?}");
    assert_eq!(finding(&findings, "store")["ok"], true);
    assert_eq!(finding(&findings, "provider one")["ok"], true);
}

#[test]
fn with_no_model_and_no_provider_nothing_can_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (code, findings) = doctor(folder.path(), "[llm]\nmodel = \"none\"\n", &[]);
    assert_eq!(code, 1, "{findings:?}");
}

#[test]
fn a_providers_key_that_is_not_set_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "[llm]\nmodel = \"none\"\n[[provider]]\nid = \"one\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
                    api_key_env = \"MUSTER_TEST_ONE_KEY\"\nmodels = [\"alpha\"]\n";
    let (code, findings) = doctor(folder.path(), settings, &[]);
    assert_eq!(code, 1);
    let provider = finding(&findings, "provider one");
    assert!(provider["remedy"].as_str().unwrap().contains("MUSTER_TEST_ONE_KEY"), "{provider}");
    let (code, findings) = doctor(folder.path(), settings, &[("MUSTER_TEST_ONE_KEY", "secret-of-one")]);
    assert_eq!(code, 0, "{findings:?}");
    assert!(!format!("{findings:?}").contains("secret-of-one"));
}

#[test]
fn an_unusable_certificate_and_an_unreachable_collector_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (cert, key) = (path("cert.pem"), path("key.pem"));
    let variables = [("MUSTER__SERVER__TLS__CERT", cert.as_str()), ("MUSTER__SERVER__TLS__KEY", key.as_str())];
    let provider =
        "[[provider]]\nid = \"one\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodels = [\"alpha\"]\n";
    let settings = format!("[llm]\nmodel = \"none\"\n{provider}");
    let (code, findings) = doctor(folder.path(), &settings, &variables);
    assert_eq!((code, only_bad(&findings).0), (1, "tls"));
    assert!(finding(&findings, "tls")["message"].as_str().unwrap().contains(&cert));
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let (code, findings) = doctor(folder.path(), &settings, &variables);
    assert_eq!(code, 0, "{findings:?}");

    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("\"http://{}\"", collector.local_addr().unwrap());
    let variables = [("MUSTER__TELEMETRY__OTLP_ENDPOINT", endpoint.as_str())];
    assert_eq!(doctor(folder.path(), &settings, &variables).0, 0);
    drop(collector);
    let (code, findings) = doctor(folder.path(), &settings, &variables);
    assert_eq!((code, only_bad(&findings).0), (1, "telemetry"));
    for (endpoint, named) in [("ftp://here", "http or https"), ("http://here:4318/v1/traces", "without /v1/traces")] {
        let (code, findings) = doctor(folder.path(), &settings, &[("MUSTER__TELEMETRY__OTLP_ENDPOINT", endpoint)]);
        assert_eq!((code, only_bad(&findings).0), (1, "settings"));
        assert!(finding(&findings, "settings")["message"].as_str().unwrap().contains(named), "{findings:?}");
    }
}

#[test]
fn invalid_settings_and_a_store_in_use_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (code, findings) = doctor(folder.path(), "[llm]\nslots = 0\n", &[]);
    assert_eq!((code, only_bad(&findings).0), (1, "settings"));
    assert!(finding(&findings, "settings")["message"].as_str().unwrap().contains("llm.slots"));

    std::fs::remove_file(folder.path().join("config.toml")).unwrap();
    let _running = Launch::new(folder.path()).start();
    let store = folder.path().join("store");
    let (code, findings) = doctor(folder.path(), "", &[("MUSTER__STORE__PATH", store.to_str().unwrap())]);
    assert_eq!((code, &finding(&findings, "store")["ok"]), (1, &Value::Bool(false)));
    assert!(finding(&findings, "store")["remedy"].as_str().unwrap().contains("stop the other process"));
}

#[test]
fn readable_signing_keys_and_an_unreadable_journal_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    drop(Launch::new(folder.path()).start());
    let store = folder.path().join("store");
    let provider =
        "[[provider]]\nid = \"one\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodels = [\"alpha\"]\n";
    let settings = format!("[llm]\nmodel = \"none\"\n{provider}");
    let look = || doctor(folder.path(), &settings, &[("MUSTER__STORE__PATH", store.to_str().unwrap())]);
    let (code, findings) = look();
    assert_eq!(code, 0, "{findings:?}");
    assert!(finding(&findings, "signing keys")["message"].as_str().unwrap().contains("owner only"));
    assert_eq!(finding(&findings, "feed journal")["ok"], true);

    let keys = store.join("signing/signing-keys.json");
    let mode = |mode| std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    let (code, findings) = look();
    let (name, mend) = only_bad(&findings);
    assert_eq!((code, name), (1, "signing keys"));
    assert!(mend.contains("chmod 600"), "{mend}");
    mode(0o600);
    std::fs::write(&keys, "{}").unwrap();
    assert_eq!(only_bad(&look().1).0, "signing keys");
    std::fs::remove_file(&keys).unwrap();

    std::fs::remove_dir_all(store.join("feed")).unwrap();
    std::fs::write(store.join("feed"), "no folder").unwrap();
    std::fs::set_permissions(store.join("feed"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let (code, findings) = look();
    assert_eq!((code, only_bad(&findings).0), (1, "feed journal"));
}

/// Everything that `serve` reads, `doctor` reads too: what stops a start is a finding, and the start says the same.
#[test]
fn what_stops_a_start_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let provider =
        "[[provider]]\nid = \"one\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodels = [\"alpha\"]\n";
    let base = format!("[llm]\nmodel = \"none\"\n{provider}");
    let with = |more: &str| format!("{base}{more}");
    let agents = with("[agents]\nfiles = [\"own.toml\"]\n");
    let own = include_str!("../benches/tasks/agents.toml");
    std::fs::write(folder.join("own.toml"), own).unwrap();
    let (code, findings) = doctor(folder, &agents, &[]);
    assert_eq!(code, 0, "{findings:?}");
    assert!(finding(&findings, "agents")["message"].as_str().unwrap().contains("own.toml"), "{findings:?}");

    let both = |settings: &str, subject: &str, parts: &[&str]| {
        let (code, findings) = doctor(folder, settings, &[]);
        assert_eq!((code, only_bad(&findings).0), (1, subject), "{findings:?}");
        let message = finding(&findings, subject)["message"].as_str().unwrap().to_owned();
        let (exit, output) = Launch::new(folder).fail();
        assert_eq!(exit, Some(1), "{output}");
        for part in parts {
            assert!(message.contains(part) && output.contains(part), "{part}: {message} / {output}");
        }
    };
    // A mistake in a file that the settings name has that file's name and its line.
    let line = own.lines().position(|line| line.starts_with("id = \"no-op\"")).unwrap() + 1;
    std::fs::write(folder.join("own.toml"), own.replace("category = \"", "category = \"no-")).unwrap();
    both(&agents, "agents", &[&format!("own.toml, line {line}: "), "no category"]);
    std::fs::write(folder.join("own.toml"), format!("{own}\nid = \n")).unwrap();
    both(&agents, "agents", &["own.toml, line "]);
    std::fs::remove_file(folder.join("own.toml")).unwrap();
    both(&agents, "agents", &["agents.files", "own.toml cannot be read"]);

    both(
        &with("[firmware]\ntrusted_keys = [\"AAAA\"]\n"),
        "settings",
        &["config.toml, line ", "firmware.trusted_keys", "AAAA"],
    );
    both(&with("[log]\nlevel = \"loud\"\n"), "settings", &["config.toml, line ", "log.level", "loud"]);
    both(&with("[engines]\ntime_seconds = 0\n"), "settings", &["config.toml, line ", "engines.time_seconds"]);
}

#[test]
fn damaged_signing_keys_are_reported() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let settings = "[llm]\nmodel = \"none\"\n[[provider]]\nid = \"one\"\nkind = \"openai\"\n\
                    base_url = \"http://127.0.0.1:1/v1\"\nmodels = [\"alpha\"]\n";
    let signing = folder.path().join("data/signing");
    std::fs::create_dir_all(&signing).unwrap();
    let file = signing.join("signing-keys.json");
    std::fs::write(&file, "{\"version\":1,\"keys\":[{\"kty\":\"OKP\"}]}").unwrap();
    for (path, mode) in [(&file, 0o600), (&signing, 0o700), (&folder.path().join("data"), 0o700)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let (code, findings) = doctor(folder.path(), settings, &[]);
    assert_eq!((code, only_bad(&findings).0), (1, "signing keys"), "{findings:?}");
}
