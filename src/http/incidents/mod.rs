//! Incidents: reports, transitions between their states, lists and maps.

mod body;
mod edits;
mod read;
mod response;
mod verb_requests;
mod verbs;

use crate::route::operations;

operations! {
    read::list,
    edits::report,
    read::geojson,
    read::cap,
    read::get,
    edits::patch,
    read::timeline,
    edits::note,
    edits::add,
    edits::change,
    verbs::triage,
    verbs::acknowledge,
    verbs::activate,
    verbs::contain,
    verbs::escalate,
    verbs::de_escalate,
    verbs::assign,
    verbs::silence,
    verbs::resolve,
    verbs::close,
    verbs::reopen,
    verbs::duplicate,
    verbs::false_alarm,
    verbs::cancel,
}
