//! Reads a file of the workspace folder for a step of an agent.

use std::path::{Component, Path};

use muster_core::{Error, Kind};

/// Maximum size of a file, in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Returns the content of a file below a folder.
///
/// # Errors
///
/// `Forbidden` (code `path_outside_workspace`) for a path that leaves the folder, by `..`, a link or as an absolute path;
/// `NotFound`; `TooLarge`.
pub(super) fn read(root: &Path, path: &str) -> Result<Vec<u8>, Error> {
    let outside = || {
        Error::new(Kind::Forbidden, format!("{path:?} is outside of the workspace folder"))
            .coded("path_outside_workspace")
    };
    let missing = || Error::new(Kind::NotFound, format!("there is no file {path:?} in the workspace folder"));
    let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside || path.contains('\0') {
        return Err(outside());
    }
    let root = root.canonicalize().map_err(|_| missing())?;
    let file = root.join(path).canonicalize().map_err(|_| missing())?;
    if !file.starts_with(&root) {
        return Err(outside());
    }
    let metadata = file.metadata().map_err(|_| missing())?;
    if !metadata.is_file() {
        return Err(missing());
    }
    if metadata.len() > MAX_BYTES {
        return Err(Error::new(Kind::TooLarge, format!("{path:?} has more than {MAX_BYTES} bytes")));
    }
    std::fs::read(&file).map_err(|_| missing())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_folder_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/a.rs"), "fn a() {}").unwrap();
        std::fs::write(folder.path().join("secret"), "s").unwrap();
        assert_eq!(read(&root, "src/a.rs").unwrap(), b"fn a() {}");
        assert_eq!(read(&root, "./src/a.rs").unwrap(), b"fn a() {}");
        let secret = folder.path().join("secret");
        for path in ["../secret", "src/../../secret", secret.to_str().unwrap(), "src/\0"] {
            let error = read(&root, path).unwrap_err();
            assert_eq!((error.kind, error.code), (Kind::Forbidden, Some("path_outside_workspace")), "{path}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&secret, root.join("link")).unwrap();
            assert_eq!(read(&root, "link").unwrap_err().code, Some("path_outside_workspace"));
        }
        for path in ["src", "none", ""] {
            assert_eq!(read(&root, path).unwrap_err().kind, Kind::NotFound, "{path}");
        }
    }
}
