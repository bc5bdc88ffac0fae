//! Guarded requests, once for all routes: the caller as governance sees it, the payload, and the two steps of a request
//! that needs an approval.

mod waiting;

use std::future::Future;
use std::ops::ControlFlow;
use std::sync::Arc;

use actix_rt::ArbiterHandle;
use actix_web::http::header::{HeaderName, LOCATION};
use actix_web::{HttpRequest, HttpResponse, web};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_audit::{Audit, LogKeys};
use muster_auth::PublicKey;
use muster_core::audit::AuditEntry;
use muster_core::guard::{GuardedAction, Need, Permit, QuorumRole, StandingPublisher};
use muster_core::ids::IdKind;
use muster_core::principal::UserRole;
use muster_core::supervise::Tree;
use muster_core::{Clock, Error, Kind};
use muster_feed::Feed;
use muster_governance::policy::PolicyService;
use muster_governance::{
    ApprovalView, Conditions, Governance, GovernanceCaller, GovernanceOptions, NewApproval, NonceKey, RequesterKind,
    RequesterRecord, SessionFacts, payload_sha256,
};
use muster_identity::keys::{KeyRecord, Role};
use muster_identity::{By, Identity};
use muster_network::incident::CriticalIncidents;
use muster_store::{Batch, StoreError, StoreHandle};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::error::{Dialect, HttpError};
use crate::guard::{Caller, caller_of};
use crate::http::governance::ApprovalBody;

pub(crate) use waiting::{DecisionFields, WaitingThings, comparing, decide, decided, opening};

const REASON: HeaderName = HeaderName::from_static("muster-reason");
const APPROVAL: HeaderName = HeaderName::from_static("muster-approval");
/// Longest reason, in characters.
const MAX_REASON: usize = 500;
/// Fields of bodies that no approval stores or shows.
const SECRET_FIELDS: [&str; 5] = ["password", "passphrase", "current_password", "new_password", "secret"];
/// Makers of keys that are followed from a key to a person.
const MAX_MAKERS: usize = 8;

/// The log's keys as those of nonces.
#[derive(Debug, Clone)]
pub(crate) struct Nonces(pub LogKeys);

impl NonceKey for Nonces {
    fn instance(&self) -> String {
        self.0.instance()
    }

    fn mac(&self, message: &[u8]) -> [u8; 32] {
        self.0.mac("muster.nonce.v1", message)
    }
}

/// What governance needs from the server.
pub(crate) struct GovernanceDependencies<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) arbiter: ArbiterHandle,
    pub(crate) store: &'a StoreHandle,
    pub(crate) clock: &'a Clock,
    pub(crate) feed: &'a Feed,
    pub(crate) identity: &'a Identity,
    pub(crate) standing: &'a StandingPublisher,
    pub(crate) audit: &'a Audit,
    pub(crate) policy: &'a PolicyService,
    pub(crate) critical: &'a CriticalIncidents,
}

/// Conditions of the server that veto rules judge.
#[derive(Debug, Clone)]
struct ServerConditions {
    audit: Audit,
    policy: PolicyService,
    critical: CriticalIncidents,
}

impl Conditions for ServerConditions {
    fn audit_ok(&self) -> bool {
        let view = self.audit.view();
        view.alarms.is_empty() && view.problem.is_none()
    }

    fn frozen(&self) -> bool {
        self.policy.frozen()
    }

    fn critical_incident(&self, resource: &str) -> bool {
        self.critical.concern(resource)
    }
}

/// Starts governance.
pub(crate) fn start(parts: GovernanceDependencies<'_>) -> Governance {
    let conditions =
        ServerConditions { audit: parts.audit.clone(), policy: parts.policy.clone(), critical: parts.critical.clone() };
    let options = GovernanceOptions {
        store: Arc::clone(parts.store),
        clock: parts.clock.clone(),
        publisher: Some(parts.feed.publisher()),
        nonces: Arc::new(Nonces(parts.audit.keys().clone())),
        veto: Arc::new(parts.policy.clone()),
        conditions: Arc::new(conditions),
        people: parts.identity.people(),
        standing: parts.standing.clone(),
    };
    Governance::start(&parts.tree.group("governance"), parts.arbiter, options)
}

