//! CAP alerts: published, confirmed, imported, exported.

mod body;
mod import;
mod public;
mod publish;
mod read;

use crate::route::operations;

operations! {
    publish::publish,
    read::list,
    read::atom,
    read::cap,
    read::get,
    publish::change,
    publish::confirm,
    publish::reject,
    publish::cancel,
    publish::all_clear,
    import::import,
}
