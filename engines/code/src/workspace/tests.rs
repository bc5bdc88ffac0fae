use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::{fs, thread};

use rustix::fs::{CWD, mknodat};
use tempfile::TempDir;

use super::*;

/// A folder with a workspace and, beside it, a secret.
struct TestWorkspace {
    folder: TempDir,
    context: Context,
}

impl TestWorkspace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("inside/docs/deep")).unwrap();
        fs::write(folder.path().join("inside/docs/a.txt"), "inside").unwrap();
        fs::write(folder.path().join("secret.txt"), "secret").unwrap();
        let context = Context::with_workspace(folder.path().join("inside"));
        Self { folder, context }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("inside").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        symlink(target, self.at(name)).unwrap();
    }

    fn fifo(&self, name: &str) {
        mknodat(CWD, self.at(name), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    fn open(&self) -> Workspace<'_> {
        Workspace::open(&self.context).unwrap()
    }

    fn find(&self, path: &str) -> Result<Entry, Failure> {
        self.open().find(path)
    }

    /// Returns the paths that a traversal visits.
    fn paths(&self, path: &str) -> Vec<String> {
        let workspace = self.open();
        let from = workspace.find(path).unwrap();
        Traversal::new(&workspace, &from, MAX_DEPTH, Hidden::Skip).map(|entry| entry.display_path()).collect()
    }
}

fn is_outside(found: &Result<Entry, Failure>) -> bool {
    matches!(found, Err(Failure::Outside { .. }))
}

#[test]
fn paths_within_are_found() {
    let fixture = TestWorkspace::new();
    for (input, path) in [(".", "."), ("docs", "docs"), ("./docs//a.txt", "docs/a.txt"), ("docs/./deep/", "docs/deep")]
    {
        assert_eq!(fixture.find(input).unwrap().display_path(), path, "{input}");
    }
    assert_eq!(fixture.open().read(&fixture.find("docs/a.txt").unwrap()).unwrap(), b"inside");
    for input in ["nothing", "docs/nothing", "docs/a.txt/below"] {
        assert!(matches!(fixture.find(input), Err(Failure::NotFound { .. })), "{input}");
    }
}

#[test]
fn a_path_with_parent_steps_or_a_root_is_rejected() {
    let fixture = TestWorkspace::new();
    let absolute = fixture.at("docs").to_str().unwrap().to_owned();
    for input in ["..", "../secret.txt", "docs/../../secret.txt", "docs/..", "/etc/passwd", "/", "//etc", &absolute] {
        assert_eq!(fixture.find(input).unwrap_err(), Failure::Outside { path: input.to_owned() });
    }
}

#[test]
fn an_invalid_path_is_rejected() {
    let fixture = TestWorkspace::new();
    for input in ["", "docs\0", "\0", &"a".repeat(256), &"a/".repeat(2_049)] {
        assert!(matches!(fixture.find(input), Err(Failure::Invalid { .. })), "{input:.9}");
    }
}

#[test]
fn a_link_out_of_the_workspace_is_rejected_at_every_position_of_a_path() {
    let fixture = TestWorkspace::new();
    fixture.link("/etc", "etc");
    fixture.link("/dev/zero", "zero");
    fixture.link("../secret.txt", "secret");
    fixture.link("../../..", "docs/up");
    fixture.link("etc", "twice");
    fixture.link("/nowhere/at/all", "nowhere");
    fixture.link(fixture.folder.path(), "above");
    let inputs =
        ["etc", "etc/passwd", "zero", "secret", "docs/up", "docs/up/etc", "twice", "nowhere", "above/secret.txt"];
    for input in inputs {
        let found = fixture.find(input);
        assert!(is_outside(&found), "{input}: {found:?}");
    }
}

#[test]
fn a_link_within_the_workspace_is_followed_when_requested() {
    let fixture = TestWorkspace::new();
    fixture.link("docs", "within");
    fixture.link("../within/deep", "docs/around");
    fixture.link(fixture.at("docs").canonicalize().unwrap(), "absolute");
    assert_eq!(fixture.find("within/a.txt").unwrap().display_path(), "docs/a.txt");
    assert_eq!(fixture.find("docs/around").unwrap().display_path(), "docs/deep");
    assert_eq!(fixture.find("absolute/a.txt").unwrap().display_path(), "docs/a.txt");
    assert_eq!(fixture.paths("."), ["absolute", "docs", "docs/a.txt", "docs/around", "docs/deep", "within"]);
}

#[test]
fn link_cycles_terminate() {
    let fixture = TestWorkspace::new();
    fixture.link("b", "a");
    fixture.link("a", "b");
    fixture.link("self/x", "self");
    fixture.link(".", "docs/here");
    for input in ["a", "self", "a/docs"] {
        assert!(matches!(fixture.find(input), Err(Failure::Invalid { .. })), "{input}");
    }
    assert_eq!(fixture.find("docs/here/here/here/a.txt").unwrap().display_path(), "docs/a.txt");
    assert_eq!(fixture.paths("docs"), ["docs/a.txt", "docs/deep", "docs/here"]);
}

