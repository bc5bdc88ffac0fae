//! The terminal: raw keyboard input and drawing on the alternate screen.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use tokio::sync::mpsc;

use super::keys::{self, Key};
use super::view::{Line, Style};

/// The terminal in raw mode. Its previous mode is restored on drop.
pub(super) struct Terminal {
    before: String,
}

fn stty(args: &[&str]) -> io::Result<String> {
    let done = Command::new("stty").args(args).stdin(Stdio::inherit()).output()?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned());
    }
    Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned()))
}

impl Terminal {
    /// Switches the terminal to raw input without echo, and to xterm's alternate screen.
    ///
    /// # Errors
    /// There is no terminal, or `stty` fails.
    pub(super) fn take() -> io::Result<Self> {
        let before = stty(&["-g"])?;
        stty(&["-icanon", "-echo", "-isig", "-ixon", "min", "1", "time", "0"])?;
        let taken = Self { before };
        write("\x1b[?1049h\x1b[?25l")?;
        Ok(taken)
    }

    /// Returns columns and rows; 80 by 24 if they are unknown.
    pub(super) fn size() -> (usize, usize) {
        let size = stty(&["size"]).unwrap_or_default();
        let read = size.split_once(' ').and_then(|(rows, columns)| Some((columns.parse().ok()?, rows.parse().ok()?)));
        read.filter(|&(columns, rows): &(usize, usize)| columns > 0 && rows > 0).unwrap_or((80, 24))
    }

    /// Draws the lines over the present content.
    pub(super) fn draw(lines: &[Line]) -> io::Result<()> {
        let mut out = String::from("\x1b[H");
        for (at, line) in lines.iter().enumerate() {
            out.push_str(if at > 0 { "\r\n" } else { "" });
            out.push_str(match line.style {
                Style::Plain => "",
                Style::Header => "\x1b[1m",
                Style::Selected => "\x1b[7m",
            });
            out.push_str(&line.text);
            out.push_str("\x1b[0m\x1b[K");
        }
        out.push_str("\x1b[J");
        write(&out)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that was closed need not be restored.
        let _ = write("\x1b[?25h\x1b[?1049l");
        if stty(&[&self.before]).is_err() {
            // Standard error may be the closed terminal too.
            let _ = writeln!(io::stderr(), "the terminal could not be restored: run `stty sane`");
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Reads keys from standard input from now on.
pub(super) fn key_events() -> mpsc::Receiver<Key> {
    let (send, receive) = mpsc::channel(64);
    // A separate thread, because a blocking read of the terminal cannot be cancelled.
    std::thread::spawn(move || {
        let mut bytes = [0; 256];
        while let Ok(count) = io::stdin().read(&mut bytes) {
            let keys = keys::read(bytes.get(..count).unwrap_or_default());
            if count == 0 || keys.into_iter().any(|key| send.blocking_send(key).is_err()) {
                return;
            }
        }
    });
    receive
}
