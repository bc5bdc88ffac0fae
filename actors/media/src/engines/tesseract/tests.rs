use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use muster_media::Rgb;

use super::languages::{Choice, choose, script};
use super::{Tesseract, TesseractError, TesseractPage};
use crate::engines::RunError;

/// Writes an executable script.
fn executable(folder: &Path, name: &str, script: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// In the place of the server's own program, which takes the network away: it becomes the program behind `--`.
fn launcher(folder: &Path) -> PathBuf {
    executable(
        folder,
        "launcher",
        "[ \"$1\" = offline ] || exit 9; while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"",
    )
}

fn scripted(folder: &Path, script: &str) -> Tesseract {
    Tesseract::new(&executable(folder, "tesseract", script), &launcher(folder))
}

/// Stops the clock while it lives: a busy machine is no reason for a program to be given up. (The clock of a paused
/// runtime advances by itself only while no blocking work runs.)
fn frozen_clock() -> mpsc::Sender<()> {
    tokio::time::pause();
    let (clock, dropped) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || dropped.recv().is_ok());
    clock
}

fn picture() -> Rgb {
    Rgb::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const LISTED: &str =
    "if [ \"$1\" = --list-langs ]; then printf 'List of available languages (3):\\neng\\nosd\\nrus\\n'; exit; fi
if [ \"$4\" = 0 ]; then cat >/dev/null; printf 'Rotate: 0\\nScript: Cyrillic\\nScript confidence: 0.63\\n'; exit; fi";

#[tokio::test]
async fn a_page_is_read_with_the_data_of_its_script() {
    let _clock = frozen_clock();
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let page = "printf 'level\\tpage_num\\tblock_num\\tpar_num\\tline_num\\tword_num\\tleft\\ttop\\twidth\\theight\\tconf\\ttext\\n\
4\\t1\\t1\\t1\\t1\\t0\\t10\\t20\\t300\\t40\\t-1\\t\\n\
5\\t1\\t1\\t1\\t1\\t1\\t10\\t20\\t100\\t40\\t90\\tСкачать\\n\
5\\t1\\t1\\t1\\t1\\t2\\t120\\t20\\t100\\t40\\t50\\tобраз\\n'";
    let script = format!("{LISTED}\n{{ echo \"$@\"; env; cat; }} >{}; {page}", seen.display());
    let found = scripted(folder.path(), &script).read(&picture(), None).await.unwrap();
    assert_eq!((found.text.as_str(), found.data.as_str()), ("Скачать образ", "rus+eng"));
    assert_eq!(found.lines[0].bounds, [10, 20, 300, 40]);
    // 7 letters at 90 and 5 at 50.
    assert!((found.lines[0].score - (6.3 + 2.5) / 12.0).abs() < 1e-6, "{found:?}");
    let seen = fs::read(seen).unwrap();
    let seen_text = String::from_utf8_lossy(&seen);
    assert!(seen_text.starts_with("stdin stdout -l rus+eng --psm 1 tsv\n"), "{seen_text}");
    assert!(seen_text.contains("OMP_THREAD_LIMIT=1") && !seen_text.contains("CARGO"), "{seen_text}");
    assert!(seen.ends_with(b"P6\n2 1\n255\n\x01\x02\x03\x04\x05\x06"), "{seen_text}");
}

#[tokio::test]
async fn a_script_without_data_names_the_package() {
    let _clock = frozen_clock();
    let folder = tempfile::tempdir().unwrap();
    let tesseract = scripted(folder.path(), &LISTED.replace("Cyrillic", "Korean"));
    let error = tesseract.read(&picture(), None).await.unwrap_err();
    assert_eq!(error, TesseractError::NoData { package: "tesseract-ocr-kor".to_owned() });
    let absent = Tesseract::new(Path::new("/nonexistent/tesseract"), Path::new("/nonexistent/launcher"));
    assert_eq!(absent.read(&picture(), None).await, Err(TesseractError::NotInstalled));
    assert!(!Tesseract::new(Path::new(""), Path::new("launcher")).is_installed());
}

#[tokio::test]
async fn what_fails_or_writes_without_end_is_an_error() {
    let _clock = frozen_clock();
    let folder = tempfile::tempdir().unwrap();
    let failed = scripted(folder.path(), &format!("{LISTED}\nexit 3")).read(&picture(), None).await.unwrap_err();
    assert_eq!(failed.to_string(), "Tesseract failed: exit status: 3");
    let endless = scripted(folder.path(), &format!("{LISTED}\nyes")).read(&picture(), None).await.unwrap_err();
    assert_eq!(endless.to_string(), "Tesseract failed: its output is longer than 4194304 bytes");
}

#[tokio::test]
async fn a_page_that_takes_too_long_is_given_up_and_a_dropped_one_is_killed() {
    let _clock = frozen_clock();
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    assert!(std::process::Command::new("mkfifo").arg(&pids).status().unwrap().success());
    let hanging = scripted(folder.path(), &format!("{LISTED}\necho $$ >{}; exec sleep 600", pids.display()));
    let pid = async || -> String {
        let pids = pids.clone();
        tokio::task::spawn_blocking(move || fs::read_to_string(pids).unwrap()).await.unwrap().trim().to_owned()
    };
    let reading = tokio::spawn({
        let hanging = hanging.clone();
        async move { hanging.read(&picture(), None).await }
    });
    let first = pid().await;
    reading.abort();
    drop(reading.await);
    gone(&first).await;
    // The next one is not kept waiting by the one that was dropped. The clock is moved past its limit.
    let reading = tokio::spawn(async move { hanging.read(&picture(), None).await });
    let second = pid().await;
    tokio::time::advance(Duration::from_secs(21)).await;
    let late = RunError::TimedOut { name: "Tesseract", seconds: 20 };
    assert_eq!(reading.await.unwrap(), Err(TesseractError::Run(late)));
    gone(&second).await;
}

/// Waits until a process has ended; the test's own time limit ends a wait in vain.
async fn gone(pid: &str) {
    let status = PathBuf::from(format!("/proc/{pid}/status"));
    let is_alive = || fs::read_to_string(&status).is_ok_and(|status| !status.contains("State:\tZ"));
    while is_alive() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn pages_beyond_the_queue_are_refused() {
    let _clock = frozen_clock();
    let folder = tempfile::tempdir().unwrap();
    let begun = folder.path().join("begun");
    assert!(std::process::Command::new("mkfifo").arg(&begun).status().unwrap().success());
    let hanging = scripted(folder.path(), &format!("{LISTED}\necho >{}; exec sleep 600", begun.display()));
    let mut reading = tokio::task::JoinSet::new();
    let read = |tesseract: Tesseract| async move { tesseract.read(&picture(), None).await };
    for _ in 0..9 {
        reading.spawn(read(hanging.clone()));
    }
    tokio::task::spawn_blocking(move || fs::read(begun).unwrap()).await.unwrap();
    assert_eq!(read(hanging.clone()).await, Err(TesseractError::Busy));
    reading.shutdown().await;
}

/// A page of the open cases; `None` where they are absent.
fn page(file: &str) -> Option<(Rgb, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/media");
    let Ok(cases) = fs::read_to_string(folder.join("ocr.jsonl")) else {
        println!("skipped: ../shared/media is absent, so is {file}");
        return None;
    };
    let case = cases.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let case = case.into_iter().find(|case| case["file"] == file).unwrap();
    let picture = image::open(folder.join(file)).unwrap().into_rgb8();
    let (width, height) = picture.dimensions();
    Some((Rgb::new(width, height, picture.into_raw()).unwrap(), case["text"].as_str().unwrap().to_owned()))
}

/// Character error rate: edit distance over length, without white space.
fn error_rate(found: &str, expected: &str) -> f64 {
    let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<Vec<char>>();
    let (found, expected) = (letters(found), letters(expected));
    let mut row: Vec<usize> = (0..=expected.len()).collect();
    for (at, letter) in found.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (place, other) in expected.iter().enumerate() {
            let next = (row[place + 1] + 1).min(row[place] + 1).min(diagonal + usize::from(letter != other));
            diagonal = std::mem::replace(&mut row[place + 1], next);
        }
    }
    row[expected.len()] as f64 / expected.len() as f64
}

/// Character error rates of Tesseract 5.3 with Debian's data, measured by its command: 0.003 and 0.115.
#[tokio::test]
async fn the_installed_program_reads_pages_in_russian_and_korean() {
    let _clock = frozen_clock();
    let folder = tempfile::tempdir().unwrap();
    let tesseract = Tesseract::new(Path::new("tesseract"), &launcher(folder.path()));
    for (file, data, at_most) in [("ocr/guide-ru-p28.png", "rus+eng", 0.02), ("ocr/guide-ko-p51.png", "kor+eng", 0.15)]
    {
        let Some((picture, text)) = page(file) else { return };
        match tesseract.read(&picture, None).await {
            Ok(found) => {
                let rate = error_rate(&found.text, &text);
                println!("{file}: CER {rate:.4}");
                assert_eq!(found.data, data);
                assert!(rate <= at_most, "{file}: {rate} {}", found.text);
            }
            Err(absent @ (TesseractError::NotInstalled | TesseractError::NoData { .. })) => {
                println!("skipped {file}: {absent}");
            }
            Err(error) => panic!("{file}: {error}"),
        }
    }
}

#[test]
fn data_is_chosen_by_script_then_by_language() {
    let installed = names(&["eng", "kor", "osd", "rus", "srp", "ukr"]);
    let data = |names_of: &[&str]| Choice::Data(names(names_of));
    assert_eq!(choose(&installed, Some("Cyrillic"), None), data(&["rus", "ukr", "eng"]));
    assert_eq!(choose(&installed, Some("Cyrillic"), Some("sr")), data(&["srp", "eng"]));
    assert_eq!(choose(&installed, Some("Cyrillic"), Some("ko")), data(&["rus", "ukr", "eng"]));
    assert_eq!(choose(&installed, Some("Hangul"), None), data(&["kor", "eng"]));
    assert_eq!(choose(&installed, Some("Greek"), None), Choice::Missing(Some("ell")));
    assert_eq!(choose(&installed, Some("Latin"), Some("ru")), data(&["rus"]));
    assert_eq!(choose(&installed, Some("Latin"), Some("hu")), Choice::Missing(Some("hun")));
    assert_eq!(choose(&installed, None, None), Choice::Missing(None));
    let whole = names(&["rus", "script/Cyrillic"]);
    assert_eq!(choose(&whole, Some("Cyrillic"), None), data(&["script/Cyrillic"]));
    assert_eq!(script("Rotate: 0\nScript: Cyrillic\n"), Some("Cyrillic"));
    assert_eq!(script("Too few characters"), None);
}

#[test]
fn malformed_output_is_no_text() {
    for output in ["", "level\ttext", "5\t1\n4\t\t\t", "5\t1\t1\t1\t1\t1\ta\tb\tc\td\te\t \n"] {
        assert!(TesseractPage::parse(output, "rus").lines.is_empty(), "{output:?}");
    }
}