#[test]
fn devices_fifos_and_sockets_are_never_opened() {
    let fixture = TestWorkspace::new();
    fixture.fifo("fifo");
    // A FIFO as ignore file would wait for a writer, /dev/zero would never end.
    fixture.fifo(".gitignore");
    fixture.link("/dev/zero", "docs/.gitignore");
    let _socket = std::os::unix::net::UnixListener::bind(fixture.at("socket")).unwrap();
    for input in ["fifo", "socket", ".gitignore"] {
        assert!(matches!(fixture.find(input), Err(Failure::Invalid { .. })), "{input}");
    }
    assert_eq!(fixture.paths("."), ["docs", "docs/a.txt", "docs/deep"]);
    let warnings = fixture.context.into_warnings();
    assert!(warnings.iter().any(|warning| warning.starts_with("fifo is not a file")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.starts_with("socket is not a file")), "{warnings:?}");
}

#[test]
fn a_file_swapped_after_its_lookup_is_not_read() {
    let fixture = TestWorkspace::new();
    let swaps: [&dyn Fn(); 3] =
        [&|| fixture.link("/etc/passwd", "docs/a.txt"), &|| fixture.fifo("docs/a.txt"), &|| {
            fixture.write("docs/a.txt", "another file of the same name")
        }];
    for (at, swap) in swaps.into_iter().enumerate() {
        let (workspace, entry) = (fixture.open(), fixture.find("docs/a.txt").unwrap());
        // The old file stays, so that its inode number is not reused.
        fs::rename(fixture.at("docs/a.txt"), fixture.at(&format!("docs/old{at}"))).unwrap();
        swap();
        let read = workspace.read(&entry);
        assert!(matches!(read, Err(Unread::Changed)), "{at}: {read:?}");
        fs::remove_file(fixture.at("docs/a.txt")).unwrap();
        fixture.write("docs/a.txt", "inside");
    }
}

#[test]
fn a_folder_replaced_by_a_link_is_not_followed() {
    let fixture = TestWorkspace::new();
    fs::create_dir(fixture.folder.path().join("other")).unwrap();
    fs::write(fixture.folder.path().join("other/a.txt"), "secret").unwrap();
    let (workspace, entry, folder) =
        (fixture.open(), fixture.find("docs/a.txt").unwrap(), fixture.find("docs").unwrap());
    fs::rename(fixture.at("docs"), fixture.at("moved")).unwrap();
    fixture.link(fixture.folder.path().join("other"), "docs");
    assert_eq!(workspace.read(&entry).unwrap(), b"inside", "the folder that was opened, wherever it is now");
    let paths: Vec<_> = Traversal::new(&workspace, &folder, 1, Hidden::Include).collect();
    assert_eq!(paths.iter().map(Entry::display_path).collect::<Vec<_>>(), ["docs/a.txt", "docs/deep"]);
    assert_eq!(workspace.read(&paths[0]).unwrap(), b"inside");
}

