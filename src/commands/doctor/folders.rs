//! Checks of the folders beside the store: signing keys, the feed's journal, firmware images.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use muster_auth::KeyRing;
use muster_cli::Finding;
use muster_network::firmware;
use muster_store::{Journal, JournalOptions, StoreHandle};
use serde_json::Value;

use crate::private_files;

/// Checks that there are keys to sign tokens with, and that only their owner can read them.
pub(super) fn signing(data: &Path) -> Finding {
    let what = "signing keys";
    let file = data.join("signing").join("signing-keys.json");
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Finding::good(what, "none yet: the first start makes them");
        }
        Err(error) => {
            let mend = format!("make {} readable by this user: chown it, then chmod 600", file.display());
            return Finding::bad(what, format!("{}: {error}", file.display()), mend);
        }
    };
    let keys = serde_json::from_slice::<Value>(&text).ok().and_then(|file| Some(file.get("keys")?.as_array()?.len()));
    let corrupt = KeyRing::check(data.join("signing")).err();
    let mode = fs::metadata(&file).map_or(0, |meta| meta.permissions().mode());
    match keys {
        None | Some(0) => Finding::bad(
            what,
            format!("{} holds no keys", file.display()),
            "bring it back from a copy, or move it away for new keys: then everybody logs in again",
        ),
        Some(_) if mode & 0o077 != 0 => Finding::bad(
            what,
            format!("{} can be read by others than its owner (mode {:o})", file.display(), mode & 0o777),
            format!("chmod 600 {}; if others were here, run muster keys rotate", file.display()),
        ),
        Some(count) => match corrupt {
            None => Finding::good(what, format!("{count}, readable by their owner only")),
            Some(why) => Finding::bad(
                what,
                why.to_string(),
                "bring the file back from a copy, or move it away for new keys: then everybody logs in again",
            ),
        },
    }
}

/// Checks that nobody but its owner can read the data folder.
pub(super) fn permissions(data: &Path) -> Finding {
    let what = "file permissions";
    match private_files::exposed(data) {
        Ok(exposed) => match exposed.first() {
            None => Finding::good(what, "the data folder is accessible to its owner only"),
            Some(first) => Finding::bad(
                what,
                format!(
                    "{} files and folders are accessible to other users, such as {}",
                    exposed.len(),
                    first.display()
                ),
                format!("start the server, which corrects it, or chmod -R go= {}", data.display()),
            ),
        },
        Err(error) => {
            let mend = format!("make {} readable by this user: chown it", data.display());
            Finding::bad(what, format!("{}: {error}", data.display()), mend)
        }
    }
}

/// Checks that the journal of the feed can be read.
pub(super) fn feed(data: &Path) -> Finding {
    journal("feed journal", &data.join("feed"), "then subscribers begin anew with a snapshot")
}

/// Checks that the journal of the usage ledger can be read.
pub(super) fn ledger(data: &Path) -> Finding {
    journal("ledger journal", &data.join("ledger"), "then the usage of the last minutes is not charged")
}

/// Checks that a journal can be read. `loss` says what is lost without it.
fn journal(what: &str, folder: &Path, loss: &str) -> Finding {
    if !folder.exists() {
        return Finding::good(what, "none yet: the first start makes it");
    }
    let mend = format!("make {} a folder that this user may write, or move it away: {loss}", folder.display());
    let replayed = Journal::open(folder, 0, JournalOptions::default())
        .and_then(|journal| journal.replay(0, u64::MAX - 1, |_, _| {}));
    match replayed {
        Ok(replayed) => Finding::good(what, format!("{} batches can be read back", replayed.frames)),
        Err(error) => Finding::bad(what, format!("{}: {error}", folder.display()), mend),
    }
}

/// Checks that the image of every artifact that is ready is present.
pub(super) fn images(store: &StoreHandle, data: &Path) -> Finding {
    let (what, folder) = ("firmware images", data.join("firmware"));
    match firmware::missing_images(store, &folder) {
        Ok(missing) if missing.is_empty() => Finding::good(what, "every artifact that is ready has its own"),
        Ok(missing) => {
            let names: Vec<_> = missing.iter().map(|artifact| format!("{}.img", artifact.id)).take(10).collect();
            let mend = format!(
                "copy them into {} from where the backup was made, or revoke the artifacts and upload them anew",
                folder.display()
            );
            Finding::bad(what, format!("{} are not here whole: {}", missing.len(), names.join(", ")), mend)
        }
        Err(error) => Finding::bad(what, error.to_string(), "restore a backup"),
    }
}
