//! Controls of published frameworks and the evidence that this server has for them.

use actix_web::web;
use muster_core::{Error, Kind, Millis};
use muster_governance::compliance::{ControlState, FoundEvidence, Status};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, NotFound};
use crate::guard::{AuditRead, Guarded};

/// Domain of the signature of a report.
const DOMAIN: &str = "muster.compliance.v1";

/// What a query found.
#[derive(Debug, Serialize, ToSchema)]
pub struct EvidenceBody {
    /// `audit`, `probe`, `setting` or `record`.
    #[schema(value_type = String, example = "audit")]
    pub kind: &'static str,
    /// Actions (separated by `|`), module of health, setting, or kind of record.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Number of entries or records.
    pub count: u64,
    /// Number of the oldest entry in the audit log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seq: Option<u64>,
    /// Number of the newest entry in the audit log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<u64>,
    /// Time of the newest entry, or of the look; null where there is nothing.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub at: Option<Millis>,
}

/// A control and its state.
#[derive(Debug, Serialize, ToSchema)]
pub struct ComplianceControl {
    pub id: String,
    pub title: String,
    /// The control in published frameworks.
    pub frameworks: Vec<String>,
    /// `pass`, `fail`, `no_evidence` or `excepted`.
    #[schema(value_type = String, example = "no_evidence")]
    pub status: &'static str,
    /// Why it has this state.
    pub why: String,
    /// Number of days that evidence counts.
    pub window_days: u32,
    pub evidence: Vec<EvidenceBody>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ControlList {
    pub controls: Vec<ComplianceControl>,
    /// Always null: all controls are on one page.
    pub next_cursor: Option<String>,
}

/// A report of all controls.
#[derive(Debug, Serialize, ToSchema)]
pub struct ComplianceReport {
    /// Identifier of the server.
    pub server: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
    /// Newest signed checkpoint of the audit log, in which the entries are.
    pub checkpoint: Option<String>,
    pub controls: Vec<ComplianceControl>,
}

/// The signature of a report.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportSignature {
    /// What was signed: `domain`, a NUL byte, and the report in canonical JSON (RFC 8785).
    pub domain: &'static str,
    /// Public Ed25519 key, base64url; one of `GET /api/v1/governance/audit/keys`.
    pub public_key: String,
    /// Ed25519 signature, base64url.
    pub signature: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SignedReport {
    pub report: ComplianceReport,
    pub signature: ReportSignature,
}

/// Number of controls by state.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct ControlCounts {
    pub pass: usize,
    pub fail: usize,
    pub no_evidence: usize,
    pub excepted: usize,
}

impl From<FoundEvidence> for EvidenceBody {
    fn from(found: FoundEvidence) -> Self {
        let FoundEvidence { kind, reference, count, first_seq, last_seq, at, .. } = found;
        Self { kind: kind.name(), reference, count, first_seq, last_seq, at }
    }
}

impl From<ControlState> for ComplianceControl {
    fn from(ControlState { control, status, why, evidence }: ControlState) -> Self {
        Self {
            id: control.id,
            title: control.title,
            frameworks: control.frameworks,
            status: status.name(),
            why,
            window_days: control.window_days,
            evidence: evidence.into_iter().map(EvidenceBody::from).collect(),
        }
    }
}

async fn all(app: &App) -> Result<Vec<ComplianceControl>, Error> {
    Ok(app.oversight.compliance.list().await?.into_iter().map(ComplianceControl::from).collect())
}

/// Returns the number of controls in each state.
pub(super) async fn counts(app: &App) -> Result<ControlCounts, Error> {
    let mut counts = ControlCounts::default();
    for state in app.oversight.compliance.list().await? {
        *match state.status {
            Status::Pass => &mut counts.pass,
            Status::Fail => &mut counts.fail,
            Status::NoEvidence => &mut counts.no_evidence,
            Status::Excepted => &mut counts.excepted,
        } += 1;
    }
    Ok(counts)
}

/// List controls
///
/// Returns every control with what this server can show for it. `pass` needs entries of the audit log within the window of
/// the control; settings, probes and counts only contradict (`fail`). An approval of `compliance.except` whose resource is
/// the control excepts it. There is no overall mark: a server cannot say that an organisation complies.
#[utoipa::path(get, path = "/api/v1/governance/compliance", tag = "governance", operation_id = "list_controls",
    responses((status = 200, description = "The controls", body = ControlList), CallErrors<Agent>))]
pub async fn list(_guard: Guarded<AuditRead>, app: web::Data<App>) -> Result<web::Json<ControlList>, HttpError> {
    Ok(web::Json(ControlList { controls: all(&app).await?, next_cursor: None }))
}

/// Get a control
///
/// Returns one control with its evidence.
#[utoipa::path(get, path = "/api/v1/governance/compliance/{id}", tag = "governance", operation_id = "get_control",
    params(("id" = String, Path, description = "Identifier, such as AC-5")),
    responses((status = 200, description = "The control", body = ComplianceControl), CallErrors<Agent>, NotFound<Agent>))]
pub async fn get(
    _guard: Guarded<AuditRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<web::Json<ComplianceControl>, HttpError> {
    Ok(web::Json(app.oversight.compliance.get(&id).await?.into()))
}

/// Get the signed report of all controls
///
/// Returns all controls with their evidence, signed with the key of the audit log.
#[utoipa::path(get, path = "/api/v1/governance/compliance/report", tag = "governance",
    operation_id = "get_compliance_report",
    responses((status = 200, description = "The report and its signature", body = SignedReport), CallErrors<Agent>))]
pub async fn report(_guard: Guarded<AuditRead>, app: web::Data<App>) -> Result<web::Json<SignedReport>, HttpError> {
    let keys = app.audit.keys();
    let report = ComplianceReport {
        server: keys.instance(),
        at: app.clock.now(),
        checkpoint: app.audit.view().signed.as_ref().map(muster_audit::SignedCheckpoint::cosigned),
        controls: all(&app).await?,
    };
    let internal = |error: &dyn std::fmt::Display| Error::new(Kind::Internal, format!("the report: {error}"));
    let value = serde_json::to_value(&report).map_err(|error| internal(&error))?;
    let text = canonical(&value).map_err(|error| internal(&error))?;
    let signed = keys.sign(DOMAIN, text.as_bytes(), report.at).map_err(|error| internal(&error))?;
    let signature = ReportSignature {
        domain: DOMAIN,
        public_key: base64url(&signed.public),
        signature: base64url(&signed.signature),
    };
    Ok(web::Json(SignedReport { report, signature }))
}

fn canonical(value: &Value) -> Result<String, muster_tlog::canonical::CanonicalError> {
    muster_tlog::canonical::to_canonical(value)
}

fn base64url(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}
