//! The governance policy: read, replace, try. Reading takes a role; replacing is guarded.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::guard::{GuardedAction, QuorumRole, Risk, VetoFacts};
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind, Millis};
use muster_governance::policy::{GuardSetting, InForce, PolicyDocument, PolicyFault, PolicyService, PolicyWriter};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::envelope;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, Conflict, Gone, VersionErrors, WriteErrors};
use crate::governance::{self, guarded};
use crate::guard::{AuditRead, Guarded, PolicyWrite, Sent, caller_of};
use crate::parameters;

/// A policy. What is left out is as by default.
#[derive(Debug, Request)]
#[request(example = {
    "quorum": ["security", "operations"],
    "guards": { "firmware.rollout": { "over": 50 } },
    "veto": "@id(\"night\") forbid (principal, action == Action::\"firmware.rollout\", resource) when { context.blast > 500 };"
})]
pub struct PolicyRequest {
    /// Roles that are each covered by another person: `security`, `operations`. 1 to 8, of which some may be the same.
    #[request(default = QuorumRole::ALL.to_vec(), schema = Vec<String>)]
    quorum: Vec<QuorumRole>,
    /// Risk, roles and threshold (`over`) of single actions. A risk below the action's own is raised to it; `policy.change`,
    /// `decider.enrol` and `role.grant` always take two people.
    #[request(default, schema = Object)]
    guards: BTreeMap<String, GuardSetting>,
    /// Veto rules in Cedar, at most 8 KiB and 64 rules. A rule that errs vetoes; `@id` names it, `@hard` holds under
    /// break-glass too. By default the rules that the server comes with.
    veto: Option<String>,
}

/// A request to be judged by veto rules.
#[derive(Debug, Request)]
pub struct JudgedRequest {
    /// Name of the action, such as `firmware.rollout`.
    #[request(chars = 1..=128, example = "firmware.rollout")]
    action: String,
    /// Identifier of what the action changes.
    #[request(chars = ..=500, default)]
    resource: String,
    /// Principal that requests it.
    #[request(chars = ..=200, default)]
    requester: String,
    /// Risk; by default that of a guarded action, `low` of others.
    #[request(schema = String)]
    risk: Option<Risk>,
    /// Whether the session is bound to a key.
    #[request(default = true)]
    bound: bool,
    /// Age of the session in seconds.
    #[request(range = 0..=4_000_000_000, default = 0)]
    session_s: u64,
    /// Whether a critical incident is open on the resource.
    #[request(default = false)]
    critical_incident: bool,
    /// Number of devices or tasks that are affected.
    #[request(range = 0..=1_000_000_000, default = 0)]
    blast: u64,
    /// New budget as a percentage of the present one.
    #[request(range = 0..=1_000_000_000, default = 0)]
    budget_pct: u64,
    /// Whether the same action on the same resource was rejected within the last hour.
    #[request(default = false)]
    rejected_1h: bool,
    /// Vetoes against the requester within the last hour.
    #[request(range = 0..=1_000_000, default = 0)]
    vetoed_1h: u64,
    /// Whether the audit log is in order.
    #[request(default = true)]
    audit_ok: bool,
    /// Whether guarded actions are frozen.
    #[request(default = false)]
    frozen: bool,
}

/// Rules to try, and a request.
#[derive(Debug, Request)]
#[request(example = { "request": { "action": "firmware.rollout", "resource": "job_1", "risk": "high", "blast": 20_000 } })]
pub struct PolicyCheck {
    /// Veto rules in Cedar; those in force by default.
    veto: Option<String>,
    /// What they are to judge.
    #[request(nested)]
    request: JudgedRequest,
}

/// How an action is guarded.
#[derive(Debug, Serialize, ToSchema)]
pub struct GuardBody {
    #[schema(value_type = String, example = "high")]
    pub risk: Risk,
    #[schema(value_type = Vec<String>)]
    pub roles: Vec<QuorumRole>,
    /// Number above which the action is guarded: devices, tasks or USD a month; null where it has none.
    pub over: Option<u64>,
}

/// How an action is guarded differently than by default.
#[derive(Debug, Serialize, ToSchema)]
pub struct GuardSettingBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub risk: Option<Risk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub roles: Option<Vec<QuorumRole>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<u64>,
}

