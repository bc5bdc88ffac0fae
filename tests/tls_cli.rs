//! The command line against a server under TLS: `--ca`, the machine's store, and the cause of a failed connection.

use crate::support;

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Output, Stdio};

use support::process::{Launch, Process, program};
use support::tls::SelfSigned;
use support::{EMAIL, KEY, PASSWORD};

fn server(folder: &Path) -> Process {
    let (_, tls) = SelfSigned::write(folder);
    std::fs::write(folder.join("config.toml"), tls + "[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n").unwrap();
    let process = Launch::new(folder).start();
    assert!(process.url.starts_with("https://"), "{}", process.url);
    process
}

/// Runs the command line with an administrator's key and standard input. `store` is the machine's store of certificates.
fn run(folder: &Path, store: Option<&str>, args: &[&str], input: &str) -> Output {
    let mut command = program(folder);
    command.env("MUSTER_API_KEY", KEY).env("MUSTER_BACKUP_PASSPHRASE", "a long sentence kept elsewhere");
    command.env("XDG_CONFIG_HOME", folder.join("settings")).env("NO_PROXY", "127.0.0.1").env_remove("SSL_CERT_DIR");
    match store {
        Some(file) => command.env("SSL_CERT_FILE", folder.join(file)),
        None => command.env_remove("SSL_CERT_FILE"),
    };
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn every_command_reaches_a_server_whose_authority_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let process = server(folder);
    let url = process.url.as_str();
    let run = |args: &[&str], input: &str| run(folder, None, args, input);
    // Without the authority each command says what is wrong, and what to do.
    for args in [
        &["keys", "--server", url, "list"][..],
        &["backup", "--server", url, "--to", "muster.backup"],
        &["login", "--server", url, "--email", EMAIL],
        &["monitor", "--server", url, "--once"],
        &["simulate", "devices", "--server", url, "--count", "1", "--register", "--token-file", "cert.pem"],
    ] {
        let error = error(&run(args, PASSWORD));
        for part in [url, "signed by an unknown authority", "--ca FILE", "invalid peer certificate: UnknownIssuer"] {
            assert!(error.contains(part), "{args:?}: {error}");
        }
    }
    let ca = ["--ca", "cert.pem"];
    let with_ca = |args: &[&str], input: &str| printed(&run(&[args, &ca[..]].concat(), input));
    assert!(with_ca(&["keys", "--server", url, "list"], "").contains("key_"));
    assert!(with_ca(&["backup", "--server", url, "--to", "muster.backup"], "").contains("verified"));
    assert!(with_ca(&["monitor", "--server", url, "--once"], "").contains("INSTRUCTION"));
    // A login keeps the authority, so that later commands need none.
    assert!(with_ca(&["login", "--server", url, "--email", EMAIL], PASSWORD).contains(EMAIL));
    assert!(printed(&run(&["users", "--remote", "list"], "")).contains(EMAIL));
    assert!(printed(&run(&["signing", "--remote", "list"], "")).contains("EdDSA"));
    let devices = ["simulate", "devices", "--server", url, "--count", "1", "--register", "--duration", "1", "--json"];
    assert!(printed(&run(&devices, "")).contains("\"registered\":1"));
    assert!(printed(&run(&["logout"], "")).contains("logged out"));
}

#[test]
fn the_store_of_the_machine_is_used_and_an_authority_takes_its_place() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let process = server(folder.path());
    SelfSigned::write(other.path());
    std::fs::copy(other.path().join("cert.pem"), folder.path().join("other.pem")).unwrap();
    let list = ["keys", "--server", process.url.as_str(), "list"];
    assert!(printed(&run(folder.path(), Some("cert.pem"), &list, "")).contains("key_"));
    let only_other = [&list[..], &["--ca", "other.pem"]].concat();
    let refused = error(&run(folder.path(), Some("cert.pem"), &only_other, ""));
    assert!(refused.contains("unknown authority"), "{refused}");
    // A machine without any certificate still reaches a server whose authority is given, and says what it needs.
    let refused = error(&run(folder.path(), Some("none.pem"), &list, ""));
    assert!(refused.contains("--ca FILE"), "{refused}");
    let given = [&list[..], &["--ca", "cert.pem"]].concat();
    assert!(printed(&run(folder.path(), Some("none.pem"), &given, "")).contains("key_"));
}

#[test]
fn a_file_that_holds_no_certificate_is_wrong_use() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty.pem"), "nothing\n").unwrap();
    for (file, why) in [("empty.pem", "holds no certificate"), ("none.pem", "No such file")] {
        let output = run(folder.path(), None, &["keys", "--server", "https://127.0.0.1:1", "--ca", file, "list"], "");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(file) && text.contains(why), "{text}");
    }
}

#[test]
fn a_failed_connection_is_reported_with_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tls = server(folder);
    let list = |url: &str| error(&run(folder, None, &["keys", "--server", url, "--ca", "cert.pem", "list"], ""));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = list(&format!("http://{free}"));
    assert!(refused.contains("nothing listens there") && refused.contains("Connection refused"), "{refused}");
    let plain = list(&tls.url.replace("https://", "http://"));
    assert!(plain.contains("give its URL with https://"), "{plain}");
    let name = list(&tls.url.replace("127.0.0.1", "localhost"));
    assert!(name.contains("is for another name"), "{name}");

    let other = tempfile::tempdir().unwrap();
    let without_tls = Launch::new(other.path()).start();
    let secure = list(&without_tls.url.replace("http://", "https://"));
    assert!(secure.contains("give its URL with http://"), "{secure}");
}
