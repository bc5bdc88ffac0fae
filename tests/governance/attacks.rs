//! Ways around two people: each is refused.

use serde_json::{Value, json};

use super::council::{APPROVALS, Council, DECIDERS, Person, SETTINGS, code, refused};
use super::{KEYS, admin_key};
use crate::support::PASSWORD;
use crate::support::client::answer;
use crate::support::server::Muster;

#[tokio::test]
async fn nobody_approves_their_own_request_by_person_key_or_delegate() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    // A decider requests: it does not count, whatever it signs.
    let id = council.security.ask(KEYS, &admin_key("own")).await;
    let approval = council.operations.approval(&id).await;
    let forged = council.security.decision(&approval, "approve", "security");
    assert_eq!(code(&council.security.send(&id, &forged).await), refused(403, "SELF_APPROVAL"));
    let own_reject = council.security.decision(&approval, "reject", "security");
    assert_eq!(code(&council.security.send(&id, &own_reject).await), refused(403, "SELF_APPROVAL"));
    // A key of a decider requests: its maker does not count either.
    let made = council.security.client.post(KEYS, &admin_key("tool")).await;
    assert_eq!(made.status, 403, "{}", made.text);
    let id = council.security.ask(KEYS, &json!({ "name": "tool", "scopes": ["admin", "agents"] })).await;
    // One decider and nobody else for security: it is never met.
    assert_eq!(council.operations.decide(&id, "approve", "operations").await.status, 200);
    assert_eq!(council.security.approval(&id).await["state"], "pending");
    // An API key decides nothing, whatever its roles.
    let by_key = muster
        .client()
        .post(&format!("{APPROVALS}/{id}/decisions"), &json!({ "decision": "approve", "role": "security" }))
        .await;
    assert_eq!(code(&by_key), refused(403, "NOT_A_DECIDER"), "{}", by_key.text);
}

#[tokio::test]
async fn who_made_the_account_or_set_the_password_is_not_independent() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    // The first administrator made the deciders, so they do not decide about its requests.
    let id = council.admin.ask(KEYS, &admin_key("x")).await;
    assert_eq!(code(&council.security.decide(&id, "approve", "security").await), refused(403, "NOT_INDEPENDENT"));
    // An account that a decider sets the password of is dependent on it from then on, and suspended as a decider.
    let id = council.requester.ask(KEYS, &admin_key("y")).await;
    assert_eq!(council.security.decide(&id, "approve", "security").await.status, 200);
    let reset = json!({ "password": PASSWORD });
    let path = format!("/api/v1/users/{}/password", council.operations.id);
    assert_eq!(council.security.client.post(&path, &reset).await.status, 200);
    let again = Person {
        key: council.operations.key.clone(),
        ..Person::login(&muster.client(), &council.operations.email).await
    };
    let decided = again.decide(&id, "approve", "operations").await;
    assert_eq!(code(&decided), refused(403, "NOT_A_DECIDER"), "suspended: {}", decided.text);
    let resumed = again.resume(&["operations"]).await;
    assert_eq!(resumed.status, 200, "{}", resumed.text);
    let decided = again.decide(&id, "approve", "operations").await;
    assert_eq!(code(&decided), refused(403, "NOT_INDEPENDENT"), "{}", decided.text);
}

#[tokio::test]
async fn an_admin_makes_two_people_and_uses_both_in_vain() {
    let muster = Muster::start(SETTINGS);
    let root = Person::admin(&muster.client()).await;
    let admin = root.make("adm", "admin").await;
    // `admin` assigns every role but those of administration: two people of its own.
    let (sec, ops) = (admin.make("s", "approver").await, admin.make("o", "operator").await);
    for (person, role) in [(&sec, "security"), (&ops, "operations")] {
        let enrolled = person.enrol(&[role]).await;
        assert_eq!(code(&enrolled), refused(403, "APPROVAL_REQUIRED"), "{}", enrolled.text);
    }
    let id = admin.ask(KEYS, &admin_key("mine")).await;
    let approval = sec.approval(&id).await;
    for (person, role) in [(&sec, "security"), (&ops, "operations")] {
        let decided = person.send(&id, &person.decision(&approval, "approve", role)).await;
        assert_eq!(code(&decided), refused(403, "NOT_INDEPENDENT"), "{}", decided.text);
    }
    // After the constitution it resets a decider's password, and signs nothing with it.
    let council = Council::constitute(&muster.client()).await;
    let id = council.requester.ask(KEYS, &admin_key("z")).await;
    let reset = json!({ "password": PASSWORD });
    let path = format!("/api/v1/users/{}/password", council.operations.id);
    assert_eq!(admin.client.post(&path, &reset).await.status, 403, "of a super_admin");
    assert_eq!(council.admin.client.post(&path, &reset).await.status, 200);
    let stolen = Person::login(&muster.client(), &council.operations.email).await;
    assert_eq!(code(&stolen.decide(&id, "approve", "operations").await), refused(403, "NOT_A_DECIDER"));
    let enrolled = stolen.enrol(&["operations"]).await;
    assert_eq!(code(&enrolled), refused(403, "APPROVAL_REQUIRED"), "a key of its own: {}", enrolled.text);
}

