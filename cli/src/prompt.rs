//! What is asked of the person at the keyboard, or read from what is piped in.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{Command, Stdio};

/// A line: asked for where somebody sits there, else the next one of standard input.
pub(super) fn line(what: &str) -> Result<String, String> {
    if io::stdin().is_terminal() {
        eprint!("{what}: ");
        // A prompt that cannot be shown keeps nobody from typing.
        let _ = io::stderr().flush();
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| format!("{what}: {error}"))?;
    let line = line.trim_end_matches(['\n', '\r']).to_owned();
    if line.is_empty() { Err(format!("{what}: nothing was given")) } else { Ok(line) }
}

/// A password, not shown while it is typed. Never an argument: those are seen by everybody on the machine.
pub fn read_password(what: &str) -> Result<String, String> {
    if !io::stdin().is_terminal() {
        return line(what);
    }
    let echo = |mode: &str| Command::new("stty").arg(mode).stdin(Stdio::inherit()).status();
    let hidden = echo("-echo").is_ok_and(|status| status.success());
    if !hidden {
        eprintln!("the password will be seen while it is typed: stty does not answer");
    }
    let typed = line(what);
    if hidden {
        eprintln!();
        if echo("echo").is_err() {
            eprintln!("what is typed stays hidden: run `stty echo`");
        }
    }
    typed
}
