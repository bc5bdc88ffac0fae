//! Approvals, deciders and guarded requests over HTTP, the socket and the command line.

mod attacks;
mod command_line;
mod council;
mod crash;
mod responses;
mod waiting;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::server::Muster;
use crate::support::socket::{Socket, token};
use council::{APPROVALS, Council, DECIDERS, SETTINGS, code, refused};

const KEYS: &str = "/api/v1/keys";

fn admin_key(name: &str) -> Value {
    json!({ "name": name, "scopes": ["admin"] })
}

#[tokio::test]
async fn a_guarded_request_takes_two_steps_and_two_people_and_is_executed_once() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    let requester = &council.requester;
    let plain = requester.client.post(KEYS, &admin_key("ci")).await;
    assert_eq!(code(&plain), refused(403, "APPROVAL_REQUIRED"), "{}", plain.text);
    let expected = json!({
        "action": "key.grant", "resource": "ci", "risk": "high", "quorum": ["security", "operations"],
        // The example of contract 6, section 4.
        "payload_sha256": "79129117d7c0deb8d20086dfe3eae67a995b3004e6ba1891c47af05d61f0a3b4",
    });
    assert_eq!(plain.json()["details"], expected);

    let id = requester.ask(KEYS, &admin_key("ci")).await;
    let early = requester.execute(KEYS, &admin_key("ci"), &id).await;
    assert_eq!(code(&early), refused(409, "STATE_CONFLICT"), "{}", early.text);
    council.approve(&id).await;
    let approval = requester.approval(&id).await;
    assert_eq!(
        approval["quorum"],
        json!({ "roles": ["security", "operations"], "signed": true, "met": ["security", "operations"] })
    );
    assert_eq!(approval["payload"]["body"], admin_key("ci"));

    for other in [json!({ "name": "ci", "scopes": ["admin", "chat"] }), json!({ "name": "cd", "scopes": ["admin"] })] {
        let mismatch = requester.execute(KEYS, &other, &id).await;
        assert_eq!(code(&mismatch), refused(409, "APPROVAL_MISMATCH"), "{}", mismatch.text);
    }
    let body = admin_key("ci");
    let at_once = join_all((0..100).map(|_| requester.execute(KEYS, &body, &id))).await;
    let won: Vec<_> = at_once.iter().filter(|answer| answer.status == 201).collect();
    assert_eq!(won.len(), 1, "{:?}", at_once.iter().map(code).collect::<Vec<_>>());
    assert!(at_once.iter().all(|answer| matches!(answer.status, 201 | 409 | 429)), "{at_once:?}");
    let used = requester.execute(KEYS, &admin_key("ci"), &id).await;
    assert_eq!(code(&used), refused(409, "APPROVAL_USED"), "{}", used.text);
    let approval = requester.approval(&id).await;
    assert_eq!((&approval["state"], &approval["execution"]["outcome"]), (&json!("executed"), &json!("ok")));
    let audit = council.admin.client.get("/api/v1/audit?action=key_created&limit=1").await.json();
    assert_eq!(audit["entries"][0]["details"]["approval"], *id, "{audit}");
    let made = council.admin.client.get("/api/v1/audit?action=approval_*&limit=50").await;
    for action in ["approval_opened", "approval_decided", "approval_executed"] {
        assert!(made.text.contains(action), "{action}: {}", made.text);
    }
}

#[tokio::test]
async fn before_there_is_a_quorum_a_super_admin_acts_alone_and_others_do_not() {
    let muster = Muster::start(SETTINGS);
    let admin = council::Person::admin(&muster.client()).await;
    let made = admin.client.post(KEYS, &admin_key("alone")).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let entry = admin.client.get("/api/v1/audit?action=key_created&limit=1").await.json()["entries"][0].clone();
    assert_eq!(entry["details"]["quorum"], "none", "{entry}");
    let other = admin.make("ann", "admin").await;
    let refused_key = other.client.post(KEYS, &admin_key("ann")).await;
    assert_eq!(code(&refused_key), refused(403, "APPROVAL_REQUIRED"), "{}", refused_key.text);
    assert_eq!(other.client.post(KEYS, &json!({ "name": "plain", "scopes": ["chat"] })).await.status, 201);
}

