//! A server that is killed between the permit and the answer.

use std::time::Duration;

use serde_json::json;

use super::council::{Council, SETTINGS};
use super::{KEYS, admin_key};
use crate::support::client::{Client, try_answer};
use crate::support::process::{Launch, start};

#[tokio::test]
async fn a_kill_between_permit_and_answer_executes_the_approval_with_its_change_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, client) = start(folder.path(), SETTINGS);
    let mut council = Council::constitute(&client).await;
    let mut outcomes = [0, 0];
    for round in 0..6_u32 {
        let name = format!("round-{round}");
        let id = council.requester.ask(KEYS, &admin_key(&name)).await;
        council.approve(&id).await;
        let request = council.requester.client.post_request(KEYS, &admin_key(&name)).header("Muster-Approval", &id);
        let sending = tokio::spawn(try_answer(request));
        // From before the permit to after the answer.
        let _ =
            tokio::time::timeout(Duration::from_micros(400 * u64::from(round * round)), std::future::pending::<()>())
                .await;
        process.kill();
        let _ = sending.await;
        process = Launch::new(folder.path()).start();
        for person in [&mut council.admin, &mut council.security, &mut council.operations, &mut council.requester] {
            person.client = person.client.at(&process.url);
        }
        let state = council.requester.approval(&id).await["state"].clone();
        let keys = council.admin.client.get(&format!("{KEYS}?limit=200")).await.json();
        let made = keys["keys"].as_array().unwrap().iter().filter(|key| key["name"] == *name).count();
        assert_eq!(made, usize::from(state == "executed"), "{state}: {made} keys");
        assert!(state == "executed" || state == "approved", "{state}");
        outcomes[made] += 1;
        if state == "approved" {
            let again = council.requester.execute(KEYS, &admin_key(&name), &id).await;
            assert_eq!(again.status, 201, "it is still good for one execution: {}", again.text);
        }
    }
    assert!(outcomes[0] > 0, "the first round is killed at once: {outcomes:?}");
    let health = Client::new(&process.url).get("/api/health").await;
    assert_eq!(health.json()["problems"]["governance"], json!(null), "{}", health.text);
}
