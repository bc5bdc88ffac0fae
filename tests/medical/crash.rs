use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use support::process::Launch;

const SETTINGS: &str = "[limits]\nmedical = \"unlimited\"\n[medical]\nkeep_hours = 24\n[llm]\ncache = \"/nowhere\"\n";
const FIRST: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OTHER: &str = "BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

fn launch(folder: &Path, key: Option<&str>) -> Launch {
    std::fs::write(folder.join("config.toml"), SETTINGS).unwrap();
    let launch = Launch::new(folder);
    match key {
        Some(key) => launch.with("MUSTER_MEDICAL_KEY", key),
        None => launch,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_turns_survive_kills_and_deleted_conversations_stay_away() {
    let folder = tempfile::tempdir().unwrap();
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    let mut deleted: Vec<String> = Vec::new();
    for round in 0..6 {
        let server = launch(folder.path(), Some(FIRST)).start();
        let medical = Medical::at(Client::new(&server.url));
        for (id, turns) in &kept {
            let read = medical.get(&format!("{CONVERSATIONS}/{id}")).await;
            assert_eq!((read.status, read.json()["turns"].as_array().unwrap().len()), (200, *turns), "round {round}");
        }
        for id in &deleted {
            assert_eq!(medical.get(&format!("{CONVERSATIONS}/{id}")).await.status, 404, "round {round}");
        }
        let new = medical.chat(json!({ "message": MILD, "conversationId": "new" })).await;
        let id = new["conversationId"].as_str().unwrap().to_owned();
        for turn in 2..=(2 + round) {
            medical.chat(json!({ "message": format!("turn {turn}"), "conversationId": id })).await;
        }
        kept.insert(id, 2 + round);
        if round % 2 == 1 {
            let (id, _) = kept.pop_first().unwrap();
            let gone = answer(medical.request(Method::DELETE, &format!("{CONVERSATIONS}/{id}"))).await;
            assert_eq!(gone.status, 200);
            deleted.push(id);
        }
        server.kill();
    }
    assert!(kept.len() == 3 && deleted.len() == 3);
}

#[tokio::test]
async fn without_a_key_the_start_is_refused_and_doctor_says_how_to_mend_it() {
    let folder = tempfile::tempdir().unwrap();
    let (code, refused) = launch(folder.path(), None).fail();
    assert_eq!(code, Some(1));
    assert!(refused.contains("MUSTER_MEDICAL_KEY") && refused.contains("openssl rand -base64 32"), "{refused}");
    let (_, short) = launch(folder.path(), Some("short")).fail();
    assert!(short.contains("MUSTER_MEDICAL_KEY") && short.contains("12"), "{short}");

    let doctor = support::process::program(folder.path()).args(["doctor", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let finding =
        report["findings"].as_array().unwrap().iter().find(|found| found["subject"] == "medical conversations");
    let finding = finding.unwrap();
    assert_eq!(finding["ok"], false);
    assert!(finding["remedy"].as_str().unwrap().contains("MUSTER_MEDICAL_KEY"), "{finding}");
}

#[tokio::test]
async fn with_another_key_conversations_are_refused_and_health_is_degraded() {
    let folder = tempfile::tempdir().unwrap();
    let server = launch(folder.path(), Some(FIRST)).start();
    let medical = Medical::at(Client::new(&server.url));
    let kept = medical.chat(json!({ "message": MILD, "conversationId": "new" })).await;
    let path = format!("{CONVERSATIONS}/{}", kept["conversationId"].as_str().unwrap());
    server.kill();

    let server = launch(folder.path(), Some(OTHER)).start();
    let medical = Medical::at(Client::new(&server.url));
    let refused = medical.get(&path).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (409, Some("conversation_unreadable")));
    assert_eq!(medical.chat(json!({ "message": MILD })).await["success"], true, "all else goes on");
    let why = loop {
        let health = medical.client.get("/api/health").await.json();
        if health["module_statuses"]["medical-conversations"] == "degraded" {
            break health["problems"]["medical-conversations"].clone();
        }
        tokio::task::yield_now().await;
    };
    assert!(why.as_str().unwrap().contains("MUSTER_MEDICAL_KEY"), "{why}");
    let gone = answer(medical.request(Method::DELETE, &path)).await;
    assert_eq!(gone.status, 200, "it can be deleted");
}
