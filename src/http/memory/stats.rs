//! `GET /api/memory/stats`

use actix_web::{HttpRequest, web};
use muster_memory::{IndexHealth, SpaceStats, Stats};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors};
use crate::guard::{Guarded, MemoryUse, acting};

/// The contents of one namespace.
#[derive(Debug, Serialize, ToSchema)]
pub struct NamespaceBody {
    pub namespace: String,
    pub entries: u64,
    pub versions: u64,
    pub bytes: u64,
}

/// The state of the index of the caller's memory.
#[derive(Debug, Serialize, ToSchema)]
pub struct IndexBody {
    /// `state`: `ready`, `rebuilding` (with `percent`) or `down`.
    #[serde(flatten)]
    #[schema(inline, value_type = Object)]
    pub health: IndexHealth,
    /// Number of indexed entries.
    pub entries: Option<u64>,
    /// Size in memory, in bytes.
    pub bytes: Option<u64>,
    /// Number of durable changes that are not indexed yet.
    pub lag: Option<u64>,
}

/// The contents of the caller's memory. Expired entries are counted until they are deleted, seconds later.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatsBody {
    /// Identifier of the owner: `key_…` or `usr_…`.
    pub owner: String,
    pub entries: u64,
    /// Maximum number of entries.
    pub limit: u64,
    /// Number of stored earlier versions.
    pub versions: u64,
    /// Size of the keys, values and tags of the present versions, in bytes.
    pub bytes: u64,
    /// Namespaces in order of name, at most the first thousand.
    pub namespaces: Vec<NamespaceBody>,
    /// Number of entries with a vector.
    pub vectors: Option<u64>,
    /// Number of entries whose vector is not computed yet.
    pub pending: Option<u64>,
    /// Embedding model; null if there is none.
    pub model: Option<String>,
    /// Length of a vector.
    pub dimensions: Option<usize>,
    pub index: IndexBody,
}

/// Get statistics of the caller's memory
///
/// Returns the number and size of the caller's entries by namespace, and the state of the index.
#[utoipa::path(get, path = "/api/memory/stats", tag = "memory", operation_id = "memory_stats",
    responses((status = 200, description = "The statistics", body = StatsBody), CallErrors<Agent>))]
pub async fn stats(
    _guard: Guarded<MemoryUse>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<StatsBody>, HttpError> {
    let by = acting(&http)?;
    let Stats { usage, namespaces, index, health } = app.memory.entries.stats(&by).await?;
    let of = |space: SpaceStats| NamespaceBody {
        namespace: space.namespace.to_string(),
        entries: space.usage.entries,
        versions: space.usage.versions,
        bytes: space.usage.bytes,
    };
    let figures = index.as_ref();
    Ok(web::Json(StatsBody {
        owner: by.id().to_owned(),
        entries: usage.entries,
        limit: app.memory.max_entries,
        versions: usage.versions,
        bytes: usage.bytes,
        namespaces: namespaces.into_iter().map(of).collect(),
        vectors: figures.map(|figures| figures.vectors),
        pending: figures.map(|figures| figures.pending),
        model: figures.and_then(|figures| figures.model.as_deref().map(str::to_owned)),
        dimensions: figures.and_then(|figures| figures.dimensions),
        index: IndexBody {
            health,
            entries: figures.map(|figures| figures.entries),
            bytes: figures.map(|figures| figures.bytes),
            lag: figures.map(|figures| figures.lag),
        },
    }))
}