/// A thread swaps a folder for a link to the outside as fast as possible; only inside files are read.
#[test]
fn no_race_reads_outside_the_workspace() {
    let fixture = TestWorkspace::new();
    fs::create_dir(fixture.folder.path().join("other")).unwrap();
    fs::write(fixture.folder.path().join("other/a.txt"), "secret").unwrap();
    let (docs, moved, other) = (fixture.at("docs"), fixture.at("moved"), fixture.folder.path().join("other"));
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                fs::rename(&docs, &moved).unwrap();
                symlink(&other, &docs).unwrap();
                fs::remove_file(&docs).unwrap();
                fs::rename(&moved, &docs).unwrap();
            }
        });
        for _ in 0..2_000 {
            let workspace = fixture.open();
            if let Ok(Ok(bytes)) = workspace.find("docs/a.txt").map(|entry| workspace.read(&entry)) {
                assert_eq!(bytes, b"inside");
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_huge_file_is_skipped_without_reading_it() {
    let fixture = TestWorkspace::new();
    fs::File::create(fixture.at("huge")).unwrap().set_len(10_000_000_000).unwrap();
    let (workspace, entry) = (fixture.open(), fixture.find("huge").unwrap());
    assert_eq!(entry.size, 10_000_000_000);
    assert!(matches!(workspace.read(&entry), Err(Unread::Large)));
    assert_eq!(workspace.read.get(), 0);
}

#[test]
fn a_file_that_grew_is_read_up_to_the_limit() {
    let fixture = TestWorkspace::new();
    let (workspace, entry) = (fixture.open(), fixture.find("docs/a.txt").unwrap());
    fs::OpenOptions::new().write(true).open(fixture.at("docs/a.txt")).unwrap().set_len(10_000_000_000).unwrap();
    assert!(matches!(workspace.read(&entry), Err(Unread::Large)));
    assert_eq!(workspace.read.get(), MAX_FILE + 1);
}

#[test]
fn the_bytes_read_by_one_call_are_limited() {
    let fixture = TestWorkspace::new();
    fs::File::create(fixture.at("large")).unwrap().set_len(MAX_FILE).unwrap();
    let (workspace, entry) = (fixture.open(), fixture.find("large").unwrap());
    for _ in 0..MAX_READ / MAX_FILE {
        assert_eq!(workspace.read(&entry).unwrap().len() as u64, MAX_FILE);
    }
    assert!(matches!(workspace.read(&entry), Err(Unread::Spent)));
}

#[test]
fn a_tree_a_thousand_folders_deep_is_traversed_to_the_limit() {
    let fixture = TestWorkspace::new();
    let mut folder = fixture.open().root;
    for _ in 0..1_000 {
        rustix::fs::mkdirat(&*folder, "d", Mode::RWXU).unwrap();
        folder = Rc::new(open_folder(&folder, OsStr::new("d")).unwrap());
    }
    let workspace = fixture.open();
    let from = workspace.find("d").unwrap();
    let mut traversal = Traversal::new(&workspace, &from, usize::MAX, Hidden::Include);
    assert_eq!(traversal.by_ref().count(), MAX_DEPTH);
    assert_eq!(traversal.unentered, 1);
    assert!(workspace.find(&["d"; 900].join("/")).is_ok());
    assert!(matches!(workspace.find(&["d"; 1_000].join("/")), Err(Failure::Invalid { .. })));
}

#[test]
fn names_that_are_not_utf_8_are_listed_and_read() {
    let fixture = TestWorkspace::new();
    fs::write(fixture.at("docs").join(OsStr::from_bytes(b"\xff.txt")), "odd").unwrap();
    let workspace = fixture.open();
    let from = workspace.find("docs").unwrap();
    let entries: Vec<_> = Traversal::new(&workspace, &from, 1, Hidden::Skip).collect();
    let odd = entries.last().unwrap();
    assert_eq!(odd.display_path(), "docs/\u{fffd}.txt");
    assert_eq!(workspace.read(odd).unwrap(), b"odd");
}

/// gitignore(5), "PATTERN FORMAT" and "EXAMPLES".
#[test]
fn ignore_files_apply_as_in_git() {
    let fixture = TestWorkspace::new();
    fixture.write(".gitignore", "# no pattern\n\nhello.*\n!hello.txt\n/foo/*\n!/foo/bar\nfrotz/\ndoc/frotz\n*.[oa]\n");
    let ignored = ["hello.c", "foo/x", "frotz/x", "a/frotz/x", "doc/frotz", "deep/down/lib.a", "lib.o"];
    let kept = ["hello.txt", "foo/bar/x", "a/doc/frotz", "b/frotz", "lib.so"];
    ignored.iter().chain(&kept).for_each(|path| fixture.write(path, ""));
    let paths = fixture.paths(".");
    for path in ignored {
        assert!(!paths.contains(&path.to_owned()), "{path}");
    }
    for path in kept {
        assert!(paths.contains(&path.to_owned()), "{path}");
    }
}

#[test]
fn deeper_rules_and_search_ignore_files_take_precedence_over_git() {
    let fixture = TestWorkspace::new();
    fixture.write(".gitignore", "*.log\n*.tmp\n");
    fixture.write("docs/.gitignore", "!*.log\n");
    fixture.write("docs/.ignore", "b.log\n!a.tmp\n");
    ["x.log", "docs/a.log", "docs/b.log", "docs/a.tmp"].iter().for_each(|path| fixture.write(path, ""));
    assert_eq!(fixture.paths("."), ["docs", "docs/a.log", "docs/a.tmp", "docs/a.txt", "docs/deep"]);
    fixture.write("docs/deep/x.tmp", "");
    assert!(fixture.paths("docs/deep").is_empty(), "the rules of the folders above count too");
}

#[test]
fn hidden_names_are_skipped_unless_requested_and_git_folders_always() {
    let fixture = TestWorkspace::new();
    ["docs/.hidden", ".git/config", "docs/.git"].iter().for_each(|path| fixture.write(path, ""));
    assert_eq!(fixture.paths("."), ["docs", "docs/a.txt", "docs/deep"]);
    let workspace = fixture.open();
    let from = workspace.find("docs").unwrap();
    let all: Vec<_> = Traversal::new(&workspace, &from, 1, Hidden::Include).map(|entry| entry.display_path()).collect();
    assert_eq!(all, ["docs/.hidden", "docs/a.txt", "docs/deep"]);
}
