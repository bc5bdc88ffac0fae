//! Incidents: reported, moved through their states, listed, drawn on a map.

mod body;
mod edits;
mod ending;
mod moves;
mod read;
mod shown;
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
    ending::resolve,
    ending::close,
    ending::reopen,
    ending::duplicate,
    ending::false_alarm,
    ending::cancel,
}