/// The policy in force.
#[derive(Debug, Serialize, ToSchema)]
pub struct PolicyBody {
    #[schema(value_type = Vec<String>)]
    pub quorum: Vec<QuorumRole>,
    /// As it was written: actions that differ from the defaults.
    pub guards: BTreeMap<&'static str, GuardSettingBody>,
    /// Veto rules in Cedar.
    pub veto: String,
    /// Identifier of the policy: SHA-256 of its quorum, guards and rules in canonical JSON.
    pub policy: String,
    /// Counts the changes, from 1; for `If-Match`, also the `ETag`.
    pub version: u64,
    /// Where it came from: `file` or `store`.
    pub source: &'static str,
    /// Whether `[governance]` of the settings describes the same policy.
    pub like_file: bool,
    /// Principal that set it; `system` for the settings file.
    pub by: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
    /// Approval of the change.
    pub approval: Option<String>,
    /// How every action is guarded.
    pub in_force: BTreeMap<&'static str, GuardBody>,
    /// What is doubtful about the rules, such as one that can never hit.
    pub warnings: Vec<String>,
}

/// A rule that forbids a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct VetoBody {
    pub rule: String,
    /// Whether it holds under break-glass too.
    pub hard: bool,
}

/// What rules say of a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct JudgementBody {
    /// Whether a rule forbids it.
    pub vetoed: bool,
    /// The rules that forbid it; those that erred are among them.
    pub rules: Vec<VetoBody>,
    /// Identifier of the policy with these rules.
    pub policy: String,
}

impl From<&InForce> for PolicyBody {
    fn from(policy: &InForce) -> Self {
        let setting = |(action, GuardSetting { risk, roles, over }): (&GuardedAction, &GuardSetting)| {
            (action.name(), GuardSettingBody { risk: *risk, roles: roles.clone(), over: *over })
        };
        let rule = |(action, rule): (&GuardedAction, &muster_core::guard::GuardRule)| {
            (action.name(), GuardBody { risk: rule.risk, roles: rule.roles.clone(), over: rule.over })
        };
        Self {
            quorum: policy.document.quorum.clone(),
            guards: policy.document.guards.iter().map(setting).collect(),
            veto: policy.document.veto.clone(),
            policy: policy.id.to_string(),
            version: policy.version,
            source: policy.source.name(),
            like_file: policy.like_file,
            by: policy.by.clone(),
            at: policy.at,
            approval: policy.approval.clone(),
            in_force: policy.guards.iter().map(rule).collect(),
            warnings: policy.warnings().to_vec(),
        }
    }
}

fn with_etag(policy: &InForce) -> HttpResponse {
    HttpResponse::Ok().insert_header((ETAG, envelope::etag(policy.version))).json(PolicyBody::from(policy))
}

impl PolicyRequest {
    fn document(self) -> Result<PolicyDocument, Error> {
        let mut guards = BTreeMap::new();
        for (name, setting) in self.guards {
            let unknown = || {
                let known: Vec<_> = GuardedAction::ALL.iter().map(|action| action.name()).collect();
                let message = format!("is none of the guarded actions: {}", known.join(", "));
                Error::field(Kind::Invalid, &["body", "guards", &name], message, name.clone().into())
            };
            guards.insert(GuardedAction::parse(&name).ok_or_else(unknown)?, setting);
        }
        let veto = self.veto.unwrap_or_else(|| PolicyDocument::default().veto);
        Ok(PolicyDocument { quorum: self.quorum, guards, veto })
    }
}

/// Get the governance policy
///
/// Returns the policy in force: the quorum, how every action is guarded, and the veto rules. Until each role of the quorum
/// has a decider of its own it is `[governance]` of the settings; then the settings are compared with it only.
#[utoipa::path(get, path = "/api/v1/governance/policy", tag = "governance", operation_id = "get_governance_policy",
    responses((status = 200, description = "The policy", body = PolicyBody), CallErrors<Agent>))]
pub async fn get(_guard: Guarded<AuditRead>, app: web::Data<App>) -> HttpResponse {
    with_etag(&app.oversight.policy.now())
}

