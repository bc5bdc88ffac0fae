//! The audit log over HTTP: who may read it, what it contains, and how it is searched.

use crate::support;

use serde_json::{Value, json};
use support::client::Client;
use support::server::Muster;

const SETTINGS: &str = "[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n";

async fn entries(client: &Client, query: &str) -> Vec<Value> {
    let answer = client.get(&format!("/api/v1/audit?{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["entries"].as_array().unwrap().clone()
}

fn actions(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn who_may_read_audit_entries_does_and_nobody_else() {
    let muster = Muster::start(SETTINGS);
    let admin = muster.admin().await;
    assert!(actions(&entries(&admin, "").await).contains(&"login"));
    for role in ["viewer", "operator", "incident_commander", "admin", "approver"] {
        let refused = muster.person(role, role).await.get("/api/v1/audit").await;
        assert_eq!(refused.status, 403, "{role}");
        assert!(refused.text.contains("audit:read"), "{}", refused.text);
    }
    let auditor = muster.person("otto", "auditor").await;
    assert!(!entries(&auditor, "limit=1").await.is_empty());
    // Keys: by role, whatever their scopes.
    let key = async |scopes: &[&str], roles: &[&str]| {
        let body = json!({ "name": "n", "scopes": scopes, "roles": roles });
        let key = muster.client().make_key(&body).await;
        muster.client().with(key).get("/api/v1/audit").await
    };
    assert_eq!(key(&["chat"], &["auditor"]).await.status, 200);
    assert_eq!(key(&["chat"], &["super_admin"]).await.status, 200);
    let refused = key(&["admin", "chat", "agents"], &["operations"]).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("auditor") && refused.text.contains("error_code"), "{}", refused.text);
    assert_eq!(muster.client().without_key().get("/api/v1/audit").await.status, 401);
}

#[tokio::test]
async fn entries_are_found_by_actor_action_resource_and_time_and_come_in_pages() {
    let muster = Muster::start(SETTINGS);
    let admin = muster.admin().await;
    let id =
        async |client: &Client| client.get("/api/v1/auth/me").await.json()["data"]["id"].as_str().unwrap().to_owned();
    let (ann, root) = (id(&muster.person("ann", "viewer").await).await, id(&admin).await);
    let by_ann = entries(&admin, &format!("actor={ann}")).await;
    assert!(!by_ann.is_empty() && by_ann.iter().all(|entry| entry["actor"] == *ann), "{by_ann:?}");
    let of_ann = entries(&admin, &format!("resource={ann}&actor={root}")).await;
    assert_eq!(actions(&of_ann), ["user_created"]);
    let users = entries(&admin, "action=user_*").await;
    assert!(!users.is_empty() && actions(&users).iter().all(|action| action.starts_with("user_")), "{users:?}");
    assert_eq!(entries(&admin, "action=user").await, [] as [Value; 0]);
    let at = of_ann[0]["at"].as_str().unwrap();
    assert!(entries(&admin, &format!("from={at}")).await.iter().any(|entry| entry["id"] == of_ann[0]["id"]));
    assert!(entries(&admin, &format!("to={at}")).await.iter().all(|entry| entry["at"].as_str().unwrap() < at));

    let all = entries(&admin, "limit=200").await;
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = admin.get(&format!("/api/v1/audit?limit=2&cursor={cursor}")).await.json();
        paged.extend(page["entries"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    assert_eq!(paged, all, "newest first, each once");

    for query in ["limit=0", "limit=201", "from=yesterday", "to=1"] {
        let refused = admin.get(&format!("/api/v1/audit?{query}")).await;
        assert_eq!(refused.status, 422, "{query}: {}", refused.text);
    }
}

#[tokio::test]
async fn an_entry_contains_no_password_and_no_instruction() {
    let muster = Muster::start(SETTINGS);
    let (admin, client) = (muster.admin().await, muster.client());
    let body = json!({ "task": "count", "paused": true, "params": { "document": [1], "program": "." } });
    let task = client.post("/api/v1/agents/json-wrangler/run", &body).await.json()["task_id"].clone();
    let redirect = json!({ "instruction": "the confidential plan", "reason": "a new plan" });
    let path = format!("/api/v1/tasks/{}/redirect", task.as_str().unwrap());
    assert_eq!(client.post(&path, &redirect).await.status, 202);
    let found = entries(&admin, "action=task_redirect").await;
    assert_eq!((found.len(), &found[0]["resource"]), (1, &task), "{found:?}");
    assert_eq!(found[0]["details"]["reason"], "a new plan");
    assert_eq!(found[0]["details"]["control"]["instruction_bytes"], 21);
    let everything = admin.get("/api/v1/audit?limit=200").await.text;
    assert!(!everything.contains("confidential plan") && !everything.contains(support::PASSWORD), "{everything}");
    assert!(!everything.contains(support::KEY), "{everything}");
}
