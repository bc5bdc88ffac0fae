use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use support::process::Launch;
use support::upstream::{Upstream, UpstreamAction};

const WORD: &str = "quokkazebra";

/// Every file of a folder that contains a text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if std::fs::read(&path).unwrap().windows(text.len()).any(|window| window == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

async fn use_everything(medical: &Medical) {
    let message = format!("{MILD} since I saw the {WORD}");
    let lookup = json!({ "symptoms": [message], "specialty": "ent", "medicalHistory": [WORD] });
    for (path, body) in [
        (CHAT, json!({ "message": message, "patientContext": { "allergies": [WORD] } })),
        (CHAT, json!({ "message": format!("{GRAVE} {WORD}"), "stream": true })),
        (PROTOCOLS, lookup),
    ] {
        let answered = medical.post(path, &body).await;
        assert_eq!(answered.status, 200, "{}", answered.text);
    }
    let refused = medical.post(CHAT, &json!({ "message": message, "specialty": WORD })).await;
    assert_eq!(refused.status, 400);
    assert!(!refused.text.contains(WORD));
}

#[tokio::test]
async fn by_default_nothing_clinical_is_found_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Upstream::start(UpstreamAction::Answer(&["ok"]));
    let settings = format!(
        "{UNLIMITED}[log]\nlevel = \"debug\"\n[telemetry]\notlp_endpoint = \"http://{}\"\ninterval_seconds = 1\n[llm]\ncache = \"/nowhere\"\n",
        collector.address
    );
    std::fs::write(folder.path().join("config.toml"), settings).unwrap();
    let mut server = Launch::new(folder.path()).start();
    let medical = Medical::at(Client::new(&server.url));
    use_everything(&medical).await;
    let operator = Client::new(&server.url).with(KEY);
    for path in ["/metrics", "/v1/usage", "/api/v1/audit", "/api/v1/status", "/api/health"] {
        let text = operator.get(path).await.text;
        assert!(!text.contains(WORD) && !text.contains("deaf_sudden") && !text.contains("consultation_24"), "{path}");
    }
    let metrics = operator.get("/metrics").await.text;
    assert!(metrics.contains("muster_medical_requests_total{endpoint=\"chat\",outcome=\"ok\"} 2"), "{metrics}");
    assert!(metrics.contains("muster_medical_requests_total{endpoint=\"chat\",outcome=\"rejected\"} 1"));
    collector.first_request().await;
    server.signal("TERM");
    assert!(server.ended().success());
    assert!(server.log().contains("/api/medical/chat"), "the log is of these requests: {}", server.log());
    assert_eq!(files_with(folder.path(), WORD), Vec::<String>::new());
    assert!(collector.bodies().iter().all(|body| !body.to_string().contains(WORD)));
}

#[tokio::test]
async fn what_is_kept_is_sealed_in_the_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        format!("{UNLIMITED}[log]\nlevel = \"debug\"\n[medical]\nkeep_hours = 1\n[llm]\ncache = \"/nowhere\"\n");
    std::fs::write(folder.path().join("config.toml"), settings).unwrap();
    let mut server = Launch::new(folder.path()).with("MUSTER_MEDICAL_KEY", "a passphrase of these tests").start();
    let medical = Medical::at(Client::new(&server.url));
    let kept = medical.chat(json!({ "message": format!("{MILD} {WORD}"), "conversationId": "new" })).await;
    let id = kept["conversationId"].as_str().unwrap().to_owned();
    use_everything(&medical).await;
    server.signal("TERM");
    assert!(server.ended().success());
    assert!(!files_with(&folder.path().join("store"), &id).is_empty(), "the record is there");
    for text in [WORD, "right ear", "a passphrase of these tests"] {
        assert_eq!(files_with(folder.path(), text), Vec::<String>::new(), "{text}");
    }
}

/// Returns the address ranges of a process's writable memory in which a text is found.
///
/// # Errors
/// The memory cannot be read without the capability to trace processes.
fn memory_with(pid: u32, text: &str) -> std::io::Result<Vec<String>> {
    const PIECE: usize = 1 << 20;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let memory = std::fs::File::open(format!("/proc/{pid}/mem"))?;
    let mut found = Vec::new();
    for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw"))) {
        let range = line.split(' ').next().unwrap();
        let (begin, end) = range.split_once('-').unwrap();
        let (mut at, end) = (u64::from_str_radix(begin, 16).unwrap(), u64::from_str_radix(end, 16).unwrap());
        let mut tail = Vec::new();
        while at < end {
            let mut piece = vec![0; PIECE.min(usize::try_from(end - at).unwrap())];
            // Pages that the kernel keeps to itself are not read.
            let Ok(length) = memory.read_at(&mut piece, at) else { break };
            if length == 0 {
                break;
            }
            tail.extend_from_slice(&piece[..length]);
            if memmem(&tail, text.as_bytes()) {
                found.push(format!("{line} near {at:x}"));
            }
            tail.drain(..tail.len().saturating_sub(text.len()));
            at += length as u64;
        }
    }
    Ok(found)
}

fn memmem(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[tokio::test]
async fn an_image_of_the_running_server_holds_no_message_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), format!("{UNLIMITED}[llm]\nmodel = \"none\"\n")).unwrap();
    let server = Launch::new(folder.path()).start();
    use_everything(&Medical::at(Client::new(&server.url))).await;
    // A message that is being kept shows that the scan finds what is there.
    let found = match memory_with(server.child.id(), "muster_medical_requests_total") {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            println!("skipped: reading the memory of another process is not permitted: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(!found.is_empty(), "names of metrics are in the memory");
    // The connection's buffers are freed when it is closed, which the server notices by itself.
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let left = memory_with(server.child.id(), WORD).unwrap();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{left:#?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_crash_leaves_no_image_of_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), format!("{UNLIMITED}[llm]\nmodel = \"none\"\n")).unwrap();
    let mut server = Launch::new(folder.path()).start();
    let medical = Medical::at(Client::new(&server.url));
    use_everything(&medical).await;
    server.signal("ABRT");
    assert!(!server.ended().success());
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let images: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("core")).collect();
    assert!(images.is_empty(), "{images:?}");
    assert_eq!(files_with(folder.path(), WORD), Vec::<String>::new());
}