/// Replace the governance policy
///
/// Replaces the whole policy by an approved `policy.change`, which is critical: without `Muster-Approval` the answer says
/// what it needs, with `Muster-Reason` it opens the approval. It is in force when the answer arrives, also for approvals that
/// are open. A policy that cannot be used is refused before. `muster` on the data folder of a stopped server changes a policy
/// whose rules forbid every change of it.
#[utoipa::path(put, path = "/api/v1/governance/policy", tag = "governance", operation_id = "replace_governance_policy",
    request_body = PolicyRequest,
    params(("If-Match" = Option<String>, Header, description = "The version that was read"),
        ("Muster-Reason" = Option<String>, Header, description = "Why, percent-encoded: opens the approval"),
        ("Muster-Approval" = Option<String>, Header, description = "The approval that is executed")),
    responses((status = 200, description = "The policy in force", body = PolicyBody),
        (status = 202, description = "The approval that was opened"),
        WriteErrors<Agent>, VersionErrors<Agent>, Conflict<Agent>, Gone<Agent>))]
pub async fn put(
    request: Sent<PolicyWrite, PolicyRequest>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let document = request.body.document()?;
    let expected = match parameters::optional_if_match(&http)? {
        IfMatch::Version(version) => Some(version),
        IfMatch::Any => None,
    };
    // What cannot be used needs no approval to be refused.
    document.check().map_err(|fault| unusable(&fault))?;
    let caller = governance::caller(&app, &http)?;
    let policy = app.oversight.policy.clone();
    let done = guarded(&app, &http, &request.sent, move |permit| async move {
        let writer = PolicyWriter { requester: caller.as_requester(), expected };
        policy.replace(document, writer, permit).await
    });
    Ok(match done.await? {
        ControlFlow::Continue(policy) => with_etag(&policy),
        ControlFlow::Break(opened) => opened,
    })
}

/// Try veto rules
///
/// Returns which rules would forbid a request: of the policy in force, or of a text that is to be tried. Nothing is stored.
#[utoipa::path(post, path = "/api/v1/governance/policy/check", tag = "governance",
    operation_id = "check_governance_policy", request_body = PolicyCheck,
    responses((status = 200, description = "What the rules say", body = JudgementBody), WriteErrors<Agent>))]
pub async fn check(
    request: Sent<AuditRead, PolicyCheck>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<JudgementBody>, HttpError> {
    let PolicyCheck { veto, request: judged } = request.body;
    let in_force = app.oversight.policy.now();
    let caller = caller_of(&http)?.key;
    let own = GuardedAction::parse(&judged.action).and_then(|action| in_force.guards.get(&action));
    let facts = VetoFacts {
        risk: judged.risk.or_else(|| own.map(|rule| rule.risk)).unwrap_or(Risk::Low),
        requester: if judged.requester.is_empty() { caller.id.clone() } else { judged.requester },
        action: judged.action,
        resource: judged.resource,
        bound: judged.bound,
        session_s: judged.session_s,
        critical_incident: judged.critical_incident,
        blast: judged.blast,
        budget_pct: judged.budget_pct,
        rejected_1h: judged.rejected_1h,
        vetoed_1h: judged.vetoed_1h,
        audit_ok: judged.audit_ok,
        frozen: judged.frozen,
    };
    let (rules, policy) = match veto {
        None => (in_force.judge(&facts), in_force.id.to_string()),
        Some(veto) => {
            let tried = PolicyDocument { veto, ..in_force.document.clone() };
            // Compiling takes a while.
            let judged = web::block(move || PolicyService::judge_by(&tried, &facts).map(|rules| (rules, tried.id())));
            let judged = judged.await.map_err(|_| Error::new(Kind::Internal, "the rules were not judged"))?;
            judged.map_err(|fault| unusable(&fault))?
        }
    };
    let rules: Vec<_> = rules.into_iter().map(|rule| VetoBody { rule: rule.id, hard: rule.hard }).collect();
    Ok(web::Json(JudgementBody { vetoed: !rules.is_empty(), rules, policy }))
}

fn unusable(fault: &PolicyFault) -> Error {
    let mut loc = vec!["body"];
    loc.extend(fault.member.splitn(2, '.'));
    Error::field(Kind::Invalid, &loc, fault.why.clone(), serde_json::Value::Null)
}
