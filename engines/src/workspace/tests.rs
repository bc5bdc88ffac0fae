use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::{fs, thread};

use rustix::fs::{CWD, mknodat};
use tempfile::TempDir;

use super::*;

/// A folder with a workspace and, beside it, a secret.
struct Place {
    folder: TempDir,
    context: Context,
}

impl Place {
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

    /// The paths of a walk.
    fn walk(&self, path: &str) -> Vec<String> {
        let workspace = self.open();
        let from = workspace.find(path).unwrap();
        Walk::new(&workspace, &from, MAX_DEPTH, Hidden::LeftOut).map(|entry| entry.shown()).collect()
    }
}

fn is_outside(found: &Result<Entry, Failure>) -> bool {
    matches!(found, Err(Failure::Outside { .. }))
}

#[test]
fn paths_within_are_found() {
    let place = Place::new();
    for (given, path) in [(".", "."), ("docs", "docs"), ("./docs//a.txt", "docs/a.txt"), ("docs/./deep/", "docs/deep")]
    {
        assert_eq!(place.find(given).unwrap().shown(), path, "{given}");
    }
    assert_eq!(place.open().read(&place.find("docs/a.txt").unwrap()).unwrap(), b"inside");
    for given in ["nothing", "docs/nothing", "docs/a.txt/below"] {
        assert!(matches!(place.find(given), Err(Failure::NotFound { .. })), "{given}");
    }
}

#[test]
fn a_path_may_not_go_up_nor_begin_at_the_top() {
    let place = Place::new();
    let absolute = place.at("docs").to_str().unwrap().to_owned();
    for given in ["..", "../secret.txt", "docs/../../secret.txt", "docs/..", "/etc/passwd", "/", "//etc", &absolute] {
        assert_eq!(place.find(given).unwrap_err(), Failure::Outside { path: given.to_owned() });
    }
}

#[test]
fn what_is_no_path_is_said_to_be_none() {
    let place = Place::new();
    for given in ["", "docs\0", "\0", &"a".repeat(256), &"a/".repeat(2_049)] {
        assert!(matches!(place.find(given), Err(Failure::Invalid { .. })), "{given:.9}");
    }
}

#[test]
fn a_link_that_leads_out_is_refused_at_every_place_in_a_path() {
    let place = Place::new();
    place.link("/etc", "etc");
    place.link("/dev/zero", "zero");
    place.link("../secret.txt", "secret");
    place.link("../../..", "docs/up");
    place.link("etc", "twice");
    place.link("/nowhere/at/all", "nowhere");
    place.link(place.folder.path(), "above");
    let given =
        ["etc", "etc/passwd", "zero", "secret", "docs/up", "docs/up/etc", "twice", "nowhere", "above/secret.txt"];
    for given in given {
        let found = place.find(given);
        assert!(is_outside(&found), "{given}: {found:?}");
    }
}

#[test]
fn a_link_within_is_followed_where_it_is_asked_for() {
    let place = Place::new();
    place.link("docs", "within");
    place.link("../within/deep", "docs/around");
    place.link(place.at("docs").canonicalize().unwrap(), "absolute");
    assert_eq!(place.find("within/a.txt").unwrap().shown(), "docs/a.txt");
    assert_eq!(place.find("docs/around").unwrap().shown(), "docs/deep");
    assert_eq!(place.find("absolute/a.txt").unwrap().shown(), "docs/a.txt");
    assert_eq!(place.walk("."), ["absolute", "docs", "docs/a.txt", "docs/around", "docs/deep", "within"]);
}

#[test]
fn links_that_go_round_end() {
    let place = Place::new();
    place.link("b", "a");
    place.link("a", "b");
    place.link("self/x", "self");
    place.link(".", "docs/here");
    for given in ["a", "self", "a/docs"] {
        assert!(matches!(place.find(given), Err(Failure::Invalid { .. })), "{given}");
    }
    assert_eq!(place.find("docs/here/here/here/a.txt").unwrap().shown(), "docs/a.txt");
    assert_eq!(place.walk("docs"), ["docs/a.txt", "docs/deep", "docs/here"]);
}

