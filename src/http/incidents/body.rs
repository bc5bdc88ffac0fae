//! What is sent of an incident.

use muster_core::Error;
use muster_network::incident::{Edit, NewResource, Report, ResourceChange, ResourceStatus};
use serde_json::Value;
use utoipa::ToSchema;

use crate::body::{Fields, FromJson};

/// A change of what is known of an incident. A field that is left out stays; null clears one that may be empty.
#[derive(Debug, ToSchema)]
#[schema(as = IncidentPatch)]
#[allow(dead_code, reason = "describes what is read")]
pub struct PatchSchema {
    pub title: Option<String>,
    pub summary: Option<String>,
    pub kind: Option<String>,
    /// Follows from the kind where it is left out.
    pub category: Option<Vec<String>>,
    pub severity: Option<String>,
    pub urgency: Option<String>,
    pub certainty: Option<String>,
    #[schema(minimum = 1, maximum = 5)]
    pub ics_type: Option<u8>,
    /// `{value, reason}` in place of the computed one; null computes it again.
    #[schema(value_type = Option<Object>)]
    pub priority: Option<Value>,
    pub visibility: Option<String>,
    pub addresses: Option<Vec<String>>,
    /// GeoJSON, or `{"type":"Circle","center":[lon,lat],"radius_m":…}`.
    #[schema(value_type = Option<Object>)]
    pub geometry: Option<Value>,
    pub area_desc: Option<String>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub geocodes: Option<Vec<Value>>,
    pub onset: Option<String>,
    pub effective: Option<String>,
    pub expires: Option<String>,
    pub instruction: Option<String>,
    pub organisations: Option<Vec<String>>,
    pub device_ids: Option<Vec<String>>,
    pub parent_id: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub casualties: Option<Value>,
    pub tags: Option<Vec<String>>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub attachments: Option<Vec<Value>>,
    /// For the timeline.
    pub note: Option<String>,
}

fn edit(fields: &mut Fields<'_>) -> Edit {
    Edit {
        title: fields.string("title"),
        summary: fields.string("summary"),
        kind: fields.choice("kind"),
        category: fields.choice("category"),
        severity: fields.choice("severity"),
        urgency: fields.choice("urgency"),
        certainty: fields.choice("certainty"),
        ics_type: fields.choice("ics_type"),
        priority: fields.choice("priority").map(Some),
        visibility: fields.choice("visibility"),
        addresses: fields.choice("addresses"),
        geometry: fields.choice("geometry").map(Some),
        area_desc: fields.string("area_desc").map(Some),
        geocodes: fields.choice("geocodes"),
        onset: fields.choice("onset").map(Some),
        effective: fields.choice("effective").map(Some),
        expires: fields.choice("expires").map(Some),
        instruction: fields.string("instruction").map(Some),
        organisations: fields.choice("organisations"),
        device_ids: fields.choice("device_ids"),
        parent_id: fields.string("parent_id").map(Some),
        casualties: fields.choice("casualties"),
        tags: fields.choice("tags"),
        attachments: fields.choice("attachments"),
    }
}

/// A change of an incident.
#[derive(Debug)]
pub struct PatchBody {
    pub edit: Edit,
    pub note: Option<String>,
}

impl FromJson for PatchBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self { edit: edit(fields), note: fields.string("note") }
    }

    fn from_json(value: &Value) -> Result<Self, Error> {
        let Read(mut body) = Read::from_json(value)?;
        let null = |name: &str| value.get(name).is_some_and(Value::is_null);
        let edit = &mut body.edit;
        // Null counts as left out elsewhere; here it clears (RFC 7396).
        edit.priority = edit.priority.take().or_else(|| null("priority").then_some(None));
        edit.geometry = edit.geometry.take().or_else(|| null("geometry").then_some(None));
        edit.area_desc = edit.area_desc.take().or_else(|| null("area_desc").then_some(None));
        edit.onset = edit.onset.or_else(|| null("onset").then_some(None));
        edit.effective = edit.effective.or_else(|| null("effective").then_some(None));
        edit.expires = edit.expires.or_else(|| null("expires").then_some(None));
        edit.instruction = edit.instruction.take().or_else(|| null("instruction").then_some(None));
        edit.parent_id = edit.parent_id.take().or_else(|| null("parent_id").then_some(None));
        Ok(body)
    }
}

/// A patch before its nulls were looked at.
struct Read(PatchBody);

impl FromJson for Read {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self(PatchBody::read(fields))
    }
}

