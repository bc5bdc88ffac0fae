//! Input from the terminal, or from standard input if it is redirected.

use std::io::{self, BufRead, IsTerminal, Write};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use tokio::sync::oneshot;

use crate::terminal::{RawMode, termination};

/// Reads a line, with a prompt if standard input is a terminal.
///
/// # Errors
/// The input is empty or cannot be read.
pub(super) fn line(label: &str) -> Result<String, String> {
    if io::stdin().is_terminal() {
        print_label(label);
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| format!("{label}: {error}"))?;
    non_empty(label, line.trim_end_matches(['\n', '\r']).to_owned())
}

/// Reads a password without echo. Passwords are not arguments, because every user of the machine can see those. Must be
/// called within a Tokio runtime.
///
/// # Errors
/// The input is empty, is interrupted by Ctrl-C or a signal, or cannot be read.
pub async fn read_password(label: &str) -> Result<String, String> {
    if !io::stdin().is_terminal() {
        return line(label);
    }
    let failed = |error: io::Error| format!("{label}: {error}");
    let terminated = termination().map_err(failed)?;
    let raw = RawMode::enter().map_err(failed)?;
    print_label(label);
    let (send, receive) = oneshot::channel();
    // A separate thread, because a blocking read of the terminal cannot be cancelled.
    std::thread::spawn(move || send.send(read_hidden_line()));
    let password = tokio::select! {
        read = receive => read.unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into())),
        () = terminated => Err(io::ErrorKind::Interrupted.into()),
    };
    drop(raw);
    eprintln!();
    non_empty(label, password.map_err(failed)?)
}

/// Reads keys until Enter.
fn read_hidden_line() -> io::Result<String> {
    let mut line = String::new();
    loop {
        let Event::Key(KeyEvent { code, modifiers, .. }) = event::read()? else { continue };
        match (code, modifiers.contains(KeyModifiers::CONTROL)) {
            (KeyCode::Enter, _) | (KeyCode::Char('j' | 'd'), true) => return Ok(line),
            (KeyCode::Char('c'), true) => return Err(io::ErrorKind::Interrupted.into()),
            (KeyCode::Char('u'), true) => line.clear(),
            (KeyCode::Backspace, _) | (KeyCode::Char('h'), true) => drop(line.pop()),
            (KeyCode::Char(letter), false) => line.push(letter),
            _ => {}
        }
    }
}

fn print_label(label: &str) {
    eprint!("{label}: ");
    // Input works even if the label cannot be printed.
    let _ = io::stderr().flush();
}

fn non_empty(label: &str, line: String) -> Result<String, String> {
    if line.is_empty() { Err(format!("{label}: the input is empty")) } else { Ok(line) }
}
