//! Input from the terminal, or from standard input if it is redirected.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{Command, Stdio};

/// Reads a line, with a prompt if standard input is a terminal.
pub(super) fn line(what: &str) -> Result<String, String> {
    if io::stdin().is_terminal() {
        eprint!("{what}: ");
        // Input works even if the prompt cannot be printed.
        let _ = io::stderr().flush();
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| format!("{what}: {error}"))?;
    let line = line.trim_end_matches(['\n', '\r']).to_owned();
    if line.is_empty() { Err(format!("{what}: the input is empty")) } else { Ok(line) }
}

/// Reads a password without echo. Passwords are no arguments, because every user of the machine can see those.
///
/// # Errors
/// The input is empty or cannot be read.
pub fn read_password(what: &str) -> Result<String, String> {
    if !io::stdin().is_terminal() {
        return line(what);
    }
    let echo = |mode: &str| Command::new("stty").arg(mode).stdin(Stdio::inherit()).status();
    let hidden = echo("-echo").is_ok_and(|status| status.success());
    if !hidden {
        eprintln!("the password will be visible while you type: `stty` failed");
    }
    let typed = line(what);
    if hidden {
        eprintln!();
        if echo("echo").is_err() {
            eprintln!("the terminal still hides input: run `stty echo`");
        }
    }
    typed
}
