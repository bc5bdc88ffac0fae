//! Locations of incidents for the geofences. Pure.

use super::record::{Audience, Incident};
use super::transition::IncidentChange;
use crate::geofence;
use crate::geofence::{Observation, SubjectKind};

/// Returns the location of an incident: the centroid of its geometry while it is open, none once it is finished.
pub(super) fn of(incident: &Incident) -> Observation {
    let point =
        incident.geometry.as_ref().filter(|_| incident.state.is_open()).and_then(muster_geo::Geometry::centroid);
    let audience = match incident.audience() {
        Audience::Public => geofence::Audience::All,
        Audience::Restricted => geofence::Audience::Restricted,
        Audience::Private => geofence::Audience::Own,
    };
    let id = incident.id.as_str().into();
    Observation::of(SubjectKind::Incident, &id, point, incident.updated_at).tagged(&incident.tags).to(audience)
}

/// Returns the location after a change; `None` if the change does not affect it.
pub(super) fn moved(changed: &IncidentChange) -> Option<Observation> {
    let after = of(&changed.after);
    let Some(before) = changed.before.as_deref().map(of) else { return after.point.is_some().then_some(after) };
    let same = before.point == after.point && before.tags == after.tags && before.audience == after.audience;
    (!same).then_some(after)
}
