//! Firmware: signed images, the keys that sign them, and their rollout.

mod artifacts;
mod body;
mod content;
mod describe;
mod jobs;
mod keys;

use crate::route::operations;

operations! {
    artifacts::list,
    artifacts::create,
    artifacts::get,
    content::get,
    content::put,
    artifacts::verify,
    artifacts::revoke,
    keys::list,
    keys::create,
    keys::revoke,
    jobs::list,
    jobs::create,
    jobs::get,
    jobs::executions,
    jobs::approve,
    jobs::deny,
    jobs::pause,
    jobs::resume,
    jobs::cancel,
    jobs::rollback,
    jobs::rollback_device,
    jobs::executions_of,
}
