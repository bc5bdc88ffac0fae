//! Parses and validates a document into an [`Alert`].

use crate::check::check;
use crate::list::{references, split};
use crate::xml::{self, Element};
use crate::{Alert, Area, CapError, CapTime, Certainty, Circle, Info, NamedValue, Polygon, Resource};

/// Largest document that [`parse`] accepts, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// Namespaces of CAP 1.2 and of the earlier versions that can be read.
const NAMESPACES: [&str; 3] =
    ["urn:oasis:names:tc:emergency:cap:1.2", "urn:oasis:names:tc:emergency:cap:1.1", "http://www.incident.com/cap/1.0"];

/// Parses and validates an alert.
///
/// # Errors
///
/// Returns the first violation, with the path of the element concerned.
pub fn parse(bytes: &[u8]) -> Result<Alert, CapError> {
    if bytes.len() > MAX_BYTES {
        return Err(CapError::new("document", format!("is larger than {MAX_BYTES} bytes")));
    }
    let document = xml::read(bytes)?;
    if document.root.name != "alert" || !NAMESPACES.contains(&document.namespace.as_str()) {
        let why = format!("the root must be `alert` of the namespace {}", NAMESPACES[0]);
        return Err(CapError::new("document", why));
    }
    let alert = alert(&Fields { element: &document.root, place: "alert".to_owned() })?;
    check(&alert)?;
    Ok(alert)
}

/// Accessors for the children of an element by name.
struct Fields<'a> {
    element: &'a Element,
    place: String,
}

impl<'a> Fields<'a> {
    fn all(&self, name: &str) -> impl Iterator<Item = &'a Element> {
        let name = name.to_owned();
        self.element.children.iter().filter(move |child| child.name == name)
    }

    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.place)
    }

    /// Returns the text of an element that may occur at most once. An empty element counts as absent.
    fn text(&self, name: &str) -> Result<Option<String>, CapError> {
        let mut found = self.all(name);
        let first = found.next();
        if found.next().is_some() {
            return Err(CapError::new(self.at(name), "must occur at most once"));
        }
        Ok(first.map(|element| element.text.clone()).filter(|text| !text.is_empty()))
    }

    fn required(&self, name: &str) -> Result<String, CapError> {
        self.text(name)?.ok_or_else(|| CapError::new(self.at(name), "is missing"))
    }

    fn read<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>, must: &str) -> Result<Option<T>, CapError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        read(&text)
            .map(Some)
            .ok_or_else(|| CapError::new(self.at(name), format!("must be {must}, not `{}`", truncated(&text))))
    }

    fn read_required<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>, must: &str) -> Result<T, CapError> {
        self.read(name, read, must)?.ok_or_else(|| CapError::new(self.at(name), "is missing"))
    }

    fn each<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>, must: &str) -> Result<Vec<T>, CapError> {
        let one = |(number, element): (usize, &Element)| {
            let why = || {
                CapError::new(
                    format!("{}[{}]", self.at(name), number + 1),
                    format!("must be {must}, not `{}`", truncated(&element.text)),
                )
            };
            read(&element.text).ok_or_else(why)
        };
        self.all(name).enumerate().map(one).collect()
    }

    fn children<T>(&self, name: &str, read: impl Fn(&Fields<'a>) -> Result<T, CapError>) -> Result<Vec<T>, CapError> {
        let place = |number: usize| format!("{}[{}]", self.at(name), number + 1);
        let one = |(number, element)| read(&Fields { element, place: place(number) });
        self.all(name).enumerate().map(one).collect()
    }

    fn time(&self, name: &str) -> Result<Option<CapTime>, CapError> {
        self.read(name, CapTime::parse, TIME)
    }
}

const TIME: &str = "a time with an offset, such as 2002-05-24T16:49:00-07:00 (UTC is -00:00, never Z)";

/// Truncates input quoted in an error message.
fn truncated(text: &str) -> String {
    text.chars().take(80).collect()
}

macro_rules! one_of {
    ($type:ty) => {
        &format!("one of {}", <$type>::ALL.iter().map(|value| value.name()).collect::<Vec<_>>().join(", "))
    };
}