#[test]
fn devices_fifos_and_sockets_are_never_opened() {
    let place = Place::new();
    place.fifo("fifo");
    // A FIFO as ignore file would wait for a writer, /dev/zero would never end.
    place.fifo(".gitignore");
    place.link("/dev/zero", "docs/.gitignore");
    let _socket = std::os::unix::net::UnixListener::bind(place.at("socket")).unwrap();
    for given in ["fifo", "socket", ".gitignore"] {
        assert!(matches!(place.find(given), Err(Failure::Invalid { .. })), "{given}");
    }
    assert_eq!(place.walk("."), ["docs", "docs/a.txt", "docs/deep"]);
    let warnings = place.context.into_warnings();
    assert!(warnings.iter().any(|warning| warning.starts_with("fifo is no file")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.starts_with("socket is no file")), "{warnings:?}");
}

#[test]
fn what_is_swapped_after_the_look_is_not_read() {
    let place = Place::new();
    let swaps: [&dyn Fn(); 3] = [&|| place.link("/etc/passwd", "docs/a.txt"), &|| place.fifo("docs/a.txt"), &|| {
        place.write("docs/a.txt", "another file of the same name")
    }];
    for (at, swap) in swaps.into_iter().enumerate() {
        let (workspace, entry) = (place.open(), place.find("docs/a.txt").unwrap());
        // The old file stays, so that its inode number is not reused.
        fs::rename(place.at("docs/a.txt"), place.at(&format!("docs/old{at}"))).unwrap();
        swap();
        let read = workspace.read(&entry);
        assert!(matches!(read, Err(Unread::Changed)), "{at}: {read:?}");
        fs::remove_file(place.at("docs/a.txt")).unwrap();
        place.write("docs/a.txt", "inside");
    }
}

#[test]
fn a_folder_that_becomes_a_link_leads_nowhere_else() {
    let place = Place::new();
    fs::create_dir(place.folder.path().join("other")).unwrap();
    fs::write(place.folder.path().join("other/a.txt"), "secret").unwrap();
    let (workspace, entry, folder) = (place.open(), place.find("docs/a.txt").unwrap(), place.find("docs").unwrap());
    fs::rename(place.at("docs"), place.at("moved")).unwrap();
    place.link(place.folder.path().join("other"), "docs");
    assert_eq!(workspace.read(&entry).unwrap(), b"inside", "the folder that was looked at, wherever it is now");
    let walked: Vec<_> = Walk::new(&workspace, &folder, 1, Hidden::Shown).collect();
    assert_eq!(walked.iter().map(Entry::shown).collect::<Vec<_>>(), ["docs/a.txt", "docs/deep"]);
    assert_eq!(workspace.read(&walked[0]).unwrap(), b"inside");
}

