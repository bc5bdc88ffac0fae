//! What runs: version, commit, and the hashes of the program's file and of its settings.

use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;

use muster_core::{Error, Kind};
use muster_governance::deploy::Program;
use sha2::{Digest, Sha256};

use crate::config::Config;

/// Commit that the program was built from, where the build says it: `MUSTER_COMMIT=… cargo build`.
const COMMIT: Option<&str> = option_env!("MUSTER_COMMIT");
/// Bytes that are hashed at a time.
const PIECE: usize = 1 << 20;

/// Returns what runs with these settings.
///
/// # Errors
/// The program's file cannot be read.
pub async fn running(config: &Config) -> Result<Program, Error> {
    let binary = tokio::task::spawn_blocking(binary_sha256).await;
    let binary = binary.map_err(|_| Error::new(Kind::Internal, "the program was not hashed"))?;
    let binary_sha256 =
        binary.map_err(|error| Error::new(Kind::Internal, format!("the program's file cannot be read: {error}")))?;
    Ok(Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: COMMIT.filter(|commit| !commit.is_empty()).map(str::to_owned),
        binary_sha256,
        config_sha256: config_sha256(config)?,
    })
}

/// Returns the hash of the file that this process was started from. It is read once: a file that is replaced later is another
/// program.
fn binary_sha256() -> io::Result<String> {
    static HASH: OnceLock<String> = OnceLock::new();
    if let Some(hash) = HASH.get() {
        return Ok(hash.clone());
    }
    // The file that runs, even if its name leads to another one by now.
    let (mut file, mut hash, mut piece) = (File::open("/proc/self/exe")?, Sha256::new(), vec![0; PIECE]);
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        hash.update(piece.get(..read).unwrap_or_default());
    }
    let hash = hex(&hash.finalize());
    Ok(HASH.get_or_init(|| hash).clone())
}

/// Returns the hash of the settings in canonical JSON. Secrets are not part of them.
fn config_sha256(config: &Config) -> Result<String, Error> {
    let internal = |error: &dyn std::fmt::Display| Error::new(Kind::Internal, format!("the settings: {error}"));
    let value = serde_json::to_value(config).map_err(|error| internal(&error))?;
    let text = muster_tlog::canonical::to_canonical(&value).map_err(|error| internal(&error))?;
    Ok(hex(&Sha256::digest(text)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_settings_have_equal_hashes_and_others_do_not() {
        let default = config_sha256(&Config::default()).unwrap();
        assert_eq!(config_sha256(&Config::default()).unwrap(), default);
        let mut other = Config::default();
        other.governance.freeze = true;
        assert_ne!(config_sha256(&other).unwrap(), default);
    }

    #[tokio::test]
    async fn the_program_is_the_file_that_runs() {
        let program = running(&Config::default()).await.unwrap();
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(program.binary_sha256, hex(&Sha256::digest(file)));
        assert_eq!(program.version, env!("CARGO_PKG_VERSION"));
    }
}
