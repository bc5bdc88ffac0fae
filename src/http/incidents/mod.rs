//! Incidents: reports, transitions between their states, lists and maps.

mod body;
mod close_actions;
mod edits;
mod read;
mod response;
mod transition_requests;
mod transitions;

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
    transitions::triage,
    transitions::acknowledge,
    transitions::activate,
    transitions::contain,
    transitions::escalate,
    transitions::assign,
    transitions::silence,
    close_actions::resolve,
    close_actions::close,
    close_actions::reopen,
    close_actions::duplicate,
    close_actions::false_alarm,
    close_actions::cancel,
}
