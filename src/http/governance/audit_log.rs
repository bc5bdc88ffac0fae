//! The audit log as a transparency log: proofs, checkpoints, keys, tiles, exports.

use actix_web::http::header::{ACCEPT, CACHE_CONTROL};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures::stream::try_unfold;
use muster_audit::LogResource;
use muster_core::{Error, Kind};
use muster_request::Request;
use muster_tlog::{Hash, LogPath, Note, TlogProof};
use serde::Serialize;
use utoipa::ToSchema;

use super::audit::number;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, NotFound, ReadErrors, Unavailable};
use crate::guard::{AuditRead, Guarded, Queried, caller_of};

/// The tree of a proof.
#[derive(Debug, Request)]
#[request(query)]
pub struct ProofQuery {
    /// Number of entries of the tree; by default that of the newest checkpoint.
    #[request(range = 1..=9_007_199_254_740_991)]
    pub size: Option<u64>,
}

/// A proof that an entry is in the log (RFC 6962, section 2.1.1).
#[derive(Debug, Serialize, ToSchema)]
pub struct InclusionProofBody {
    pub seq: u64,
    /// Number of entries of the tree.
    pub size: u64,
    /// Hash of the leaf, base64.
    pub leaf_hash: String,
    /// Hashes from the sibling of the leaf to the child of the root, base64.
    pub path: Vec<String>,
    /// Signed checkpoint of a tree of this size (C2SP tlog-checkpoint).
    pub checkpoint: String,
}

fn texts(path: &[Hash]) -> Vec<String> {
    path.iter().map(Hash::to_string).collect()
}

/// Prove an audit entry
///
/// Returns the proof that an entry is in the log. A new entry is signed within seconds; the answer waits for it. With
/// `Accept: text/plain` the proof is a C2SP tlog-proof, which is verified offline.
#[utoipa::path(get, path = "/api/v1/governance/audit/{seq}/proof", tag = "governance", operation_id = "prove_audit_entry",
    params(("seq" = u64, Path, description = "Number of the entry"), ProofQuery),
    responses((status = 200, description = "The proof", content(
            (InclusionProofBody = "application/json"), (String = "text/plain"))),
        ReadErrors<Agent>, NotFound<Agent>, Unavailable<Agent>))]
pub async fn proof(
    request: Queried<AuditRead, ProofQuery>,
    seq: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let proof = app.audit.inclusion(number(&seq)?, request.query.size).await?;
    let accepts = http.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accepts.trim_start().starts_with("text/plain") {
        let note = Note::parse(proof.checkpoint.as_bytes());
        let checkpoint = note.map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        let text = TlogProof { extra: None, index: proof.seq, path: proof.path, checkpoint }.to_string();
        return Ok(HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(text));
    }
    Ok(HttpResponse::Ok().json(InclusionProofBody {
        seq: proof.seq,
        size: proof.size,
        leaf_hash: proof.leaf_hash.to_string(),
        path: texts(&proof.path),
        checkpoint: proof.checkpoint,
    }))
}

/// The two trees of a proof.
#[derive(Debug, Request)]
#[request(query)]
pub struct ConsistencyQuery {
    /// Number of entries of the earlier tree.
    #[request(range = 0..=9_007_199_254_740_991)]
    pub from: u64,
    /// Number of entries of the later tree; by default that of the newest checkpoint.
    #[request(range = 0..=9_007_199_254_740_991)]
    pub to: Option<u64>,
}

/// A proof that a log begins with an earlier one (RFC 6962, section 2.1.2).
#[derive(Debug, Serialize, ToSchema)]
pub struct ConsistencyProofBody {
    pub from: u64,
    pub to: u64,
    /// Hashes, base64.
    pub path: Vec<String>,
}

/// Prove that the audit log was only extended
///
/// Returns the proof that the tree of the first `to` entries begins with the tree of the first `from`.
#[utoipa::path(get, path = "/api/v1/governance/audit/consistency", tag = "governance",
    operation_id = "prove_audit_consistency", params(ConsistencyQuery),
    responses((status = 200, description = "The proof", body = ConsistencyProofBody), ReadErrors<Agent>,
        Unavailable<Agent>))]
pub async fn consistency(
    request: Queried<AuditRead, ConsistencyQuery>,
    app: web::Data<App>,
) -> Result<web::Json<ConsistencyProofBody>, HttpError> {
    let ConsistencyQuery { from, to } = request.query;
    let (to, path) = app.audit.consistency(from, to).await?;
    Ok(web::Json(ConsistencyProofBody { from, to, path: texts(&path) }))
}

/// The newest checkpoint.
#[derive(Debug, Serialize, ToSchema)]
pub struct CheckpointBody {
    /// The log.
    pub origin: String,
    /// Number of entries.
    pub size: u64,
    /// Root of the tree, base64.
    pub root: String,
    /// Time at which it was signed.
    pub at: String,
    /// The signed note, with the cosignatures of witnesses.
    pub note: String,
    /// Number of entries that all witnesses have seen; null without witnesses.
    pub witnessed_size: Option<u64>,
}

