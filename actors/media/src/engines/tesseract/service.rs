//! The public face of Tesseract.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use muster_media::Rgb;
use tokio::sync::{OnceCell, Semaphore};

use super::languages::{Choice, choose, script};
use super::page::TesseractPage;
use crate::engines::program::{OfflineProgram, RunError, RunLimits};

/// Time limits of a short and of a long run.
const SHORT: RunLimits = RunLimits { time: Duration::from_secs(5), output: 1 << 16 };
const LONG: RunLimits = RunLimits { time: Duration::from_secs(20), output: 4 << 20 };
/// Pages that may wait for the one that is read.
const QUEUE: usize = 8;
/// Data by which Tesseract finds the script of a page.
const DETECTION: &str = "osd";
/// One thread: the limit of CPU time counts all of them, and the page of one client must not take all cores.
const ENVIRONMENT: &[(&str, &str)] = &[("OMP_THREAD_LIMIT", "1")];

/// Why Tesseract did not read a page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TesseractError {
    /// The program is not installed.
    #[error("Tesseract is not installed: install tesseract-ocr and the data of the language")]
    NotInstalled,
    /// It has no data for the script of the page.
    #[error("Tesseract has no data for this text: install {package}")]
    NoData {
        /// Debian's package, as far as it is known.
        package: String,
    },
    /// Too many pages wait.
    #[error("Tesseract has {QUEUE} pages waiting: try again in a few seconds")]
    Busy,
    /// The program failed, or took too long.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// The program of Tesseract. Cheap to clone. One page is read at a time.
#[derive(Debug, Clone)]
pub struct Tesseract {
    program: Option<OfflineProgram>,
    /// Installed data; found at the first use.
    installed: Arc<OnceCell<Vec<String>>>,
    running: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

impl Tesseract {
    /// Name in answers.
    pub const MODEL: &'static str = "tesseract";

    /// Finds the program; an empty one is not used. `launcher` is this server's own program.
    pub fn new(program: &Path, launcher: &Path) -> Self {
        Self {
            program: OfflineProgram::find("Tesseract", program, launcher),
            installed: Arc::default(),
            running: Arc::new(Semaphore::new(1)),
            places: Arc::new(Semaphore::new(QUEUE + 1)),
        }
    }

    /// Returns whether the program is there.
    pub fn is_installed(&self) -> bool {
        self.program.is_some()
    }

    /// Returns the names of the installed data.
    ///
    /// # Errors
    /// The program is absent, or cannot list them.
    pub async fn installed(&self) -> Result<&[String], TesseractError> {
        let program = self.program.as_ref().ok_or(TesseractError::NotInstalled)?;
        let list = || async {
            let output = program.run(&["--list-langs"], ENVIRONMENT, b"", SHORT).await?;
            // The first line is a heading.
            let names = String::from_utf8_lossy(&output);
            Ok::<_, TesseractError>(names.lines().skip(1).map(|name| name.trim().to_owned()).collect())
        };
        self.installed.get_or_try_init(list).await.map(Vec::as_slice)
    }

    /// Reads the text of a picture. `language` is the code of the language that the client expects. The program is
    /// killed when the future is dropped.
    ///
    /// # Errors
    /// The program or its data is absent, too many pages wait, it failed, or it took longer than 20 s.
    pub async fn read(&self, picture: &Rgb, language: Option<&str>) -> Result<TesseractPage, TesseractError> {
        let program = self.program.as_ref().ok_or(TesseractError::NotInstalled)?;
        let _place = self.places.try_acquire().map_err(|_| TesseractError::Busy)?;
        let _running = self.running.acquire().await.map_err(|_| TesseractError::Busy)?;
        let installed = self.installed().await?;
        let input = portable_pixmap(picture);
        let detects = installed.iter().any(|name| name == DETECTION);
        let found = match detects {
            true => program.run(&["stdin", "stdout", "--psm", "0"], ENVIRONMENT, &input, SHORT).await,
            false => Ok(Vec::new()),
        };
        // A page of few letters has no script: Tesseract fails on it.
        let found = found.map(|output| String::from_utf8_lossy(&output).into_owned()).unwrap_or_default();
        let data = match choose(installed, script(&found), language) {
            Choice::Data(names) => names.join("+"),
            Choice::Missing(name) => {
                let package = name.map_or("the data of its language".to_owned(), package_of);
                return Err(TesseractError::NoData { package });
            }
        };
        // With the data of detection, pages that are turned by quarters are read as well.
        let layout = if detects { "1" } else { "3" };
        let arguments = ["stdin", "stdout", "-l", &data, "--psm", layout, "tsv"];
        let output = program.run(&arguments, ENVIRONMENT, &input, LONG).await?;
        Ok(TesseractPage::parse(&String::from_utf8_lossy(&output), &data))
    }
}

/// Debian's package of data.
fn package_of(name: &str) -> String {
    format!("tesseract-ocr-{}", name.replace('_', "-"))
}

/// The picture in Netpbm's format of colours (P6), which needs no encoder.
fn portable_pixmap(picture: &Rgb) -> Vec<u8> {
    let mut bytes = format!("P6\n{} {}\n255\n", picture.width(), picture.height()).into_bytes();
    bytes.extend_from_slice(picture.pixels());
    bytes
}
