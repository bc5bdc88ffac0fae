//! What a backup says about this instance, and the keys that sign it. Blocking.

use muster_audit::LogKeys;
use muster_backup::Header;
use muster_core::Millis;
use muster_tlog::{Checkpoint, Note, NoteSigner, VerifierKey};

use crate::config::Config;

/// What a data folder knows of its instance: the name of its audit log and its keys, of which there may be none yet.
pub type KnownInstance = (Option<String>, Vec<VerifierKey>);

/// Returns the header of a backup that is made now, and its signers: the keys of the audit log. `note` is the newest signed
/// checkpoint in the store.
///
/// # Errors
/// The name of the log cannot be that of a key.
pub fn new_header(
    config: &Config,
    keys: &LogKeys,
    note: Option<String>,
    now: Millis,
) -> Result<(Header, Vec<NoteSigner>), String> {
    let name = config.governance.log_name().unwrap_or_else(|| keys.instance());
    let mut header = Header::new(keys.instance(), &name, 1, now.rfc3339());
    if let Some((note, checkpoint)) = note.and_then(parsed)
        && let Some((name, generation)) = checkpoint.origin.rsplit_once("/audit/")
        && let Ok(generation) = generation.parse()
        && is_signed_by(keys, &note, &checkpoint.origin, now)
    {
        header = Header::new(keys.instance(), name, generation, now.rfc3339());
        header.checkpoint = Some(note);
    }
    let signers = keys.signers(&header.origin, now).map_err(|error| error.to_string())?;
    Ok((header, signers))
}

fn parsed(note: String) -> Option<(String, Checkpoint)> {
    let checkpoint = Note::parse(note.as_bytes()).ok()?.text().parse().ok()?;
    Some((note, checkpoint))
}

/// Returns whether one of the keys that sign now signed a checkpoint. After they were lost, that is not so until the next
/// generation has one of its own.
fn is_signed_by(keys: &LogKeys, note: &str, origin: &str, now: Millis) -> bool {
    let signers = keys.signers(origin, now).unwrap_or_default();
    let known: Vec<VerifierKey> = signers.iter().map(|signer| signer.public().clone()).collect();
    Checkpoint::open(note.as_bytes(), origin, &known).is_ok()
}

/// Returns what this data folder knows of its instance.
///
/// # Errors
/// The keys cannot be read.
pub fn known_instance(config: &Config) -> Result<KnownInstance, String> {
    let keys = LogKeys::read(&config.store.path.join("signing")).map_err(|error| error.to_string())?;
    let name = config.governance.log_name();
    let Some(keys) = keys else { return Ok((name, Vec::new())) };
    let name = name.unwrap_or_else(|| keys.instance());
    let vkeys = keys.vkeys(&name).map_err(|error| error.to_string())?;
    Ok((Some(name), vkeys))
}