#[tokio::test]
async fn a_signature_is_good_for_one_approval_role_risk_and_turn() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    let (security, requester) = (&council.security, &council.requester);
    let id = requester.ask(KEYS, &admin_key("one")).await;
    let other = requester.ask(KEYS, &admin_key("two")).await;
    let approval = security.approval(&id).await;
    let unsigned = security.send(&id, &json!({ "decision": "approve", "role": "security" })).await;
    assert_eq!(code(&unsigned), refused(422, "SIGNATURE_REQUIRED"), "{}", unsigned.text);
    let good = security.decision(&approval, "approve", "security");
    assert_eq!(code(&security.send(&other, &good).await), refused(403, "SIGNATURE_INVALID"), "of another approval");
    let changed = |member: &str, value: Value| {
        let mut approval = approval.clone();
        approval[member] = value;
        security.decision(&approval, "approve", "security")
    };
    for altered in [
        changed("risk", json!("low")),
        changed("resource", json!("other")),
        changed("payload_sha256", json!("00")),
        security
            .decision(&approval, "approve", "operations")
            .as_object()
            .map(|body| {
                let mut body = body.clone();
                body.insert("role".to_owned(), json!("security"));
                Value::Object(body)
            })
            .unwrap(),
        security
            .decision(&approval, "reject", "security")
            .as_object()
            .map(|body| {
                let mut body = body.clone();
                body.insert("decision".to_owned(), json!("approve"));
                Value::Object(body)
            })
            .unwrap(),
    ] {
        assert_eq!(code(&security.send(&id, &altered).await), refused(403, "SIGNATURE_INVALID"), "{altered}");
    }
    // The nonce of another person, of another approval, and of another turn.
    let mut stolen = approval.clone();
    stolen["challenge"] = council.operations.approval(&id).await["challenge"].clone();
    let got = security.send(&id, &security.decision(&stolen, "approve", "security")).await;
    assert_eq!(code(&got), refused(409, "NONCE_STALE"), "{}", got.text);
    stolen["challenge"] = security.approval(&other).await["challenge"].clone();
    let got = security.send(&id, &security.decision(&stolen, "approve", "security")).await;
    assert_eq!(code(&got), refused(409, "NONCE_STALE"), "{}", got.text);
    assert_eq!(security.send(&id, &good).await.status, 200);
    assert_eq!(code(&security.send(&id, &good).await), refused(409, "ALREADY_DECIDED"));
    let withdrawn = security.client.delete(&format!("{APPROVALS}/{id}/decisions/mine")).await;
    assert_eq!((withdrawn.status, &withdrawn.json()["decisions"]), (200, &json!([])), "{}", withdrawn.text);
    assert_eq!(code(&security.send(&id, &good).await), refused(409, "NONCE_STALE"), "replayed after its withdrawal");
    // A key that was enrolled later signs nothing that was opened before.
    let late = Person {
        key: muster_auth::PrivateKey::generate().unwrap(),
        ..Person::login(&muster.client(), &security.email).await
    };
    let body = late.enrolment(&["security"]).await;
    let enrolment = late.ask(DECIDERS, &body).await;
    // Its own enrolment takes others: nobody else has the role security, so break-glass is what is left.
    assert_eq!(code(&late.decide(&enrolment, "approve", "security").await), refused(403, "SELF_APPROVAL"));
    let rejected = security.decide(&id, "reject", "security").await;
    assert_eq!((rejected.status, &rejected.json()["state"]), (200, &json!("rejected")), "{}", rejected.text);
    assert_eq!(code(&council.operations.decide_anyway(&id).await), refused(409, "STATE_CONFLICT"));
}

impl Person {
    /// Decides about an approval that offers no challenge.
    async fn decide_anyway(&self, id: &str) -> crate::support::client::Answer {
        let approval = self.approval(id).await;
        let mut decision = self.decision(&approval, "approve", "operations");
        decision["nonce"] = json!("1.x.y.0.0.z");
        self.send(id, &decision).await
    }
}

#[tokio::test]
async fn an_approval_is_of_one_principal_and_does_not_outlive_its_quorum() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    let requester = &council.requester;
    let id = requester.ask(KEYS, &admin_key("mine")).await;
    council.approve(&id).await;
    for other in [&council.admin, &council.security] {
        let got = other.execute(KEYS, &admin_key("mine"), &id).await;
        assert_eq!(code(&got), refused(409, "APPROVAL_MISMATCH"), "{}", got.text);
    }
    let both = answer(
        requester
            .client
            .post_request(KEYS, &admin_key("mine"))
            .header("Muster-Reason", "x")
            .header("Muster-Approval", &id),
    )
    .await;
    assert_eq!(both.status, 422, "{}", both.text);
    // A decider loses the role between decision and execution.
    let path = format!("/api/v1/users/{}", council.operations.id);
    let demoted = council.admin.patch(&path, &json!({ "role": "viewer" })).await;
    assert_eq!(demoted.status, 200, "{}", demoted.text);
    let lost = requester.execute(KEYS, &admin_key("mine"), &id).await;
    assert_eq!(code(&lost), refused(409, "QUORUM_LOST"), "{}", lost.text);
    assert_eq!(requester.approval(&id).await["state"], "revoked");
    assert_eq!(code(&requester.execute(KEYS, &admin_key("mine"), &id).await), refused(409, "STATE_CONFLICT"));
}

#[tokio::test]
async fn the_last_decider_stays_and_pending_approvals_are_bounded() {
    let muster = Muster::start(SETTINGS);
    let council = Council::constitute(&muster.client()).await;
    let path = format!("{DECIDERS}/{}", council.operations.id);
    assert_eq!(code(&council.operations.client.delete(&path).await), refused(409, "LAST_DECIDER"));
    // 30 writes a minute.
    let body = json!({ "action": "deploy.release", "resource": "r", "risk": "low", "reason": "x" });
    let mut limited = 0;
    for _ in 0..31 {
        let got = council.requester.client.post(APPROVALS, &body).await;
        assert!(matches!(got.status, 201 | 429), "{}", got.text);
        limited += usize::from(got.status == 429);
    }
    assert_eq!(limited, 1, "the 31st within a minute");
}
