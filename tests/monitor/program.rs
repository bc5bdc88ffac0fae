//! `muster monitor` without a terminal: with a key, and with a stored login.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;

use muster_tasks::task::Status;
use serde_json::Value;

use super::double::{Tasks, key};
use crate::support::process::program;
use crate::support::server::Muster;
use crate::support::socket::wait_until;
use crate::support::{EMAIL, PASSWORD};

pub(super) fn monitor(muster: &Muster, key: Option<&str>, args: &[&str]) -> Command {
    let mut command = program(muster.data.path());
    command.env("HOME", muster.data.path()).env_remove("XDG_CONFIG_HOME");
    command.args(["monitor", "--server", &format!("http://{}", muster.address)]).args(args);
    if let Some(key) = key {
        command.env("MUSTER_API_KEY", key);
    }
    command
}

pub(super) fn output_text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test]
async fn a_snapshot_is_printed_once_as_a_table_or_as_json() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let ann = key(&muster.client(), &["agents"], &[]).await;
    tasks.put("task_a", &ann.id, Status::Running);
    tasks.put("task_b", "key_other", Status::Running);
    let table = output_text(&monitor(&muster, Some(&ann.text), &["--once"]).output().unwrap());
    assert!(table.lines().count() == 2 && table.contains("task_a") && table.contains("running"), "{table}");
    let json = output_text(&monitor(&muster, Some(&ann.text), &["--once", "--json"]).output().unwrap());
    let state: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((state.as_array().unwrap().len(), &state[0]["data"]["task_id"]), (1, &Value::from("task_a")));
}

#[tokio::test]
async fn a_rejected_user_gets_the_reason_and_the_remedy() {
    let muster = Muster::start("");
    let chat = key(&muster.client(), &["chat"], &[]).await;
    for (sent, received) in [(Some(chat.text.as_str()), "scope `agents`"), (None, "MUSTER_API_KEY")] {
        let output = monitor(&muster, sent, &["--once"]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains(received), "{error}");
    }
}

/// Runs another command of the same user, with this on standard input.
fn other(muster: &Muster, args: &[&str], input: &str) {
    let mut command = program(muster.data.path());
    command.env("HOME", muster.data.path()).env_remove("XDG_CONFIG_HOME").args(args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    output_text(&child.wait_with_output().unwrap());
}

#[tokio::test]
async fn a_logged_in_user_monitors_without_a_key_until_logout() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    tasks.put("task_a", "key_other", Status::Running);
    let url = format!("http://{}", muster.address);
    other(&muster, &["login", "--server", &url], &format!("{EMAIL}\n{PASSWORD}\n"));
    for _ in 0..2 {
        let table = output_text(&monitor(&muster, None, &["--once"]).output().unwrap());
        assert!(table.contains("task_a"), "an administrator sees all tasks: {table}");
    }
    // The stored token has expired: it is refreshed without a prompt.
    let kept = muster.data.path().join(".config/muster/session.json");
    let mut session: Value = serde_json::from_slice(&std::fs::read(&kept).unwrap()).unwrap();
    session["token"] = Value::from("a.b.c");
    std::fs::write(&kept, session.to_string()).unwrap();
    let table = output_text(&monitor(&muster, None, &["--once"]).output().unwrap());
    assert!(table.contains("task_a"), "{table}");
    assert_ne!(serde_json::from_slice::<Value>(&std::fs::read(&kept).unwrap()).unwrap()["token"], session["token"]);
    other(&muster, &["logout"], "");
    let refused = monitor(&muster, None, &["--once"]).output().unwrap();
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && error.contains("muster login"), "{error}");
}

#[tokio::test]
async fn a_token_of_a_login_by_e_mail_and_password_watches_too() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    tasks.put("task_a", "key_other", Status::Running);
    let (_, login) = muster.client().without_key().login(EMAIL, PASSWORD).await;
    let token = login.json()["data"]["token"].as_str().unwrap().to_owned();
    let with = |token: &str| monitor(&muster, None, &["--once"]).env("MUSTER_TOKEN", token).output().unwrap();
    assert!(output_text(&with(&token)).contains("task_a"));
    let refused = with(&format!("{token}x"));
    assert_eq!(refused.status.code(), Some(1), "{}", String::from_utf8_lossy(&refused.stderr));
}

/// A program that is killed at the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn events_are_lines_and_go_on_after_the_feed_began_anew() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let ann = key(&muster.client(), &["agents"], &[]).await;
    let mut child = Running(monitor(&muster, Some(&ann.text), &["--plain"]).stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let (send, received) = mpsc::channel();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| send.send(line)));
    let comes = |id: &str| {
        tasks.put(id, &ann.id, Status::Running);
        received.try_iter().any(|line| line.contains(&format!("agents task.state {id} code-reviewer")))
    };
    wait_until("what happens is printed", || comes("task_1")).await;
    assert!(muster.tree.inject_panic("feed/hub"));
    wait_until("the hub is back", || muster.app.feed.resets() > 0).await;
    wait_until("it continues", || comes("task_2")).await;
}