#[tokio::test]
async fn every_guarded_route_refuses_without_an_approval_and_takes_one() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    let requester = &council.requester;
    let plain = requester.client.post(KEYS, &json!({ "name": "plain", "scopes": ["chat"], "budget_usd": 10.0 })).await;
    let plain = plain.json()["id"].as_str().unwrap().to_owned();
    let user = requester.make("una", "operator").await;
    let anchor =
        json!({ "name": "release", "public_key": { "kty": "OKP", "crv": "Ed25519", "x": user.key.public().x() } });
    let new_admin = json!({ "email": "a@example.org", "password": council_password(), "role": "admin" });
    let backup = json!({ "passphrase": "a long sentence for a test" });
    for (path, body, action, resource) in [
        (KEYS.to_owned(), admin_key("x"), "key.grant", "x".to_owned()),
        (
            KEYS.to_owned(),
            json!({ "name": "y", "scopes": ["chat"], "roles": ["auditor"] }),
            "key.grant",
            "y".to_owned(),
        ),
        ("/api/v1/users".to_owned(), new_admin, "role.grant", "a@example.org".to_owned()),
        ("/api/v1/firmware/keys".to_owned(), anchor, "trust.add", user.key.public().thumbprint()),
        ("/api/v1/admin/backup".to_owned(), backup, "backup.read", "store".to_owned()),
    ] {
        let plain = requester.client.post(&path, &body).await;
        let (status, code) = code(&plain);
        assert_eq!((status, code.to_uppercase()), (403, "APPROVAL_REQUIRED".to_owned()), "{action}: {}", plain.text);
        let id = requester.ask(&path, &body).await;
        let approval = requester.approval(&id).await;
        assert_eq!((&approval["action"], &approval["resource"]), (&json!(action), &json!(resource)));
        assert!(
            !approval.to_string().contains("a long sentence") && !approval.to_string().contains(&council_password())
        );
        council.approve(&id).await;
        let done = requester.execute(&path, &body, &id).await;
        assert!((200..300).contains(&done.status), "{action}: {} {}", done.status, done.text);
        assert_eq!(requester.approval(&id).await["state"], "executed", "{action}");
    }
    // Its resource is the identifier of the entry.
    let log = requester.client.get("/api/v1/governance/audit?action=login&limit=1").await.json();
    let (erase, why) =
        (format!("/api/v1/governance/audit/{}/erase", log["entries"][0]["seq"]), json!({ "reason": "asked for" }));
    assert_eq!(code(&requester.client.post(&erase, &why).await), refused(403, "APPROVAL_REQUIRED"));
    let id = requester.ask(&erase, &why).await;
    council.approve(&id).await;
    let erased = requester.execute(&erase, &why, &id).await;
    assert_eq!((erased.status, &erased.json()["details"]), (200, &json!(null)), "{}", erased.text);
    for (path, body, action) in [
        (format!("/api/v1/users/{}", user.id), json!({ "role": "super_admin" }), "role.grant"),
        (format!("/api/v1/users/{}", user.id), json!({ "grants": ["users:read"] }), "role.grant"),
        (format!("{KEYS}/{plain}"), json!({ "roles": ["security"] }), "key.grant"),
        (format!("{KEYS}/{plain}"), json!({ "budget_usd": 500.0 }), "budget.raise"),
    ] {
        let got = requester.patch(&path, &body).await;
        assert_eq!(got.status, 403, "{}", got.text);
        let body = got.json();
        let details = body.get("details").unwrap_or_else(|| &body["error"]["details"]);
        assert_eq!(details["action"], action, "{}", got.text);
    }
    assert_eq!(requester.patch(&format!("{KEYS}/{plain}"), &json!({ "budget_usd": 90.0 })).await.status, 200);
}

fn council_password() -> String {
    crate::support::PASSWORD.to_owned()
}

/// The next event of approvals; those of the log come when it is signed.
async fn of_governance(socket: &mut Socket) -> Value {
    loop {
        let event = socket.frame().await;
        if !event["ev"].as_str().is_some_and(|name| name.starts_with("audit.")) {
            return event;
        }
    }
}