/// Returns the caller of an admitted request as governance sees it.
pub(crate) fn caller(app: &App, http: &HttpRequest) -> Result<GovernanceCaller, HttpError> {
    let caller = caller_of(http)?;
    let mut found = of_caller(app, &caller);
    if let Some(session) = &mut found.session {
        session.key = proven_key(http);
    }
    Ok(found)
}

/// Returns a principal as governance sees it, without what its request proves.
pub(crate) fn of_caller(app: &App, Caller { key, by }: &Caller) -> GovernanceCaller {
    match by {
        Some(By::Person(person)) => {
            let is_person = !person.is_service();
            let session = app.identity.session_facts(&person.session_id).map(|(since, jkt)| SessionFacts {
                since,
                jkt: jkt.map(|jkt| jkt.to_string()),
                key: None,
            });
            GovernanceCaller {
                requester: RequesterRecord {
                    id: person.user_id.to_string(),
                    kind: if is_person { RequesterKind::User } else { RequesterKind::Service },
                    owner: None,
                    concerned: vec![person.user_id.to_string()],
                },
                roles: if is_person { held(person.role) } else { Vec::new() },
                is_super_admin: is_person && person.role == UserRole::SuperAdmin,
                is_reader: matches!(person.role, UserRole::Auditor | UserRole::SuperAdmin),
                session,
            }
        }
        Some(By::Device(id)) => principal(id, RequesterKind::Device, None, Vec::new()),
        Some(By::System) => principal("system", RequesterKind::System, None, Vec::new()),
        Some(By::Key(key)) => of_key(app, key),
        None => of_key(app, key),
    }
}

fn held(role: UserRole) -> Vec<QuorumRole> {
    QuorumRole::ALL.into_iter().filter(|quorum| quorum.is_held_by(role)).collect()
}

fn principal(id: &str, kind: RequesterKind, owner: Option<String>, concerned: Vec<String>) -> GovernanceCaller {
    GovernanceCaller {
        requester: RequesterRecord { id: id.to_owned(), kind, owner, concerned },
        roles: Vec::new(),
        is_super_admin: false,
        is_reader: false,
        session: None,
    }
}

/// A key concerns its owner and who made it, and so on for the key that made it.
fn of_key(app: &App, key: &Arc<KeyRecord>) -> GovernanceCaller {
    let people = app.identity.people();
    let mut concerned = Vec::new();
    let mut present = Some(Arc::clone(key));
    for _ in 0..MAX_MAKERS {
        let Some(key) = present.take() else { break };
        let owner = key.owner.to_lowercase();
        concerned.extend(people.ids_of(|user| user.id == key.owner || user.email == owner, 1));
        match key.created_by.as_deref() {
            Some(maker) if maker.starts_with(IdKind::User.prefix()) => concerned.push(maker.to_owned()),
            Some(maker) => present = app.keys.present(maker),
            None => {}
        }
    }
    concerned.sort_unstable();
    concerned.dedup();
    let has = |role| key.roles.contains(&role);
    GovernanceCaller {
        is_super_admin: has(Role::SuperAdmin),
        is_reader: has(Role::Auditor) || has(Role::SuperAdmin),
        ..principal(&key.id, RequesterKind::Key, Some(key.owner.clone()), concerned)
    }
}

/// Returns the Ed25519 key of the request's proof of possession, which authentication has verified.
fn proven_key(http: &HttpRequest) -> Option<PublicKey> {
    let proof = http.headers().get("DPoP")?.to_str().ok()?;
    let header = URL_SAFE_NO_PAD.decode(proof.split('.').next()?).ok()?;
    let header: Value = serde_json::from_slice(&header).ok()?;
    PublicKey::from_jwk(header.get("jwk")?).ok()
}

/// Returns the payload of a request: what an approval of it approves.
///
/// # Errors
/// `Invalid` for a body with a name twice or a number that readers understand differently.
fn payload(http: &HttpRequest, sent: &[u8]) -> Result<Value, Error> {
    let body = if sent.is_empty() {
        Value::Null
    } else {
        let body = muster_tlog::canonical::parse_unambiguous(sent);
        without_secrets(body.map_err(|error| Error::new(Kind::Invalid, format!("the body: {error}")))?)
    };
    let query: Map<String, Value> = web::Query::<Vec<(String, String)>>::from_query(http.query_string())
        .map(|query| query.into_inner().into_iter().map(|(name, value)| (name, Value::String(value))).collect())
        .unwrap_or_default();
    Ok(json!({ "method": http.method().as_str(), "path": http.path(), "query": query, "body": body }))
}

