//! The alternate screen of the terminal: drawing, size and keys.

use std::io::{self, Write};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{execute, queue};
use tokio::sync::mpsc;

use super::keys::{self, Key};
use super::view::{Line, Style};
use crate::terminal::RawMode;

/// The alternate screen in raw mode without a cursor. The previous screen, cursor and mode are restored on drop.
#[derive(Debug)]
pub(super) struct Screen {
    // Dropped after the previous screen is back.
    _raw: RawMode,
}

impl Screen {
    /// Switches the terminal to raw mode and to its alternate screen.
    ///
    /// # Errors
    /// There is no terminal.
    pub(super) fn enter() -> io::Result<Self> {
        let screen = Self { _raw: RawMode::enter()? };
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// Returns columns and rows; 80 by 24 if they are unknown.
    pub(super) fn size() -> (usize, usize) {
        let known = terminal::size().ok().filter(|&(columns, rows)| columns > 0 && rows > 0);
        known.map_or((80, 24), |(columns, rows)| (columns.into(), rows.into()))
    }

    /// Draws the lines over the present content.
    ///
    /// # Errors
    /// The terminal was closed.
    pub(super) fn draw(lines: &[Line]) -> io::Result<()> {
        let mut out = Vec::new();
        queue!(out, MoveTo(0, 0))?;
        for (at, line) in lines.iter().enumerate() {
            queue!(out, Print(if at > 0 { "\r\n" } else { "" }))?;
            match line.style {
                Style::Plain => {}
                Style::Header => queue!(out, SetAttribute(Attribute::Bold))?,
                Style::Selected => queue!(out, SetAttribute(Attribute::Reverse))?,
            }
            queue!(out, Print(&line.text), SetAttribute(Attribute::Reset), Clear(ClearType::UntilNewLine))?;
        }
        queue!(out, Clear(ClearType::FromCursorDown))?;
        let mut stdout = io::stdout().lock();
        stdout.write_all(&out)?;
        stdout.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that was closed need not be restored.
        let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
    }
}

/// Reads keys from the terminal from now on.
pub(super) fn key_events() -> mpsc::Receiver<Key> {
    let (send, receive) = mpsc::channel(64);
    // A separate thread, because a blocking read of the terminal cannot be cancelled. crossterm's stream would poll the
    // terminal on the thread that waits for signals, and never returns from that once the terminal was closed.
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            let Event::Key(event) = event else { continue };
            if keys::read(event).into_iter().any(|key| send.blocking_send(key).is_err()) {
                return;
            }
        }
    });
    receive
}
