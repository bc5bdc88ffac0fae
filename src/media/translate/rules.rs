//! Apertium: a program outside of the server, run without network.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use muster_media::segments::{SegmentReply, SegmentRequest};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::run::LegError;

/// Time limit of a run.
const LIMIT: Duration = Duration::from_secs(5);
/// Bytes of the longest output that is taken.
const MOST_OUTPUT: usize = 1 << 20;
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
    /// The program; `None` if it is not used.
    program: Option<Arc<Path>>,
    /// This server's program, which takes the network from itself before it becomes Apertium.
    launcher: Arc<Path>,
    /// Installed pairs; found at the first use.
    modes: Arc<OnceCell<Vec<String>>>,
}

impl Rules {
    pub(super) fn new(program: &Path, launcher: &Path) -> Self {
        let program = Some(program).filter(|program| !program.as_os_str().is_empty()).and_then(found);
        Self { program: program.map(Into::into), launcher: launcher.into(), modes: Arc::default() }
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

    /// Runs Apertium without network; it is killed when the future is dropped, or after 5 s.
    async fn run(&self, program: &Path, arguments: &[&str], input: &str) -> Result<String, String> {
        let mut command = Command::new(&*self.launcher);
        command.args(["offline", "--cpu-seconds=5", "--"]).arg(program).args(arguments);
        command.env_clear().env("LC_ALL", "C.UTF-8").env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        // Its own programs are its children: the group ends when the pipes close.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| format!("Apertium cannot be started: {error}"))?;
        let stdin = child.stdin.take();
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that does not read its input ends without output.
                drop(stdin.write_all(input.as_bytes()).await);
            }
        };
        let both = async { tokio::join!(write, child.wait_with_output()).1 };
        let output = match timeout(LIMIT, both).await {
            Ok(output) => output.map_err(|error| format!("Apertium cannot be read: {error}"))?,
            Err(_) => return Err(format!("Apertium took longer than {} s", LIMIT.as_secs())),
        };
        if !output.status.success() || output.stdout.len() > MOST_OUTPUT {
            return Err(format!("Apertium failed ({})", output.status));
        }
        String::from_utf8(output.stdout).map_err(|_| "Apertium's output is not UTF-8".to_owned())
    }
}

/// Returns the absolute path of a program.
fn found(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return std::path::absolute(program).ok().filter(|path| path.is_file());
    }
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"].map(Path::new);
    folders.into_iter().map(|folder| folder.join(program)).find(|path| path.is_file())
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