fn without_secrets(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(name, _)| !SECRET_FIELDS.contains(&name.as_str()))
            .map(|(name, value)| (name, without_secrets(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_secrets).collect(),
        other => other,
    }
}

fn header<'a>(http: &'a HttpRequest, name: &HeaderName) -> Result<Option<&'a str>, Error> {
    let mut values = http.headers().get_all(name);
    let invalid = || {
        let message = format!("{name} must be sent once, in visible ASCII characters");
        Error::field(Kind::Invalid, &["header", name.as_str()], message, Value::Null)
    };
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(|text| Some(text.trim())).map_err(|_| invalid()),
        _ => Err(invalid()),
    }
}

/// Reads the reason: percent-encoded UTF-8, 1 to 500 characters.
fn reason(http: &HttpRequest) -> Result<Option<String>, Error> {
    let Some(encoded) = header(http, &REASON)? else { return Ok(None) };
    let decoded = percent_decoded(encoded).filter(|text| {
        (1..=MAX_REASON).contains(&text.chars().count()) && !text.trim().is_empty() && !text.contains(char::is_control)
    });
    let wrong = || {
        let message = format!("must have 1 to {MAX_REASON} characters, percent-encoded as UTF-8");
        Error::field(Kind::Invalid, &["header", "Muster-Reason"], message, encoded.into())
    };
    decoded.map(Some).ok_or_else(wrong)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Runs a command that may need an approval. `sent` is the body as it was sent; `run` executes the command, with the permit
/// of the approval that the request names.
///
/// A command that needs an approval and came without one opens it if the request has a reason: `Break` is that response,
/// and nothing is done.
///
/// # Errors
/// Those of the command; `Forbidden` (`approval_required`) with the hash of the payload; those of
/// [`Governance::permit`](muster_governance::Governance::permit) and `open`.
pub(crate) async fn guarded<T, R, F>(
    app: &web::Data<App>,
    http: &HttpRequest,
    sent: &[u8],
    run: R,
) -> Result<ControlFlow<HttpResponse, T>, HttpError>
where
    T: 'static,
    R: FnOnce(Option<Permit>) -> F,
    F: Future<Output = Result<T, Error>> + 'static,
{
    let (reason, approval) = (reason(http)?, header(http, &APPROVAL)?);
    if let Some(id) = approval {
        if reason.is_some() {
            let message = "Muster-Reason opens an approval and Muster-Approval uses one: send one of them";
            return Err(Error::field(Kind::Invalid, &["header", "Muster-Reason"], message, Value::Null).into());
        }
        let hash = payload_sha256(&payload(http, sent)?)?;
        let permit = app.governance.permit(caller(app, http)?, id.to_owned(), hash).await?;
        let done = settled(app, permit.approval.clone(), run(Some(permit))).await?;
        return Ok(ControlFlow::Continue(done));
    }
    let error = match run(None).await {
        Ok(done) => return Ok(ControlFlow::Continue(done)),
        Err(error) => error,
    };
    let Some(need) = Need::of_error(&error) else { return Err(error.into()) };
    let payload = payload(http, sent)?;
    match reason {
        Some(reason) => {
            let new = NewApproval::of(need, reason, payload);
            let (approval, _) = app.governance.open(caller(app, http)?, new, None).await?;
            Ok(ControlFlow::Break(opened(http, &approval)))
        }
        None => Err(with_hash(error, &payload_sha256(&payload)?).into()),
    }
}

/// Runs a command whose batch changes an approval, and reports its end. It goes on if the client leaves: what was executed
/// is reported in any case.
async fn settled<T: 'static>(
    app: &web::Data<App>,
    approval: String,
    running: impl Future<Output = Result<T, Error>> + 'static,
) -> Result<T, Error> {
    let governance = app.governance.clone();
    let running = actix_web::rt::spawn(async move {
        let done = running.await;
        // Of a command without an answer nobody knows whether its batch is still to come: the lease ends by itself.
        if !done.as_ref().is_err_and(|error| error.kind == Kind::Unavailable) {
            governance.settle(approval).await;
        }
        done
    });
    running.await.map_err(|_| Error::new(Kind::Internal, "the command ended without an answer"))?
}

