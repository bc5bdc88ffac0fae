//! Fences and memberships. Pure: time is an argument.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use muster_geo::{PointIndex, Shape, ShapeIndex};
use serde_json::json;

use super::checks::check;
use super::messages::{FencePatch, NewFence};
use super::record::{Fence, Member, Observation, Subject, SubjectInside};
use muster_core::event::{Event, EventAttributes};
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind, Millis};

const MAX_FENCES: usize = 10_000;
/// Largest number of fences that a subject enters and leaves in one decision: each causes a stored event.
const MAX_CHANGES: usize = 1_000;
/// Largest number of positions of all fences together, about 100 MB.
const MAX_VERTICES: usize = 2_000_000;

/// A validated fence and its shape.
pub(super) type ShapedFence = (Arc<Fence>, Arc<Shape>);

/// Why a subject enters or leaves a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CrossingReason {
    /// The subject moved.
    Moved,
    /// The fence was created, changed, activated, deactivated or deleted, or the server found at its start that it had
    /// been.
    FenceChanged,
}

/// Changes caused by an observation: to be stored, and applied with [`FenceState::apply`].
#[derive(Debug)]
pub(super) struct Crossing {
    pub member: Member,
    pub events: Vec<Event>,
    /// Whether the subject enters or leaves more fences than fit in one decision and must be evaluated again.
    pub partial: bool,
}

/// All fences, memberships and last locations.
#[derive(Debug, Default)]
pub(super) struct FenceState {
    fences: BTreeMap<String, Arc<Fence>>,
    /// Shapes of active fences.
    shapes: ShapeIndex<String>,
    /// Number of positions of all fences together.
    vertices: usize,
    /// Memberships of subjects that are inside at least one fence.
    members: HashMap<Subject, Member>,
    inside: HashMap<String, BTreeSet<Subject>>,
    /// Last observation of each subject. After a start only subjects that were inside a fence are known, until they are
    /// observed again.
    seen: HashMap<Subject, Observation>,
    places: PointIndex<Subject>,
}

impl FenceState {
    pub fn get(&self, id: &str) -> Result<Arc<Fence>, Error> {
        let missing = || Error::new(Kind::NotFound, format!("no geofence has the id {id}"));
        self.fences.get(id).cloned().ok_or_else(missing)
    }

    pub fn list(&self, params: &PageParams) -> Page<Arc<Fence>> {
        let after = params.after.as_deref();
        let older = self.fences.iter().rev().filter(|(id, _)| after.is_none_or(|after| id.as_str() < after));
        Page::of(older.map(|(_, fence)| Arc::clone(fence)), params.limit, |fence| fence.id.clone())
    }

    /// Returns a page of the unrestricted subjects inside a fence. A cursor is `kind/id`.
    pub fn inside(&self, id: &str, params: &PageParams) -> Result<Page<SubjectInside>, Error> {
        self.get(id)?;
        let name = |subject: &Subject| format!("{}/{}", subject.kind.name(), subject.id);
        let subjects = self.inside.get(id).into_iter().flatten();
        let later = subjects.filter(|subject| params.after.as_ref().is_none_or(|after| name(subject) > *after));
        let visible = later.filter_map(|subject| {
            let since = *self.members.get(subject)?.fences.get(id)?;
            let seen = self.seen.get(subject)?;
            let public = seen.audience == super::Audience::All;
            public.then(|| SubjectInside { subject: subject.clone(), since, point: seen.point, seen_at: seen.at })
        });
        Ok(Page::of(visible, params.limit, |inside| name(&inside.subject)))
    }

    /// Validates a new fence.
    pub fn make(&self, new: NewFence, by: &str, id: String, now: Millis) -> Result<ShapedFence, Error> {
        if self.fences.len() >= MAX_FENCES {
            let message = format!("there are {MAX_FENCES} geofences, the most there may be: delete some");
            return Err(Error::new(Kind::Conflict, message));
        }
        let NewFence { name, kind, geometry, applies_to, tags, active } = new;
        let (created_by, created_at, updated_at, version) = (by.to_owned(), now, now, 1);
        let fence = Fence {
            id,
            name,
            kind,
            geometry,
            bbox: None,
            applies_to,
            tags,
            active,
            version,
            created_by,
            created_at,
            updated_at,
        };
        self.shaped(fence)
    }

    /// Validates a change of a fence.
    pub fn change(&self, id: &str, change: FencePatch, if_match: IfMatch, now: Millis) -> Result<ShapedFence, Error> {
        let before = self.get(id)?;
        if_match.check(before.version)?;
        let FencePatch { name, kind, geometry, applies_to, tags, active } = change;
        let before = Fence::clone(&before);
        self.shaped(Fence {
            name: name.unwrap_or(before.name),
            kind: kind.or(before.kind),
            geometry: geometry.unwrap_or(before.geometry),
            applies_to: applies_to.unwrap_or(before.applies_to),
            tags: tags.unwrap_or(before.tags),
            active: active.unwrap_or(before.active),
            version: before.version + 1,
            updated_at: now,
            ..before
        })
    }

    fn shaped(&self, fence: Fence) -> Result<ShapedFence, Error> {
        let shape = check(&fence)?;
        let before = self.fences.get(&fence.id).map_or(0, |fence| fence.geometry.vertices());
        if self.vertices - before + fence.geometry.vertices() > MAX_VERTICES {
            let message =
                format!("all geofences together would have more than {MAX_VERTICES} positions: simplify some");
            return Err(Error::new(Kind::Conflict, message));
        }
        let bbox = Some(shape.bbox());
        Ok((Arc::new(Fence { bbox, ..fence }), shape))
    }

