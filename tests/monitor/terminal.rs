//! `muster monitor` in a terminal: however it ends, the terminal's modes are restored.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use muster_tasks::task::Status;

use super::double::{Key, Tasks, key};
use crate::support::server::Muster;
use crate::support::socket::wait_until;

/// A monitor in a pseudo-terminal, whose settings a shell prints before and after it.
struct Screen {
    child: Child,
    folder: PathBuf,
    drawn: Arc<Mutex<String>>,
}

/// The script of the terminal's shell: modes before, the monitor's process, its exit code, modes after.
const SHELL: &str = "stty -g > before; sh -c 'echo $$ > pid.new; mv pid.new pid; exec \"$MONITOR\" monitor --server \
                     \"$SERVER\"'; echo $? > code; stty -g > behind; mv behind after";

impl Screen {
    fn open(muster: &Muster, key: &Key) -> Self {
        let folder = muster.data.path().to_owned();
        let mut command = Command::new("script");
        command.args(["-qefc", SHELL, "/dev/null"]).current_dir(&folder).env("HOME", &folder).env("SHELL", "/bin/sh");
        command.env("MONITOR", env!("CARGO_BIN_EXE_muster")).env("SERVER", format!("http://{}", muster.address));
        command.env("MUSTER_API_KEY", &key.text).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("`script` of util-linux makes the terminal");
        let (drawn, mut out) = (Arc::<Mutex<String>>::default(), child.stdout.take().unwrap());
        let heard = Arc::clone(&drawn);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = out.read(&mut bytes) {
                heard.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        Self { child, folder, drawn }
    }

    async fn wait_for(&self, text: &str) {
        wait_until(text, || self.drawn.lock().unwrap().contains(text)).await;
    }

    fn read(&self, name: &str) -> String {
        read(&self.folder.join(name))
    }

    fn press(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.read("pid")]).status().unwrap();
        assert!(sent.success(), "{name}");
    }

    /// Waits for the end; returns the monitor's exit code after checking that the modes are restored.
    async fn restored(&self) -> String {
        let after = self.folder.join("after");
        wait_until("the monitor ends", || after.exists()).await;
        assert_eq!(read(&after), self.read("before"), "the terminal's modes");
        self.wait_for("\u{1b}[?1049l").await;
        self.wait_for("\u{1b}[?25h").await;
        self.read("code")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

/// A monitor that displays a task.
async fn screen() -> (Muster, Key, Screen) {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let ann = key(&muster.client(), &["agents"], &[]).await;
    tasks.put("task_a", &ann.id, Status::Running);
    let screen = Screen::open(&muster, &ann);
    screen.wait_for("\u{1b}[?1049h").await;
    screen.wait_for("task_a").await;
    (muster, ann, screen)
}

#[tokio::test]
async fn a_signal_ends_it_and_the_terminal_is_as_it_was() {
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        let (_muster, _ann, screen) = screen().await;
        screen.signal(signal);
        assert_eq!(screen.restored().await, "0", "{signal}");
    }
}

#[tokio::test]
async fn so_it_is_where_the_operator_quits() {
    for keys in ["q", "\u{3}"] {
        let (_muster, _ann, mut screen) = screen().await;
        screen.press(keys);
        assert_eq!(screen.restored().await, "0");
    }
}

#[tokio::test]
async fn so_it_is_where_the_server_lets_it_in_no_more() {
    let (muster, ann, screen) = screen().await;
    let gone = muster.client().delete(&format!("/api/v1/keys/{}", ann.id)).await;
    assert_eq!(gone.status, 200, "{}", gone.text);
    assert_eq!(screen.restored().await, "1");
    screen.wait_for("session_revoked").await;
}

#[tokio::test]
async fn an_operator_begins_a_task_by_a_completed_id() {
    let (muster, ann, mut screen) = screen().await;
    screen.press("njson-w\t");
    screen.wait_for("agent and task: json-wrangler _").await;
    screen.press("double them\r");
    screen.wait_for("json-wrangler began task_").await;
    let client = muster.client().with(ann.text.clone());
    let tasks = client.get("/api/v1/tasks").await.json();
    assert_eq!(tasks["tasks"][0]["task"], "double them", "{tasks}");
}