#[tokio::test]
async fn deciders_are_notified_and_everybody_sees_only_what_concerns_them() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    let viewer = council.admin.make("vic", "viewer").await;
    let auditor = council.admin.make("otto", "auditor").await;
    let mut waits = Socket::connect(&muster, &token(&muster, &council.security.email).await).await;
    waits.subscribe(json!({ "ch": format!("user:{}", council.security.id) })).await;
    let mut log = Socket::connect(&muster, &token(&muster, &auditor.email).await).await;
    log.subscribe(json!({ "ch": "governance" })).await;
    let id = council.requester.ask(KEYS, &admin_key("notified")).await;
    let event = waits.frame().await;
    assert_eq!((&event["ev"], &event["data"]["id"]), (&json!("approval.waiting"), &json!(id)), "{event}");
    let event = of_governance(&mut log).await;
    assert_eq!((&event["ev"], &event["data"]["id"]), (&json!("approval.pending"), &json!(id)), "{event}");
    council.approve(&id).await;
    let mut seen = Vec::new();
    while seen.last().map(String::as_str) != Some("approval.approved") {
        seen.push(of_governance(&mut log).await["ev"].as_str().unwrap().to_owned());
    }
    // The decision that completes the quorum is the event of the state.
    assert_eq!(seen, ["approval.decided", "approval.approved"]);
    let done = council.requester.execute(KEYS, &admin_key("notified"), &id).await;
    assert_eq!(done.status, 201, "{}", done.text);
    while seen.last().map(String::as_str) != Some("approval.executed") {
        seen.push(of_governance(&mut log).await["ev"].as_str().unwrap().to_owned());
    }

    for path in [APPROVALS.to_owned(), DECIDERS.to_owned()] {
        let got = viewer.client.get(&path).await;
        assert_eq!(got.status, 403, "{}", got.text);
        assert!(!got.text.contains("total") && !got.text.contains("apr_"), "no counts: {}", got.text);
    }
    assert_eq!(viewer.client.get(&format!("{APPROVALS}/{id}")).await.status, 404);
    assert_eq!(auditor.client.get(&format!("{APPROVALS}/{id}")).await.status, 200);
    let write = auditor.client.post(&format!("{APPROVALS}/{id}/cancel"), &json!({ "reason": "x" })).await;
    assert!(matches!(write.status, 403 | 409), "an auditor writes reviews only: {}", write.text);
    let listed = council.security.client.get(&format!("{APPROVALS}?state=executed&action=key.grant")).await.json();
    assert_eq!(listed["approvals"][0]["id"], *id, "{listed}");
    assert_eq!(council.security.client.get(&format!("{APPROVALS}?state=pending")).await.json()["approvals"], json!([]));
}

#[tokio::test]
async fn an_action_of_others_is_opened_decided_and_its_execution_reported() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    let body = json!({ "action": "deploy.release", "resource": "muster-1.4", "risk": "medium", "reason": "a fix",
        "payload": { "binary_sha256": "00" } });
    let opened = council.requester.client.post(APPROVALS, &body).await;
    assert_eq!(opened.status, 201, "{}", opened.text);
    let id = opened.json()["id"].as_str().unwrap().to_owned();
    let report = json!({ "outcome": "ok", "note": "done" });
    let path = format!("{APPROVALS}/{id}/execute");
    assert_eq!(code(&council.requester.client.post(&path, &report).await), refused(409, "STATE_CONFLICT"));
    for (person, role) in [(&council.security, "security"), (&council.operations, "operations")] {
        // A risk of medium needs no signature.
        let got = person.send(&id, &json!({ "decision": "approve", "role": role })).await;
        assert_eq!(got.status, 200, "{}", got.text);
    }
    let executed = council.requester.client.post(&path, &report).await;
    assert_eq!((executed.status, &executed.json()["state"]), (200, &json!("executed")), "{}", executed.text);
    assert_eq!(code(&council.requester.client.post(&path, &report).await), refused(409, "APPROVAL_USED"));
}

#[tokio::test]
async fn two_super_admins_break_the_glass_and_another_reviews_it() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    let auditor = council.admin.make("otto", "auditor").await;
    let id = council.requester.ask(KEYS, &admin_key("urgent")).await;
    assert_eq!(code(&council.requester.break_glass(&id).await), refused(403, "NOT_A_DECIDER"));
    let one = council.security.break_glass(&id).await;
    assert_eq!((one.status, &one.json()["state"]), (200, &json!("pending")), "{}", one.text);
    let two = council.operations.break_glass(&id).await;
    assert_eq!((two.status, &two.json()["state"]), (200, &json!("approved")), "{}", two.text);
    let done = council.requester.execute(KEYS, &admin_key("urgent"), &id).await;
    assert_eq!(done.status, 201, "{}", done.text);
    let review = json!({ "comment": "was right" });
    let path = format!("{APPROVALS}/{id}/review");
    assert_eq!(code(&council.security.client.post(&path, &review).await), refused(403, "SELF_APPROVAL"));
    let reviewed = auditor.client.post(&path, &review).await;
    assert_eq!(reviewed.status, 200, "{}", reviewed.text);
    assert_eq!(reviewed.json()["break_glass"]["reviewed_by"], *auditor.id);
}
