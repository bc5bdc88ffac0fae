//! The terminal: keys as they are pressed, and a screen that is drawn over.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use tokio::sync::mpsc;

use super::keys::{self, Key};
use super::view::{Line, Look};

/// The terminal in another mode; dropped, it is as it was.
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
    /// Keys come one by one and unseen, and the screen is another one (xterm's alternate screen).
    ///
    /// # Errors
    /// There is no terminal, or `stty` does not answer.
    pub(super) fn take() -> io::Result<Self> {
        let before = stty(&["-g"])?;
        stty(&["-icanon", "-echo", "-isig", "-ixon", "min", "1", "time", "0"])?;
        let taken = Self { before };
        say("\x1b[?1049h\x1b[?25l")?;
        Ok(taken)
    }

    /// Columns and rows; 80 by 24 where nobody knows.
    pub(super) fn size() -> (usize, usize) {
        let said = stty(&["size"]).unwrap_or_default();
        let read = said.split_once(' ').and_then(|(rows, columns)| Some((columns.parse().ok()?, rows.parse().ok()?)));
        read.filter(|&(columns, rows): &(usize, usize)| columns > 0 && rows > 0).unwrap_or((80, 24))
    }

    /// Draws over what is there.
    pub(super) fn draw(lines: &[Line]) -> io::Result<()> {
        let mut out = String::from("\x1b[H");
        for (at, line) in lines.iter().enumerate() {
            out.push_str(if at > 0 { "\r\n" } else { "" });
            out.push_str(match line.look {
                Look::Plain => "",
                Look::Head => "\x1b[1m",
                Look::Selected => "\x1b[7m",
            });
            out.push_str(&line.text);
            out.push_str("\x1b[0m\x1b[K");
        }
        out.push_str("\x1b[J");
        say(&out)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = say("\x1b[?25h\x1b[?1049l");
        if stty(&[&self.before]).is_err() {
            // Where standard error is that terminal it may be gone too.
            let _ = writeln!(io::stderr(), "the terminal stays as it is: run `stty sane`");
        }
    }
}

fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The keys that are pressed from now on.
pub(super) fn pressed() -> mpsc::Receiver<Key> {
    let (send, receive) = mpsc::channel(64);
    // A thread of its own: a read of the terminal cannot be given up.
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
