//! `DELETE /api/memory/owners/{owner}`: deletion of all data of an owner.

use actix_web::{HttpRequest, web};
use muster_core::{Error, Kind};
use muster_identity::keys::Scope;
use muster_memory::{ForgottenCounts, Owner};
use serde::Serialize;
use utoipa::ToSchema;

use super::entry::check_name;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, Conflict, ReadErrors};
use crate::guard::{Guarded, MemoryForget, acting, caller_of};

/// The result of a deletion, and the files that may still contain the data.
#[derive(Debug, Serialize, ToSchema)]
pub struct ForgottenBody {
    pub owner: String,
    pub entries: u64,
    /// Number of replaced versions.
    pub versions: u64,
    pub vectors: u64,
    /// Names of the files in the data folder that may still contain the data: backups and quarantined files since the
    /// creation of the owner. Backups written elsewhere must be deleted by the operator.
    pub backups: Vec<String>,
}

/// Delete all memory of an owner
///
/// Deletes every entry of an owner in all namespaces, with history, vectors and index data. The own memory needs the
/// scope `memory`; the memory of another owner and of the shared namespaces (`shared`) needs the scope `admin`.
/// Revoking a key or deleting a user does not delete its memory. The deletion is recorded in the audit log.
#[utoipa::path(delete, path = "/api/memory/owners/{owner}", tag = "memory", operation_id = "forget_memory",
    params(("owner" = String, Path, description = "`key_…` or `usr_…`, or `shared`")),
    responses((status = 200, description = "What was deleted", body = ForgottenBody), ReadErrors<Agent>,
        Conflict<Agent>))]
pub async fn forget(
    _guard: Guarded<MemoryForget>,
    owner: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<ForgottenBody>, HttpError> {
    let (by, scopes) = (acting(&http)?, caller_of(&http)?.key);
    let own = by.id() == *owner && scopes.has(Scope::Memory);
    if !own && !scopes.has(Scope::Admin) {
        let message = "deleting the own memory needs the scope `memory`, that of another owner the scope `admin`";
        return Err(HttpError::new(Kind::Forbidden, message));
    }
    if let Err(why) = check_name(&owner) {
        return Err(HttpError(Error::field(Kind::Invalid, &["path", "owner"], why, serde_json::Value::Null)));
    }
    let ForgottenCounts { entries, versions, vectors } = app.memory.entries.forget(&Owner::new(&owner), &by).await?;
    app.metrics.memory_writes("forget", 1);
    let holding = app.clone().into_inner();
    let named = owner.clone();
    let backups = web::block(move || holding.backups_since(&named)).await;
    let backups = backups.map_err(|error| Error::new(Kind::Internal, error.to_string()))??;
    Ok(web::Json(ForgottenBody { owner: owner.into_inner(), entries, versions, vectors, backups }))
}