/// An incident as it is reported. Takes every field of a change besides those here.
#[derive(Debug, ToSchema)]
#[schema(as = IncidentReport)]
#[allow(dead_code, reason = "describes what is read")]
pub struct ReportSchema {
    /// 1 to 200 characters.
    pub title: String,
    /// `flood`, `wildfire`, `earthquake`, `storm`, `landslide`, `hazmat`, `outage`, `epidemic`, `mass_casualty`,
    /// `missing_person`, `infrastructure` or `other`.
    pub kind: String,
    pub summary: Option<String>,
    /// A report with the key of an open incident attaches to it.
    pub dedup_key: Option<String>,
    /// `Actual` (default), `Exercise`, `System`, `Test` or `Draft`.
    pub status: Option<String>,
    /// `operator` (default), `api`, `device`, `agent` or `cap`.
    pub reported_via: Option<String>,
    pub source_ref: Option<String>,
    pub commander: Option<String>,
    pub assignees: Option<Vec<String>>,
    pub severity: Option<String>,
    pub urgency: Option<String>,
    pub certainty: Option<String>,
    pub visibility: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub geometry: Option<Value>,
    pub area_desc: Option<String>,
}

/// An incident as it is reported.
#[derive(Debug)]
pub struct ReportBody(pub Report);

impl FromJson for ReportBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let said = edit(fields);
        fields.require("title", said.title.as_ref());
        fields.require("kind", said.kind.as_ref());
        Self(Report {
            said,
            dedup_key: fields.string("dedup_key"),
            status: fields.choice("status"),
            via: fields.choice("reported_via"),
            source_ref: fields.string("source_ref"),
            commander: fields.string("commander"),
            assignees: fields.choice("assignees").unwrap_or_default(),
        })
    }
}

/// A note.
#[derive(Debug, ToSchema)]
#[schema(as = IncidentNote)]
pub struct NoteBody {
    /// 1 to 10,000 characters.
    pub text: String,
    /// What a program may read, kept as it is; at most 16 KiB.
    #[schema(value_type = Option<Value>)]
    pub data: Value,
}

impl FromJson for NoteBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let text = fields.string("text");
        let data = fields.value("data").cloned().unwrap_or(Value::Null);
        if data.to_string().len() > 16 << 10 {
            fields.fail("data", "must be at most 16 KiB");
        }
        Self { text: fields.require("text", text).unwrap_or_default(), data }
    }
}

/// A resource that is needed.
#[derive(Debug, ToSchema)]
#[schema(as = NewIncidentResource)]
pub struct ResourceBody {
    /// Such as `ambulance`.
    pub r#type: String,
    /// At least 1; 1 where it is left out.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1_000_000)]
    pub qty: u32,
    /// `requested` (default), `committed`, `en_route`, `on_scene` or `released`.
    #[schema(value_type = Option<String>)]
    pub status: Option<ResourceStatus>,
    pub note: Option<String>,
}

impl FromJson for ResourceBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let kind = fields.string("type");
        Self {
            r#type: fields.require("type", kind).unwrap_or_default(),
            qty: quantity(fields).unwrap_or(1),
            status: fields.choice("status"),
            note: fields.string("note"),
        }
    }
}

impl From<ResourceBody> for NewResource {
    fn from(body: ResourceBody) -> Self {
        Self { kind: body.r#type, qty: body.qty, status: body.status, note: body.note }
    }
}

/// A change of a resource. Its status goes one step on (requested, committed, en_route, on_scene), or to released.
#[derive(Debug, ToSchema)]
#[schema(as = IncidentResourceChange)]
pub struct ResourceChangeBody {
    /// The resource's number within the incident.
    #[schema(minimum = 1)]
    pub id: u32,
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub qty: Option<u32>,
    #[schema(value_type = Option<String>)]
    pub status: Option<ResourceStatus>,
    pub note: Option<String>,
}

impl FromJson for ResourceChangeBody {
    fn read(fields: &mut Fields<'_>) -> Self {
        let id = fields.integer("id", 1..=i64::from(u32::MAX)).and_then(|id| u32::try_from(id).ok());
        Self {
            id: fields.require("id", id).unwrap_or_default(),
            qty: quantity(fields),
            status: fields.choice("status"),
            note: fields.string("note"),
        }
    }
}

impl From<ResourceChangeBody> for ResourceChange {
    fn from(body: ResourceChangeBody) -> Self {
        Self { id: body.id, qty: body.qty, status: body.status, note: body.note }
    }
}

fn quantity(fields: &mut Fields<'_>) -> Option<u32> {
    fields.integer("qty", 1..=1_000_000).and_then(|qty| u32::try_from(qty).ok())
}
