//! What a backup says about this instance, and the keys that sign it. Blocking.

use muster_audit::LogKeys;
use muster_backup::Header;
use muster_core::Millis;
use muster_tlog::{NoteSigner, VerifierKey};

use crate::config::Config;

/// Returns the header of a backup that is made now, and its signers: those of the notes of the log.
///
/// # Errors
/// The keys of the log cannot be read, or made where there are none yet.
pub fn header_of_folder(config: &Config, now: Millis) -> Result<(Header, Vec<NoteSigner>), String> {
    let keys = LogKeys::open(&config.store.path.join("signing"), now).map_err(|error| error.to_string())?.keys;
    let name = log_name(config);
    let (generation, checkpoint) = (1, None);
    let mut header = Header::new(keys.instance(), &name, generation, now.rfc3339());
    header.checkpoint = checkpoint;
    let signers = keys.signers(&header.origin, now).map_err(|error| error.to_string())?;
    Ok((header, signers))
}

/// Returns the keys that signed for this instance, none if it has none.
///
/// # Errors
/// They cannot be read.
pub fn known_keys(config: &Config) -> Result<Vec<VerifierKey>, String> {
    let keys = LogKeys::read(&config.store.path.join("signing")).map_err(|error| error.to_string())?;
    let Some(keys) = keys else { return Ok(Vec::new()) };
    keys.vkeys(&log_name(config)).map_err(|error| error.to_string())
}

/// Returns the name of the instance, with which the origin of its audit log begins.
pub fn log_name(config: &Config) -> String {
    let host = reqwest::Url::parse(&config.auth.public_url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_else(|| "muster".to_owned())
}
