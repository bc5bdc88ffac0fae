//! `muster login`, `muster users` and `muster signing`.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use super::support::process::{Launch, program};
use super::support::{EMAIL, PASSWORD};

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

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn a_login_is_bound_to_this_device_and_readable_by_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let process = Launch::new(folder.path()).start();
    let run = |args: &[&str], input: &str| muster(folder.path(), args, input);
    let none = run(&["login", "--status"], "");
    assert_eq!(none.status.code(), Some(1));
    assert!(output_text(&none).contains("muster login --server"), "{}", output_text(&none));
    let wrong = run(&["login", "--server", &process.url, "--email", EMAIL], "wrong\n");
    assert_eq!((wrong.status.code(), output_text(&wrong).contains("password is wrong")), (Some(1), true), "{wrong:?}");
    let login = json(&run(&["login", "--server", &process.url, "--json"], &format!("{EMAIL}\n{PASSWORD}\n")));
    assert_eq!((login["email"].as_str(), login["role"].as_str()), (Some(EMAIL), Some("super_admin")));
    for name in ["device-key.json", "session.json"] {
        let mode = std::fs::metadata(folder.path().join("settings/muster").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(json(&run(&["login", "--status", "--json"], ""))["jkt"], login["jkt"]);

    let made =
        run(&["users", "--remote", "create", "--email", "ann@example.org", "--role", "operator", "--json"], PASSWORD);
    assert_eq!(json(&made)["role"], "operator");
    let off = json(&run(&["users", "--remote", "disable", "ANN@example.org", "--json"], ""));
    assert_eq!(off["disabled"], true);
    let listed = run(&["users", "--remote", "list"], "");
    assert!(
        output_text(&listed).contains("disabled") && output_text(&listed).contains("ann@example.org"),
        "{}",
        output_text(&listed)
    );
    assert!(output_text(&run(&["signing", "--remote", "rotate"], "")).contains("published"));

    assert!(run(&["logout"], "").status.success());
    assert_eq!(run(&["login", "--status"], "").status.code(), Some(1));
}

#[test]
fn service_accounts_are_managed_on_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let process = Launch::new(folder.path()).start();
    let run = |args: &[&str]| muster(folder.path(), &[&["service-accounts", "--remote"][..], args].concat(), "");
    json(&muster(folder.path(), &["login", "--server", &process.url, "--json"], &format!("{EMAIL}\n{PASSWORD}\n")));
    let made = json(&run(&["create", "--name", "wall", "--role", "viewer", "--json"]));
    let id = made["id"].as_str().unwrap();
    assert!(made["secret"].as_str().unwrap().starts_with("mss_"), "{made}");
    let rotated = json(&run(&["rotate", id, "--grace", "0", "--json"]));
    assert_ne!(rotated["secret"], made["secret"]);
    assert_eq!(json(&run(&["disable", id, "--json"]))["disabled"], true);
    let listed = output_text(&run(&["list"]));
    assert!(listed.contains("wall") && listed.contains("disabled") && !listed.contains("mss_"), "{listed}");
    assert!(output_text(&run(&["revoke", id])).contains("revoked"));
    assert_eq!(json(&run(&["list", "--json"]))["service_accounts"], serde_json::json!([]));
    let wrong = run(&["create", "--name", "wall", "--role", "super_admin"]);
    assert_eq!(wrong.status.code(), Some(2), "the roles of people are no choice: {wrong:?}");
}

#[test]
fn people_are_managed_in_a_stopped_servers_folder() {
    let folder = tempfile::tempdir().unwrap();
    Launch::new(folder.path()).start().kill();
    let data = folder.path().join("store");
    let run = |args: &[&str], input: &str| {
        let all = [&args[..1], &["--data", data.to_str().unwrap()], &args[1..]].concat();
        muster(folder.path(), &all, input)
    };
    let made = json(&run(
        &["users", "create", "--email", "ann@example.org", "--role", "viewer", "--grant", "firmware:read", "--json"],
        PASSWORD,
    ));
    assert_eq!(made["grants"], serde_json::json!(["firmware:read"]));
    assert_eq!(json(&run(&["users", "role", "ann@example.org", "operator", "--json"], ""))["role"], "operator");
    assert!(run(&["users", "password", "ann@example.org"], "another long password\n").status.success());
    assert_eq!(json(&run(&["users", "list", "--json"], ""))["users"].as_array().unwrap().len(), 2);
    let last = run(&["users", "disable", EMAIL], "");
    assert_eq!(
        (last.status.code(), output_text(&last).contains("last active super_admin")),
        (Some(1), true),
        "{last:?}"
    );
    assert_eq!(run(&["users", "delete", "nobody@example.org"], "").status.code(), Some(1));
    assert_eq!(run(&["users", "role", "ann@example.org", "emperor"], "").status.code(), Some(2));
    assert_eq!(json(&run(&["signing", "list", "--json"], ""))["keys"].as_array().unwrap().len(), 1);
    assert!(run(&["users", "delete", "ann@example.org"], "").status.success());
}

#[test]
fn a_folder_that_a_server_holds_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let _process = Launch::new(folder.path()).start();
    let refused =
        muster(folder.path(), &["users", "--data", folder.path().join("store").to_str().unwrap(), "list"], "");
    assert_eq!(
        (refused.status.code(), output_text(&refused).contains("--remote")),
        (Some(1), true),
        "{}",
        output_text(&refused)
    );
}

#[test]
fn help_shows_examples() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["login", "logout", "users", "service-accounts", "firmware", "signing"] {
        let help = muster(folder.path(), &[command, "--help"], "");
        assert!(help.status.success() && output_text(&help).contains("Example"), "{command}");
    }
}