    /// Applies a fence; returns the subjects that may have to enter or leave.
    pub fn put(&mut self, (fence, shape): ShapedFence) -> BTreeSet<Subject> {
        let id = fence.id.clone();
        let mut affected = self.remove_fence(&id);
        affected.extend(self.places.within(&shape).map(|(subject, _)| subject.clone()));
        self.vertices += fence.geometry.vertices();
        if fence.active {
            self.shapes.insert(id.clone(), shape);
        }
        self.fences.insert(id, fence);
        affected
    }

    /// Removes a fence; returns the subjects that have to leave.
    pub fn remove_fence(&mut self, id: &str) -> BTreeSet<Subject> {
        if let Some(fence) = self.fences.remove(id) {
            self.vertices -= fence.geometry.vertices();
        }
        self.shapes.remove(&id.to_owned());
        self.inside.get(id).cloned().unwrap_or_default()
    }

    /// Records the location of a subject; returns `false` if a later observation is known.
    pub fn record(&mut self, observation: &Observation) -> bool {
        let subject = &observation.subject;
        if self.seen.get(subject).is_some_and(|seen| seen.at > observation.at) {
            return false;
        }
        match observation.point {
            Some(point) => {
                self.places.insert(subject.clone(), point);
                self.seen.insert(subject.clone(), observation.clone());
            }
            None => {
                self.places.remove(subject);
                // A subject without a location stays known only until it has left: subjects come and go for ever.
                if self.members.contains_key(subject) {
                    self.seen.insert(subject.clone(), observation.clone());
                } else {
                    self.seen.remove(subject);
                }
            }
        }
        true
    }

    pub fn seen(&self, subject: &Subject) -> Option<&Observation> {
        self.seen.get(subject)
    }

    /// Determines which fences a subject enters and leaves; `None` if none.
    pub fn evaluate(&self, seen: &Observation, reason: CrossingReason, now: Millis) -> Option<Crossing> {
        let none = BTreeMap::new();
        let before = self.members.get(&seen.subject).map_or(&none, |member| &member.fences);
        let around = seen.point.map(|point| self.shapes.containing(&point)).unwrap_or_default();
        let around = around.into_iter().filter_map(|id| self.fences.get(id)).filter(|fence| fence.matches(seen));
        let around: BTreeMap<&str, &Arc<Fence>> = around.map(|fence| (fence.id.as_str(), fence)).collect();
        let left: Vec<&String> = before.keys().filter(|id| !around.contains_key(id.as_str())).collect();
        let entered: Vec<_> = around.iter().filter(|(id, _)| !before.contains_key(**id)).collect();
        let partial = left.len() + entered.len() > MAX_CHANGES;
        let (mut fences, mut events) = (before.clone(), Vec::new());
        for id in left.into_iter().take(MAX_CHANGES) {
            fences.remove(id);
            events.push(event("geofence.left", id, self.fences.get(id), seen, reason, now));
        }
        for (id, fence) in entered.into_iter().take(MAX_CHANGES - events.len()) {
            fences.insert((*id).to_owned(), now);
            events.push(event("geofence.entered", id, Some(fence), seen, reason, now));
        }
        (!events.is_empty()).then(|| Crossing { member: Member { seen: seen.clone(), fences }, events, partial })
    }

    /// Returns the last observation of each subject.
    pub fn last_seen(&self) -> impl Iterator<Item = &Observation> {
        self.seen.values()
    }

    /// Applies the memberships of a subject.
    pub fn apply(&mut self, member: Member) {
        let subject = member.seen.subject.clone();
        let before = self.members.remove(&subject).map(|member| member.fences).unwrap_or_default();
        for id in before.keys().filter(|id| !member.fences.contains_key(*id)) {
            if let Some(inside) = self.inside.get_mut(id) {
                inside.remove(&subject);
                if inside.is_empty() {
                    self.inside.remove(id);
                }
            }
        }
        for id in member.fences.keys() {
            self.inside.entry(id.clone()).or_default().insert(subject.clone());
        }
        if member.fences.is_empty() {
            if self.seen.get(&subject).is_some_and(|seen| seen.point.is_none()) {
                self.seen.remove(&subject);
            }
        } else {
            self.members.insert(subject, member);
        }
    }

    /// Restores stored memberships and the observation they were stored with.
    pub fn restore(&mut self, member: Member) -> Subject {
        let (subject, seen) = (member.seen.subject.clone(), member.seen.clone());
        self.apply(member);
        self.record(&seen);
        subject
    }
}

fn event(
    name: &str,
    id: &str,
    fence: Option<&Arc<Fence>>,
    seen: &Observation,
    reason: CrossingReason,
    now: Millis,
) -> Event {
    let reason = match (reason, seen.point) {
        (_, None) => "gone",
        (CrossingReason::Moved, _) => "moved",
        (CrossingReason::FenceChanged, _) => "geofence_changed",
    };
    let data = json!({
        "geofence_id": id,
        "geofence_name": fence.map(|fence| &fence.name),
        "geofence_kind": fence.and_then(|fence| fence.kind.as_ref()),
        "subject_type": seen.subject.kind.name(),
        "subject_id": seen.subject.id,
        "point": seen.point,
        "seen_at": seen.at,
        "reason": reason,
    });
    let bbox = seen.point.map(|point| [point.lon, point.lat, point.lon, point.lat]);
    Event::new(name, now, seen.channels(), &data).with(EventAttributes { bbox, ..EventAttributes::default() })
}
