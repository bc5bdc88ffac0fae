//! The log writer: standard error, many lines per write.
//!
//! Writing each line separately would cost every request a system call. Buffered lines are written within [`EVERY`], at
//! the end of the process and before the message of a panic; `kill -9` loses at most that much of the log.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

const EVERY: Duration = Duration::from_millis(50);
/// Buffer size at which the logging thread itself writes, so that a slow terminal slows the server but loses no lines.
const FULL: usize = 256 << 10;

/// A buffered standard error. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LogWriter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Vec<u8>>,
    some: Condvar,
}

impl Shared {
    fn lines(&self) -> MutexGuard<'_, Vec<u8>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogWriter {
    /// Starts the writer thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start() -> io::Result<Self> {
        let writer = Self::default();
        let (background, at_panic) = (writer.clone(), writer.clone());
        std::thread::Builder::new().name("log".to_owned()).spawn(move || background.run())?;
        let previous_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            at_panic.flush_all();
            previous_hook(panic);
        }));
        Ok(writer)
    }

    fn run(&self) {
        loop {
            let lines = self.0.lines();
            drop(self.0.some.wait_while(lines, |lines| lines.is_empty()));
            std::thread::sleep(EVERY);
            self.flush_all();
        }
    }

    /// Writes the buffered lines.
    pub fn flush_all(&self) {
        // The lock is held during the write, so that lines keep their order.
        let mut lines = self.0.lines();
        // A log that cannot be written cannot report that.
        let _ = io::stderr().write_all(&lines);
        lines.clear();
    }
}

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut lines = self.0.lines();
        if lines.is_empty() {
            self.0.some.notify_one();
        }
        lines.extend_from_slice(bytes);
        if lines.len() >= FULL {
            drop(lines);
            self.flush_all();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
