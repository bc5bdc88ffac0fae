//! `GET /api/memory/stats`

use actix_web::{HttpRequest, web};
use muster_memory::{IndexHealth, SpaceStats, Stats};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors};
use crate::guard::{Guarded, MemoryUse, acting};

/// What one namespace holds.
#[derive(Debug, Serialize, ToSchema)]
pub struct NamespaceBody {
    pub namespace: String,
    pub entries: u64,
    pub versions: u64,
    pub bytes: u64,
}

/// What the index holds of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct IndexBody {
    /// `state`: `ready`, `rebuilding` (with `percent`) or `down`.
    #[serde(flatten)]
    #[schema(inline, value_type = Object)]
    pub health: IndexHealth,
    /// Entries in it.
    pub entries: Option<u64>,
    /// In memory.
    pub bytes: Option<u64>,
    /// Durable changes that are not in it yet.
    pub lag: Option<u64>,
}

/// What the caller's memory holds. Entries past their time count until they are swept, seconds later.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatsBody {
    /// Whose: `key_…` or `usr_…`.
    pub owner: String,
    pub entries: u64,
    /// Most that may be.
    pub limit: u64,
    /// Replaced versions that are kept.
    pub versions: u64,
    /// Keys, values and tags of the present versions.
    pub bytes: u64,
    /// By name, at most the first thousand.
    pub namespaces: Vec<NamespaceBody>,
    /// Entries that are found by meaning, too.
    pub vectors: Option<u64>,
    /// Entries whose vector is to be made yet.
    pub pending: Option<u64>,
    /// The weights that make vectors; null where there are none.
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
