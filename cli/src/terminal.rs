//! The mode of the terminal, and the signals that end a program that changed it.

use std::io;

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use tokio::signal::unix::{SignalKind, signal};

/// Raw input without echo: the program gets every key at once, Ctrl-C included. The previous mode is restored on drop.
#[derive(Debug)]
pub(crate) struct RawMode(());

impl RawMode {
    /// Switches the terminal to raw mode.
    ///
    /// # Errors
    /// There is no terminal, or its mode cannot be changed.
    pub(crate) fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        Ok(Self(()))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        if disable_raw_mode().is_err() {
            use io::Write;
            // Standard error may be the closed terminal too.
            let _ = writeln!(io::stderr(), "the terminal could not be restored: run `stty sane`");
        }
    }
}

/// Returns a future that resolves at the first termination signal. In raw mode keys send no signals, but other processes
/// and a closed terminal do. Must be called before the terminal changes its mode: from then on a signal no longer ends
/// the program without restoring it.
///
/// # Errors
/// A signal handler cannot be installed.
pub(crate) fn termination() -> io::Result<impl Future<Output = ()>> {
    let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()];
    let mut signals = kinds.map(signal).into_iter().collect::<io::Result<Vec<_>>>()?;
    Ok(async move {
        let first = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        futures::future::select_all(first).await;
    })
}