/// A thread swaps a folder for a link to the outside as fast as possible; only inside files are read.
#[test]
fn no_race_reads_what_is_outside() {
    let place = Place::new();
    fs::create_dir(place.folder.path().join("other")).unwrap();
    fs::write(place.folder.path().join("other/a.txt"), "secret").unwrap();
    let (docs, moved, other) = (place.at("docs"), place.at("moved"), place.folder.path().join("other"));
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
            let workspace = place.open();
            if let Ok(Ok(bytes)) = workspace.find("docs/a.txt").map(|entry| workspace.read(&entry)) {
                assert_eq!(bytes, b"inside");
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_huge_file_costs_nothing() {
    let place = Place::new();
    fs::File::create(place.at("huge")).unwrap().set_len(10_000_000_000).unwrap();
    let (workspace, entry) = (place.open(), place.find("huge").unwrap());
    assert_eq!(entry.size, 10_000_000_000);
    assert!(matches!(workspace.read(&entry), Err(Unread::Large)));
    assert_eq!(workspace.read.get(), 0);
}

#[test]
fn a_file_that_grew_is_read_no_further_than_the_bound() {
    let place = Place::new();
    let (workspace, entry) = (place.open(), place.find("docs/a.txt").unwrap());
    fs::OpenOptions::new().write(true).open(place.at("docs/a.txt")).unwrap().set_len(10_000_000_000).unwrap();
    assert!(matches!(workspace.read(&entry), Err(Unread::Large)));
    assert_eq!(workspace.read.get(), MAX_FILE + 1);
}

#[test]
fn one_call_reads_only_so_much() {
    let place = Place::new();
    fs::File::create(place.at("large")).unwrap().set_len(MAX_FILE).unwrap();
    let (workspace, entry) = (place.open(), place.find("large").unwrap());
    for _ in 0..MAX_READ / MAX_FILE {
        assert_eq!(workspace.read(&entry).unwrap().len() as u64, MAX_FILE);
    }
    assert!(matches!(workspace.read(&entry), Err(Unread::Spent)));
}

#[test]
fn a_tree_a_thousand_folders_deep_is_walked_to_the_bound() {
    let place = Place::new();
    let mut folder = place.open().root;
    for _ in 0..1_000 {
        rustix::fs::mkdirat(&*folder, "d", Mode::RWXU).unwrap();
        folder = Rc::new(open_folder(&folder, OsStr::new("d")).unwrap());
    }
    let workspace = place.open();
    let from = workspace.find("d").unwrap();
    let mut walk = Walk::new(&workspace, &from, usize::MAX, Hidden::Shown);
    assert_eq!(walk.by_ref().count(), MAX_DEPTH);
    assert_eq!(walk.unentered, 1);
    assert!(workspace.find(&["d"; 900].join("/")).is_ok());
    assert!(matches!(workspace.find(&["d"; 1_000].join("/")), Err(Failure::Invalid { .. })));
}

#[test]
fn names_that_are_not_utf_8_are_shown_and_read() {
    let place = Place::new();
    fs::write(place.at("docs").join(OsStr::from_bytes(b"\xff.txt")), "odd").unwrap();
    let workspace = place.open();
    let from = workspace.find("docs").unwrap();
    let entries: Vec<_> = Walk::new(&workspace, &from, 1, Hidden::LeftOut).collect();
    let odd = entries.last().unwrap();
    assert_eq!(odd.shown(), "docs/\u{fffd}.txt");
    assert_eq!(workspace.read(odd).unwrap(), b"odd");
}

/// gitignore(5), "PATTERN FORMAT" and "EXAMPLES".
#[test]
fn ignore_files_are_obeyed_as_git_does() {
    let place = Place::new();
    place.write(".gitignore", "# no pattern\n\nhello.*\n!hello.txt\n/foo/*\n!/foo/bar\nfrotz/\ndoc/frotz\n*.[oa]\n");
    let ignored = ["hello.c", "foo/x", "frotz/x", "a/frotz/x", "doc/frotz", "deep/down/lib.a", "lib.o"];
    let kept = ["hello.txt", "foo/bar/x", "a/doc/frotz", "b/frotz", "lib.so"];
    ignored.iter().chain(&kept).for_each(|path| place.write(path, ""));
    let walked = place.walk(".");
    for path in ignored {
        assert!(!walked.contains(&path.to_owned()), "{path}");
    }
    for path in kept {
        assert!(walked.contains(&path.to_owned()), "{path}");
    }
}

#[test]
fn deeper_rules_go_before_and_ignore_files_of_search_before_git() {
    let place = Place::new();
    place.write(".gitignore", "*.log\n*.tmp\n");
    place.write("docs/.gitignore", "!*.log\n");
    place.write("docs/.ignore", "b.log\n!a.tmp\n");
    ["x.log", "docs/a.log", "docs/b.log", "docs/a.tmp"].iter().for_each(|path| place.write(path, ""));
    assert_eq!(place.walk("."), ["docs", "docs/a.log", "docs/a.tmp", "docs/a.txt", "docs/deep"]);
    place.write("docs/deep/x.tmp", "");
    assert!(place.walk("docs/deep").is_empty(), "the rules of the folders above count too");
}

#[test]
fn hidden_names_are_left_out_unless_asked_for_and_gits_own_always() {
    let place = Place::new();
    ["docs/.hidden", ".git/config", "docs/.git"].iter().for_each(|path| place.write(path, ""));
    assert_eq!(place.walk("."), ["docs", "docs/a.txt", "docs/deep"]);
    let workspace = place.open();
    let from = workspace.find("docs").unwrap();
    let all: Vec<_> = Walk::new(&workspace, &from, 1, Hidden::Shown).map(|entry| entry.shown()).collect();
    assert_eq!(all, ["docs/.hidden", "docs/a.txt", "docs/deep"]);
}
