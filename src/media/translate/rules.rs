//! Apertium: a program outside of the server, run without network.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use muster_imaging::engines::{OfflineProgram, RunLimits};
use muster_media::segments::{SegmentReply, SegmentRequest};
use tokio::sync::OnceCell;

use super::run::LegError;

/// Bounds of a run.
const LIMITS: RunLimits = RunLimits { time: Duration::from_secs(5), output: 1 << 20 };
/// Separates segments: Apertium ends a sentence at a blank line, and keeps it.
const BETWEEN: &str = "\n\n";

/// How good a pair was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quality {
    /// chrF2 of 45 or more both ways.
    Measured,
    /// chrF2 of 42 to 45.
    Draft,
}

/// Languages measured with English, their ISO 639-3 codes, and how good they are.
const MEASURED: &[(&str, &str, Quality)] = &[
    ("ca", "cat", Quality::Measured),
    ("es", "spa", Quality::Measured),
    ("fr", "fra", Quality::Draft),
    ("gl", "glg", Quality::Measured),
    ("pt", "por", Quality::Measured),
];

/// Returns how good the pair was found to be; `None` of one that was not measured, or was too poor.
pub(super) fn quality(from: &str, to: &str) -> Option<Quality> {
    let other = match (from, to) {
        ("en", other) | (other, "en") => other,
        _ => return None,
    };
    MEASURED.iter().find(|(code, _, _)| *code == other).map(|&(_, _, quality)| quality)
}

/// Returns the mode of Apertium for a measured pair, if it is installed: `en-gl` or `eng-spa`.
pub(super) fn mode<'a>(modes: &'a [String], from: &str, to: &str) -> Option<&'a str> {
    quality(from, to)?;
    let long = |code: &str| match code {
        "en" => Some("eng"),
        _ => MEASURED.iter().find(|(short, _, _)| *short == code).map(|&(_, long, _)| long),
    };
    let names = |code: &str| [Some(code.to_owned()), long(code).map(str::to_owned)].into_iter().flatten();
    let wanted: Vec<String> = names(from).flat_map(|from| names(to).map(move |to| format!("{from}-{to}"))).collect();
    modes.iter().find(|mode| wanted.contains(mode)).map(String::as_str)
}

/// The program of Apertium.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// The program; `None` if it is not installed or not used.
    program: Option<OfflineProgram>,
    /// Installed pairs; found at the first use.
    modes: Arc<OnceCell<Vec<String>>>,
}

impl Rules {
    pub(super) fn new(program: &Path, launcher: &Path) -> Self {
        Self { program: OfflineProgram::find("Apertium", program, launcher), modes: Arc::default() }
    }

    /// Returns the installed modes; none if Apertium is not installed.
    pub(super) async fn modes(&self) -> &[String] {
        let list = || async {
            let Some(program) = &self.program else { return Vec::new() };
            let listed = self.run(program, &["-l"], "").await;
            let listed =
                listed.inspect_err(|why| tracing::warn!(why, "Apertium cannot list its pairs: it is not used"));
            listed.unwrap_or_default().lines().map(|line| line.trim().to_owned()).collect()
        };
        self.modes.get_or_init(list).await
    }

    /// Translates segments.
    pub(super) async fn segments(
        &self,
        from: &str,
        to: &str,
        requests: &[SegmentRequest],
    ) -> Result<Vec<SegmentReply>, LegError> {
        let modes = self.modes().await;
        let (Some(program), Some(mode)) = (&self.program, mode(modes, from, to)) else {
            return Err(LegError::Failed(format!("Apertium has no pair {from}-{to}")));
        };
        let texts: Vec<&str> = requests.iter().map(|request| request.text.as_str()).collect();
        let output = self.run(program, &["-u", mode], &texts.join(BETWEEN)).await.map_err(LegError::Failed)?;
        let replies: Vec<SegmentReply> = output
            .trim_end_matches('\n')
            .split(BETWEEN)
            .map(|text| SegmentReply { text: text.trim().to_owned(), alignment: None })
            .collect();
        if replies.len() == requests.len() {
            return Ok(replies);
        }
        let message = format!("Apertium returned {} segments for {}", replies.len(), requests.len());
        Err(LegError::Failed(message))
    }

    /// Runs Apertium without network.
    async fn run(&self, program: &OfflineProgram, arguments: &[&str], input: &str) -> Result<String, String> {
        let output = program.run(arguments, &[], input.as_bytes(), LIMITS).await.map_err(|error| error.to_string())?;
        String::from_utf8(output).map_err(|_| "Apertium's output is not UTF-8".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_measured_pairs_with_english_are_used() {
        let installed = ["eng-spa", "spa-eng", "en-gl", "eng-hbs", "spa-cat", "eng-spa_US"].map(str::to_owned);
        assert_eq!(mode(&installed, "en", "es"), Some("eng-spa"));
        assert_eq!(mode(&installed, "es", "en"), Some("spa-eng"));
        assert_eq!(mode(&installed, "en", "gl"), Some("en-gl"));
        for (from, to) in [("en", "hr"), ("es", "ca"), ("en", "fr"), ("gl", "en"), ("en", "en")] {
            assert_eq!(mode(&installed, from, to), None, "{from}-{to}");
        }
        assert_eq!(quality("fr", "en"), Some(Quality::Draft));
    }
}