/// Decides whether a backup may be read, and writes its entry of the audit log together with the execution of its approval,
/// whose identifier it returns. No actor owns the store as a whole, so this is decided here.
pub(crate) async fn admit_backup(
    app: &App,
    caller: &GovernanceCaller,
    permit: Option<Permit>,
) -> Result<Option<String>, Error> {
    let now = app.clock.now();
    let approval = permit.as_ref().map(|permit| permit.approval.clone());
    let need = Need::new(GuardedAction::BackupRead, "store");
    let cleared = app.standing.get().clear(Some(need), caller.as_requester(), permit, now)?;
    let entry = AuditEntry::new(now, caller.id(), "backup.created", "store", cleared.annotate(Value::Null));
    let (expect, mut ops) = cleared.into_parts();
    ops.push(entry.op()?);
    match app.store.commit(Batch { expect, ops }).await {
        Err(StoreError::Conflict) => {
            let message = "the approval has changed meanwhile: read it again";
            Err(Error::new(Kind::Conflict, message).coded("state_conflict"))
        }
        outcome => outcome.map(|()| approval).map_err(Error::from),
    }
}

/// Adds the hash of the payload to the details of an error.
fn with_hash(mut error: Error, hash: &str) -> Error {
    if let Some(details) = error.details.as_deref_mut().and_then(Value::as_object_mut) {
        details.insert("payload_sha256".to_owned(), hash.into());
        details.retain(|name, _| !matches!(name.as_str(), "blast" | "budget_pct" | "facts" | "amid_critical_incident"));
    }
    error
}

/// Returns 202 with the approval, in the envelope of the route's dialect.
fn opened(http: &HttpRequest, approval: &ApprovalView) -> HttpResponse {
    let location = format!("/api/v1/governance/approvals/{}", approval.record.id);
    let body = json!({ "approval": ApprovalBody::from(approval) });
    let body = match Dialect::of(http.path()) {
        Dialect::Disaster => json!({ "success": true, "data": body }),
        _ => body,
    };
    HttpResponse::Accepted().insert_header((LOCATION, location)).json(body)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn the_payload_has_no_secret_and_the_same_hash_whatever_the_order_and_form() {
        let request = TestRequest::post().uri("/api/v1/keys").to_http_request();
        let hash = |body: &str| payload_sha256(&payload(&request, body.as_bytes()).unwrap()).unwrap();
        // The example of contract 6, section 4.
        let known = "79129117d7c0deb8d20086dfe3eae67a995b3004e6ba1891c47af05d61f0a3b4";
        assert_eq!(hash(r#"{"name":"ci","scopes":["admin"]}"#), known);
        assert_eq!(hash(r#"{ "scopes": ["admin"], "name": "\u0063i" }"#), known);
        assert_ne!(hash(r#"{"name":"ci","scopes":["admin"],"budget_usd":1}"#), known);
        assert_eq!(hash(r#"{"a":1.0}"#), hash(r#"{"a":1}"#));
        let secret = payload(&request, br#"{"email":"a@b","password":"p","nested":{"secret":"s","x":1}}"#).unwrap();
        assert_eq!(secret["body"], json!({ "email": "a@b", "nested": { "x": 1 } }));
        for ambiguous in [r#"{"a":1,"a":2}"#, r#"{"a":9007199254740993}"#, r#"{"a":"\ud800"}"#] {
            assert!(payload(&request, ambiguous.as_bytes()).is_err(), "{ambiguous}");
        }
    }

    #[test]
    fn a_reason_is_percent_encoded_text() {
        let of = |value: &str| reason(&TestRequest::get().insert_header(("Muster-Reason", value)).to_http_request());
        assert_eq!(of("Z%C3%BCrich%20needs%20it").unwrap().as_deref(), Some("Zürich needs it"));
        assert_eq!(of("plain").unwrap().as_deref(), Some("plain"));
        for wrong in ["%", "%zz", "%ff", "%20", "a%0Ab", &"x".repeat(501)] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert_eq!(reason(&TestRequest::get().to_http_request()).unwrap(), None);
    }
}
