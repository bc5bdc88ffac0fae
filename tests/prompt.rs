//! The password prompt in a pseudo-terminal: no echo, line editing, and the terminal restored.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::support::socket::wait_until;

/// Runs the command between two reports of the terminal's modes.
const SHELL: &str = "stty -g > before; sh -c 'echo $$ > pid.new; mv pid.new pid; exec \"$MUSTER\" users --data data create \
                     --email ann@example.org --role operator'; echo $? > code; stty -g > after.new; mv after.new after";

/// `muster users create` in a pseudo-terminal of `script`, a program of util-linux.
struct Prompt {
    child: Child,
    folder: tempfile::TempDir,
    output: Arc<Mutex<String>>,
}

impl Prompt {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("script");
        command.args(["-qefc", SHELL, "/dev/null"]).current_dir(folder.path()).env("SHELL", "/bin/sh");
        command.env("MUSTER", env!("CARGO_BIN_EXE_muster")).env("HOME", folder.path());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("`script` runs");
        let (output, mut out) = (Arc::<Mutex<String>>::default(), child.stdout.take().unwrap());
        let copy = Arc::clone(&output);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = out.read(&mut bytes) {
                copy.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        let prompt = Self { child, folder, output };
        wait_until("the prompt", || prompt.output.lock().unwrap().contains("password: ")).await;
        prompt
    }

    fn press(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end of the command, checks that the terminal's modes are restored, and returns exit code and output.
    async fn ended(&self) -> (String, String) {
        let after = self.folder.path().join("after");
        wait_until("the command ends", || after.exists()).await;
        assert_eq!(read(&after), read(&self.folder.path().join("before")), "the terminal's modes");
        (read(&self.folder.path().join("code")), self.output.lock().unwrap().clone())
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a_typed_password_is_not_echoed_and_can_be_edited() {
    let mut prompt = Prompt::open().await;
    // Ctrl-U deletes the line, the backspace key one character.
    prompt.press("wrong\u{15}correct horse battery x\u{7f}staple\r");
    let (code, output) = prompt.ended().await;
    assert_eq!(code, "0", "{output}");
    assert!(output.contains("ann@example.org"), "{output}");
    assert!(!output.contains("wrong") && !output.contains("horse"), "{output}");
}

#[tokio::test]
async fn the_terminal_is_restored_after_an_interrupt_and_after_a_signal() {
    for signal in [None, Some("TERM"), Some("INT"), Some("HUP")] {
        let mut prompt = Prompt::open().await;
        match signal {
            None => prompt.press("secret\u{3}"),
            Some(signal) => {
                let pid = read(&prompt.folder.path().join("pid"));
                assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
            }
        }
        let (code, output) = prompt.ended().await;
        assert_eq!(code, "1", "{signal:?}: {output}");
        assert!(!output.contains("secret"), "{signal:?}: {output}");
    }
}