fn alert(from: &Fields<'_>) -> Result<Alert, CapError> {
    use crate::{MsgType, Scope, Status};
    let listed = |name: &str| Ok::<_, CapError>(from.text(name)?.map(|text| split(&text)).unwrap_or_default());
    let named = from.text("references")?.unwrap_or_default();
    let wrong = |triple: String| {
        let why = format!("must be `sender,identifier,sent` each, not `{}`", truncated(&triple));
        CapError::new(from.at("references"), why)
    };
    Ok(Alert {
        identifier: from.required("identifier")?,
        sender: from.required("sender")?,
        sent: from.read_required("sent", CapTime::parse, TIME)?,
        status: from.read_required("status", Status::parse, one_of!(Status))?,
        msg_type: from.read_required("msgType", MsgType::parse, one_of!(MsgType))?,
        source: from.text("source")?,
        scope: from.read_required("scope", Scope::parse, one_of!(Scope))?,
        restriction: from.text("restriction")?,
        addresses: listed("addresses")?,
        codes: from.each("code", text, "text")?,
        note: from.text("note")?,
        references: references(&named).map_err(wrong)?,
        incidents: listed("incidents")?,
        infos: from.children("info", info)?,
    })
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn certainty(text: &str) -> Option<Certainty> {
    if text == "Very Likely" { Some(Certainty::Likely) } else { Certainty::parse(text) }
}

fn info(from: &Fields<'_>) -> Result<Info, CapError> {
    use crate::{Category, ResponseType, Severity, Urgency};
    Ok(Info {
        language: from.text("language")?.unwrap_or_else(|| "en-US".to_owned()),
        categories: from.each("category", Category::parse, one_of!(Category))?,
        event: from.required("event")?,
        response_types: from.each("responseType", ResponseType::parse, one_of!(ResponseType))?,
        urgency: from.read_required("urgency", Urgency::parse, one_of!(Urgency))?,
        severity: from.read_required("severity", Severity::parse, one_of!(Severity))?,
        certainty: from.read_required("certainty", certainty, one_of!(Certainty))?,
        audience: from.text("audience")?,
        event_codes: from.children("eventCode", named_value)?,
        effective: from.time("effective")?,
        onset: from.time("onset")?,
        expires: from.time("expires")?,
        sender_name: from.text("senderName")?,
        headline: from.text("headline")?,
        description: from.text("description")?,
        instruction: from.text("instruction")?,
        web: from.text("web")?,
        contact: from.text("contact")?,
        parameters: from.children("parameter", named_value)?,
        resources: from.children("resource", resource)?,
        areas: from.children("area", area)?,
    })
}

fn named_value(from: &Fields<'_>) -> Result<NamedValue, CapError> {
    Ok(NamedValue { name: from.required("valueName")?, value: from.text("value")?.unwrap_or_default() })
}

fn resource(from: &Fields<'_>) -> Result<Resource, CapError> {
    Ok(Resource {
        description: from.required("resourceDesc")?,
        mime_type: from.required("mimeType")?,
        size: from.read("size", |text| text.parse().ok(), "a number of bytes")?,
        uri: from.text("uri")?,
        deref_uri: from.text("derefUri")?,
        digest: from.text("digest")?,
    })
}

fn area(from: &Fields<'_>) -> Result<Area, CapError> {
    let feet = |name| from.read(name, number, "a number of feet");
    Ok(Area {
        description: from.required("areaDesc")?,
        polygons: from.each("polygon", polygon, "pairs `latitude,longitude` separated by spaces")?,
        circles: from.each("circle", circle, "`latitude,longitude radius` with the radius in kilometres")?,
        geocodes: from.children("geocode", named_value)?,
        altitude: feet("altitude")?,
        ceiling: feet("ceiling")?,
    })
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn pair(text: &str) -> Option<(f64, f64)> {
    let (latitude, longitude) = text.split_once(',')?;
    Some((number(latitude)?, number(longitude)?))
}

fn polygon(text: &str) -> Option<Polygon> {
    text.split_whitespace().map(pair).collect::<Option<Vec<_>>>().map(Polygon)
}

fn circle(text: &str) -> Option<Circle> {
    let mut parts = text.split_whitespace();
    let ((latitude, longitude), radius_km) = (pair(parts.next()?)?, number(parts.next()?)?);
    parts.next().is_none().then_some(Circle { latitude, longitude, radius_km })
}
