//! Permissions of the data folder: nobody but its owner may read it.
//!
//! Only the server's own entries are looked at, because the data folder may be one that also holds other things. The
//! folder of signing keys is left out: keys that others could read are replaced, not hidden (`muster doctor`).

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Entries of the data folder.
const NAMES: [&str; 10] =
    ["lock", "live", "snapshots", "ledger", "feed", "firmware", "memory", "audit", "restore.tmp", "replace.ready"];
/// Beginnings of the names of stores that were moved aside, and of those that are being built.
const PREFIXES: [&str; 3] = ["replaced-", "quarantine-", "compact"];
/// What group and others may do.
const OTHERS: u32 = 0o077;

/// Returns the entries of a data folder that group or others may access, the folder itself included. Empty if there is no
/// such folder.
///
/// # Errors
/// A folder cannot be read.
pub fn exposed(data: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    visit(data, &mut |path, meta| {
        if meta.permissions().mode() & OTHERS != 0 {
            found.push(path.to_owned());
        }
        Ok(())
    })?;
    Ok(found)
}

/// Restricts the files that an earlier version or a copy left accessible to other users, and logs what it changed.
pub fn restrict_and_report(folder: &Path) {
    match restrict(folder) {
        Ok(0) => {}
        Ok(changed) => {
            tracing::warn!(changed, "files of the data folder were accessible to other users: now they are not")
        }
        Err(error) => {
            tracing::error!(%error, "files of the data folder may be accessible to other users: chown and chmod them")
        }
    }
}

/// Takes the permissions of group and others away from all entries of a data folder. Returns the number of entries that
/// had any.
///
/// # Errors
/// A folder cannot be read, or permissions cannot be changed, as when the files belong to another user.
pub fn restrict(data: &Path) -> io::Result<usize> {
    let mut changed = 0;
    visit(data, &mut |path, meta| {
        let mode = meta.permissions().mode();
        if mode & OTHERS != 0 {
            fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS))
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            changed += 1;
        }
        Ok(())
    })?;
    Ok(changed)
}

type Visitor<'a> = &'a mut dyn FnMut(&Path, &Metadata) -> io::Result<()>;

/// Visits the data folder and the server's entries in it. Symbolic links are not followed below it.
fn visit(data: &Path, visitor: Visitor<'_>) -> io::Result<()> {
    let meta = match fs::metadata(data) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta?,
    };
    visitor(data, &meta)?;
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if NAMES.contains(&&*name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            below(&entry.path(), visitor)?;
        }
    }
    Ok(())
}

fn below(path: &Path, visitor: Visitor<'_>) -> io::Result<()> {
    let meta = match fs::symlink_metadata(path) {
        // A file that was removed meanwhile exposes nothing.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta?,
    };
    if meta.is_symlink() {
        return Ok(());
    }
    visitor(path, &meta)?;
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            below(&entry?.path(), visitor)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_entries_are_restricted_and_others_are_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        assert_eq!((exposed(&data).unwrap(), restrict(&data).unwrap()), (Vec::new(), 0), "there is none");
        for folder in ["live/blobs", "replaced-20260101/live", "signing", "notes"] {
            fs::create_dir_all(data.join(folder)).unwrap();
        }
        for file in ["live/db", "live/blobs/1", "replaced-20260101/live/db", "signing/keys", "notes/a", "lock", "x"] {
            fs::write(data.join(file), b"x").unwrap();
            fs::set_permissions(data.join(file), Permissions::from_mode(0o644)).unwrap();
        }
        std::os::unix::fs::symlink(data.join("notes"), data.join("live/link")).unwrap();
        let mode = |path: &str| fs::metadata(data.join(path)).unwrap().permissions().mode() & 0o777;
        assert!(restrict(&data).unwrap() > 4);
        assert_eq!((mode("."), mode("live"), mode("live/blobs")), (0o700, 0o700, 0o700));
        for file in ["live/db", "live/blobs/1", "replaced-20260101/live/db", "lock"] {
            assert_eq!(mode(file), 0o600, "{file}");
        }
        for file in ["signing/keys", "notes/a", "x"] {
            assert_eq!(mode(file), 0o644, "{file}");
        }
        assert_eq!((exposed(&data).unwrap(), restrict(&data).unwrap()), (Vec::new(), 0));
        fs::set_permissions(data.join("live/db"), Permissions::from_mode(0o640)).unwrap();
        assert_eq!(exposed(&data).unwrap(), [data.join("live/db")]);
    }
}
