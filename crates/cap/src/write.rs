//! Serializes an [`Alert`], with its elements in the order of the standard's schema.

use std::fmt::Write;

use quick_xml::escape::escape;

use crate::check::check;
use crate::list::{join, join_references};
use crate::{Alert, Area, CapError, CapTime, Info, NamedValue, Polygon, Resource};

impl Alert {
    /// Serializes the alert as a CAP 1.2 XML document.
    ///
    /// # Errors
    ///
    /// Returns the first rule of the standard that the alert violates.
    pub fn to_xml(&self) -> Result<String, CapError> {
        check(self)?;
        let mut out = Writer { text: String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"), depth: 0 };
        out.open("alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"");
        out.text("identifier", &self.identifier);
        out.text("sender", &self.sender);
        out.text("sent", self.sent.as_str());
        out.text("status", self.status.name());
        out.text("msgType", self.msg_type.name());
        out.maybe("source", self.source.as_deref());
        out.text("scope", self.scope.name());
        out.maybe("restriction", self.restriction.as_deref());
        out.listed("addresses", &join(&self.addresses));
        self.codes.iter().for_each(|code| out.text("code", code));
        out.maybe("note", self.note.as_deref());
        out.listed("references", &join_references(&self.references));
        out.listed("incidents", &join(&self.incidents));
        self.infos.iter().for_each(|info| out.info(info));
        out.close("alert");
        Ok(out.text)
    }
}

struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let indent = self.depth * 2;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    fn open(&mut self, name: &str) {
        self.line(format_args!("<{name}>"));
        self.depth += 1;
    }

    fn close(&mut self, name: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.line(format_args!("</{name}>"));
    }

    fn text(&mut self, name: &str, value: &str) {
        // XML parsers normalize a bare carriage return to a line feed.
        let value = escape(value).replace('\r', "&#13;");
        self.line(format_args!("<{name}>{value}</{name}>"));
    }

    fn maybe(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    fn listed(&mut self, name: &str, list: &str) {
        self.maybe(name, Some(list).filter(|list| !list.is_empty()));
    }

    fn number(&mut self, name: &str, value: Option<f64>) {
        self.maybe(name, value.map(|value| value.to_string()).as_deref());
    }

    fn time(&mut self, name: &str, value: Option<&CapTime>) {
        self.maybe(name, value.map(CapTime::as_str));
    }

    fn named(&mut self, element: &str, value: &NamedValue) {
        self.open(element);
        self.text("valueName", &value.name);
        self.text("value", &value.value);
        self.close(element);
    }

    fn info(&mut self, info: &Info) {
        self.open("info");
        self.text("language", &info.language);
        info.categories.iter().for_each(|category| self.text("category", category.name()));
        self.text("event", &info.event);
        info.response_types.iter().for_each(|response| self.text("responseType", response.name()));
        self.text("urgency", info.urgency.name());
        self.text("severity", info.severity.name());
        self.text("certainty", info.certainty.name());
        self.maybe("audience", info.audience.as_deref());
        info.event_codes.iter().for_each(|code| self.named("eventCode", code));
        self.time("effective", info.effective.as_ref());
        self.time("onset", info.onset.as_ref());
        self.time("expires", info.expires.as_ref());
        self.maybe("senderName", info.sender_name.as_deref());
        self.maybe("headline", info.headline.as_deref());
        self.maybe("description", info.description.as_deref());
        self.maybe("instruction", info.instruction.as_deref());
        self.maybe("web", info.web.as_deref());
        self.maybe("contact", info.contact.as_deref());
        info.parameters.iter().for_each(|parameter| self.named("parameter", parameter));
        info.resources.iter().for_each(|resource| self.resource(resource));
        info.areas.iter().for_each(|area| self.area(area));
        self.close("info");
    }

    fn resource(&mut self, resource: &Resource) {
        self.open("resource");
        self.text("resourceDesc", &resource.description);
        self.text("mimeType", &resource.mime_type);
        self.maybe("size", resource.size.map(|size| size.to_string()).as_deref());
        self.maybe("uri", resource.uri.as_deref());
        self.maybe("derefUri", resource.deref_uri.as_deref());
        self.maybe("digest", resource.digest.as_deref());
        self.close("resource");
    }

    fn area(&mut self, area: &Area) {
        self.open("area");
        self.text("areaDesc", &area.description);
        area.polygons.iter().for_each(|polygon| self.polygon(polygon));
        for circle in &area.circles {
            self.text("circle", &format!("{},{} {}", circle.latitude, circle.longitude, circle.radius_km));
        }
        area.geocodes.iter().for_each(|geocode| self.named("geocode", geocode));
        self.number("altitude", area.altitude);
        self.number("ceiling", area.ceiling);
        self.close("area");
    }

    fn polygon(&mut self, Polygon(positions): &Polygon) {
        let pairs: Vec<_> = positions.iter().map(|(latitude, longitude)| format!("{latitude},{longitude}")).collect();
        self.text("polygon", &pairs.join(" "));
    }
}