/// Get the newest checkpoint of the audit log
///
/// Returns size and root of the log as its key signed them (C2SP tlog-checkpoint). Whoever keeps the note can show later that
/// the log was altered. With `Accept: text/plain` only the note is returned.
#[utoipa::path(get, path = "/api/v1/governance/audit/checkpoint", tag = "governance", operation_id = "get_audit_checkpoint",
    responses((status = 200, description = "The checkpoint", content(
            (CheckpointBody = "application/json"), (String = "text/plain"))),
        CallErrors<Agent>, NotFound<Agent>, Unavailable<Agent>))]
pub async fn checkpoint(
    _guard: Guarded<AuditRead>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let signed = app.audit.checkpoint().await?;
    let accepts = http.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accepts.trim_start().starts_with("text/plain") {
        return Ok(HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(signed.cosigned()));
    }
    let view = app.audit.view();
    Ok(HttpResponse::Ok().json(CheckpointBody {
        origin: view.origin.clone(),
        size: signed.size,
        root: signed.root.to_string(),
        at: signed.at.rfc3339(),
        note: signed.cosigned(),
        witnessed_size: view.witnessed_size(),
    }))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct LogKeyList {
    /// Verifier keys (C2SP signed-note), the newest first. Keep them elsewhere: who can alter the log could alter this list.
    pub keys: Vec<String>,
}

/// List the keys of the audit log
///
/// Returns the keys that verify checkpoints of the log, those that sign no longer included.
#[utoipa::path(get, path = "/api/v1/governance/audit/keys", tag = "governance", operation_id = "list_audit_keys",
    responses((status = 200, description = "The keys", body = LogKeyList), CallErrors<Agent>))]
pub async fn keys(_guard: Guarded<AuditRead>, app: web::Data<App>) -> Result<web::Json<LogKeyList>, HttpError> {
    let keys = app.audit.vkeys()?.iter().map(ToString::to_string).collect();
    Ok(web::Json(LogKeyList { keys }))
}

/// Read the audit log as tiles
///
/// Returns `checkpoint`, `tile/<level>/<index>`, `tile/entries/<index>`, or those with `.p/<width>` for what is not full yet
/// (C2SP tlog-tiles): hashes of 32 bytes, or entries each after its length in two bytes.
#[utoipa::path(get, path = "/api/v1/governance/audit/log/{path}", tag = "governance", operation_id = "read_audit_tile",
    params(("path" = String, Path, description = "Path of the tile, such as tile/0/000")),
    responses((status = 200, description = "The tile, the bundle or the checkpoint", content(
            (String = "application/octet-stream"), (String = "text/plain"))),
        CallErrors<Agent>, NotFound<Agent>, Unavailable<Agent>))]
pub async fn resource(
    _guard: Guarded<AuditRead>,
    path: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let path: LogPath =
        path.parse().map_err(|error: muster_tlog::LogPathError| Error::new(Kind::NotFound, error.to_string()))?;
    Ok(match app.audit.resource(path).await? {
        LogResource::Checkpoint(note) => HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(note),
        LogResource::Bytes { bytes, full } => {
            // What is full never changes.
            let caching = if full { "private, max-age=31536000, immutable" } else { "private, no-cache" };
            let mut response = HttpResponse::Ok();
            response.content_type("application/octet-stream").insert_header((CACHE_CONTROL, caching)).body(bytes)
        }
    })
}

/// The part of the log to export.
#[derive(Debug, Request)]
#[request(query)]
pub struct ExportQuery {
    /// Number of the first entry.
    #[request(range = 0..=9_007_199_254_740_991, default = 0)]
    pub from: u64,
    /// Number behind the last entry; by default the size of the newest checkpoint.
    #[request(range = 0..=9_007_199_254_740_991)]
    pub to: Option<u64>,
}

/// Export the audit log
///
/// Returns one JSON object a line: the entries, each as a list shows it, and at the end `{"checkpoint": …}`, the signed
/// checkpoint. For a part of the log the last line has `before` and `after` as well: the hashes of the complete subtrees over the
/// other entries, by which the root follows. `muster audit verify` and `scripts/verify_audit.py` verify it offline. The export is
/// itself an entry.
#[utoipa::path(get, path = "/api/v1/governance/audit/export", tag = "governance", operation_id = "export_audit_log",
    params(ExportQuery),
    responses((status = 200, description = "The export", body = String, content_type = "application/x-ndjson"),
        ReadErrors<Agent>, NotFound<Agent>, Unavailable<Agent>))]
pub async fn export(
    request: Queried<AuditRead, ExportQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let ExportQuery { from, to } = request.query;
    let export = app.audit.export(from, to).await?;
    let (by, now) = (caller_of(&http)?.key.id.clone(), app.clock.now());
    let details = serde_json::json!({ "from": from, "to": export.end() });
    crate::audit_log::log(&app.audit, now, &by, "audit.export", &app.audit.view().origin, details).await?;
    let pieces = try_unfold(export, |mut export| async move {
        let piece = web::block(move || export.next_piece().map(|piece| (piece, export))).await;
        let (piece, export) = piece.map_err(std::io::Error::other)?.map_err(std::io::Error::other)?;
        Ok::<_, std::io::Error>(piece.map(|piece| (Bytes::from(piece), export)))
    });
    Ok(HttpResponse::Ok().content_type("application/x-ndjson").streaming(Box::pin(pieces)))
}
