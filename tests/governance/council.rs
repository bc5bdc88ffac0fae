//! People who decide: enrolled deciders with their keys, and requests in two steps.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_auth::PrivateKey;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::client::{Answer, Client, answer};
use crate::support::{EMAIL, PASSWORD};

pub const APPROVALS: &str = "/api/v1/governance/approvals";
pub const DECIDERS: &str = "/api/v1/governance/deciders";
/// Cheap password hashes, and no veto: by default a session without a key of its own requests nothing of high risk.
pub const SETTINGS: &str = "[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n\
    [governance]\nveto = \"permit (principal, action, resource);\"\n";

/// A person with a session and a key.
pub struct Person {
    pub id: String,
    pub email: String,
    pub client: Client,
    pub key: PrivateKey,
}

fn signature(key: &PrivateKey, members: &Value) -> String {
    // Members in alphabetical order and ASCII texts: this is their RFC 8785 form.
    URL_SAFE_NO_PAD.encode(key.sign(members.to_string().as_bytes()))
}

impl Person {
    /// The first administrator.
    pub async fn admin(base: &Client) -> Self {
        Self::login(base, EMAIL).await
    }

    pub async fn login(base: &Client, email: &str) -> Self {
        let (client, got) = base.without_key().login(email, PASSWORD).await;
        let id = got.json()["data"]["user"]["id"].as_str().unwrap().to_owned();
        Self { id, email: email.to_owned(), client, key: PrivateKey::generate().unwrap() }
    }

    /// Makes an account.
    pub async fn make(&self, name: &str, role: &str) -> Self {
        let email = format!("{name}@example.org");
        let body = json!({ "email": email, "password": PASSWORD, "name": name, "role": role });
        let made = self.client.post("/api/v1/users", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        Self::login(&self.client, &email).await
    }

    /// The body of an enrolment for these roles.
    pub async fn enrolment(&self, roles: &[&str]) -> Value {
        let server = self.client.get(DECIDERS).await.json()["server"].clone();
        let public = self.key.public();
        let members = json!({
            "jkt": public.thumbprint(), "purpose": "muster.decider", "roles": roles, "server": server, "user": self.id,
        });
        json!({ "roles": roles, "jwk": public.to_jwk(), "proof": signature(&self.key, &members) })
    }

    pub async fn enrol(&self, roles: &[&str]) -> Answer {
        self.client.post(DECIDERS, &self.enrolment(roles).await).await
    }

    pub async fn resume(&self, roles: &[&str]) -> Answer {
        let server = self.client.get(DECIDERS).await.json()["server"].clone();
        let members = json!({
            "jkt": self.key.public().thumbprint(), "purpose": "muster.resume", "roles": roles, "server": server,
            "user": self.id,
        });
        let proof = signature(&self.key, &members);
        self.client.post(&format!("{DECIDERS}/me/resume"), &json!({ "proof": proof })).await
    }

    pub async fn approval(&self, id: &str) -> Value {
        let got = self.client.get(&format!("{APPROVALS}/{id}")).await;
        assert_eq!(got.status, 200, "{}", got.text);
        got.json()
    }

    /// A signed decision about an approval as it was read.
    pub fn decision(&self, approval: &Value, decision: &str, role: &str) -> Value {
        // Who is offered none sends one that is stale.
        let nonce = approval["challenge"]["nonce"].as_str().unwrap_or("1.x.y.0.0.z");
        let members = json!({
            "action": approval["action"], "approval_id": approval["id"], "decision": decision, "nonce": nonce,
            "payload_sha256": approval["payload_sha256"], "resource": approval["resource"], "risk": approval["risk"],
            "role": role,
        });
        let (kid, signature) = (self.key.public().thumbprint(), signature(&self.key, &members));
        json!({ "decision": decision, "role": role, "nonce": nonce, "kid": kid, "signature": signature })
    }

    pub async fn send(&self, id: &str, decision: &Value) -> Answer {
        self.client.post(&format!("{APPROVALS}/{id}/decisions"), decision).await
    }

    pub async fn decide(&self, id: &str, decision: &str, role: &str) -> Answer {
        let approval = self.approval(id).await;
        self.send(id, &self.decision(&approval, decision, role)).await
    }

    pub async fn break_glass(&self, id: &str) -> Answer {
        let approval = self.approval(id).await;
        let mut body = self.decision(&approval, "break_glass", "super_admin");
        body.as_object_mut().unwrap().retain(|name, _| !matches!(name.as_str(), "decision" | "role"));
        self.client.post(&format!("{APPROVALS}/{id}/break-glass"), &body).await
    }

    /// Sends a request with a reason: returns the identifier of the approval that it opens.
    pub async fn ask(&self, path: &str, body: &Value) -> String {
        let got = answer(self.client.post_request(path, body).header("Muster-Reason", "a%20test")).await;
        assert_eq!(got.status, 202, "{}", got.text);
        let answered = got.json();
        let approval = answered.get("approval").unwrap_or_else(|| &answered["data"]["approval"]);
        let id = approval["id"].as_str().unwrap().to_owned();
        assert_eq!(got.header("location"), Some(&*format!("{APPROVALS}/{id}")));
        id
    }

    /// Sends a request with the approval that it may use.
    pub async fn execute(&self, path: &str, body: &Value, approval: &str) -> Answer {
        answer(self.client.post_request(path, body).header("Muster-Approval", approval)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        let request = self.client.request(Method::PATCH, path).header("content-type", "application/json");
        answer(request.header("if-match", "*").body(body.to_string())).await
    }
}

/// A server with a quorum: a decider for each role, and a `super_admin` who requests. The first administrator made all of
/// them, so it is not independent of them, and they are of one another.
pub struct Council {
    pub admin: Person,
    pub security: Person,
    pub operations: Person,
    pub requester: Person,
}

impl Council {
    pub async fn constitute(base: &Client) -> Self {
        let admin = Person::admin(base).await;
        let security = admin.make("sec", "super_admin").await;
        let operations = admin.make("ops", "super_admin").await;
        let requester = admin.make("req", "super_admin").await;
        assert_eq!(admin.client.get(DECIDERS).await.json()["constituted"], false);
        // Before there is a quorum, a super_admin does guarded things at once.
        for (person, role) in [(&security, "security"), (&operations, "operations")] {
            let enrolled = person.enrol(&[role]).await;
            assert_eq!(enrolled.status, 201, "{}", enrolled.text);
        }
        assert_eq!(admin.client.get(DECIDERS).await.json()["constituted"], true);
        Self { admin, security, operations, requester }
    }

    /// Both deciders approve.
    pub async fn approve(&self, id: &str) {
        for (person, role) in [(&self.security, "security"), (&self.operations, "operations")] {
            let decided = person.decide(id, "approve", role).await;
            assert_eq!(decided.status, 200, "{}", decided.text);
        }
        assert_eq!(self.requester.approval(id).await["state"], "approved");
    }
}

pub fn code(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    let code = body.get("error_code").or_else(|| body["error"].get("code")).and_then(Value::as_str);
    (answer.status, code.unwrap_or_default().to_owned())
}

pub fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}
