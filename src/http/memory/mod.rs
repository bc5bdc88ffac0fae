//! Semantic memory: store, search, read and delete entries.

mod batch;
mod entry;
mod forget;
mod queries;
mod read;
mod remove;
mod response;
mod search;
mod search_request;
mod stats;
mod store;

use crate::route::operations;

// `{key}` may be any text, percent-encoded. An entry whose key is the name of another route is accessed by its
// identifier, or by `key` of the list.
operations! {
    read::list,
    remove::delete_named,
    store::store,
    batch::store_many,
    search::search,
    search::search_by_body,
    read::history,
    stats::stats,
    forget::forget,
    read::get,
    remove::delete,
}
