//! CAP documents and GeoJSON.

use muster_cap::{CapTime, parse};
use muster_geo::{BBox, Geometry, Point};

use crate::campaign::{fuzz, label};

/// What is accepted can be written, and is read back as it was.
#[test]
fn cap_xml() {
    let words = [
        "<info>",
        "</info>",
        "<area>",
        "</area>",
        "<polygon>",
        "</polygon>",
        "<circle>",
        "<references>",
        "<resource>",
        "<![CDATA[",
        "]]>",
        "&amp;",
        "&#13;",
        "&#x10FFFF;",
        "&#0;",
        "<!DOCTYPE",
        "<?x ?>",
        "<!--",
        "-->",
        "\u{feff}",
        " ",
        "\u{85}",
        "xmlns=\"\"",
        "xmlns:a=\"b\"",
        "Update",
        "Restricted",
        "Private",
        "24:00:00",
        "-14:00",
    ];
    fuzz("cap_xml", &words, |input| {
        let alert = match parse(input) {
            Err(error) => return label(format!("{} {}", error.place, error.why.split(' ').next().unwrap_or_default())),
            Ok(alert) => alert,
        };
        let written = alert.to_xml().unwrap_or_else(|error| panic!("cannot be written: {error}"));
        let again = parse(written.as_bytes()).unwrap_or_else(|error| panic!("cannot be read back: {error}\n{written}"));
        assert_eq!(alert, again, "changes when it is written");
        let infos = alert.infos.len().min(3);
        format!(
            "valid {infos} {} {}",
            alert.references.len().min(3),
            alert.infos.iter().map(|it| it.areas.len()).sum::<usize>().min(3)
        )
    });
}

/// The last second of the year 9999, since the Unix epoch.
const LAST: u64 = 253_402_300_799;

/// A time that is accepted is the same when it is written in UTC.
#[test]
fn cap_time() {
    fuzz("cap_time", &["T", "-00:00", "+14:00", ":", "-", ".5", "Z", "24", "60", "02-29"], |input| {
        let Some(time) = std::str::from_utf8(input).ok().and_then(CapTime::parse) else { return "invalid".to_owned() };
        let utc = CapTime::utc(time.millis());
        let seconds = |time: &CapTime| time.millis() / 1000;
        assert_eq!(seconds(&utc), seconds(&CapTime::parse(utc.as_str()).expect("what is written can be read")));
        assert_eq!(seconds(&time).min(LAST), seconds(&utc), "{} {}", time.as_str(), utc.as_str());
        format!("valid {}", time.as_str().len().min(28))
    });
}

/// A geometry survives JSON; one that is valid has a box around all of its positions, and the box is found by it.
#[test]
fn geojson() {
    let words = [
        "\"Point\"",
        "\"Polygon\"",
        "\"MultiPolygon\"",
        "\"GeometryCollection\"",
        "\"Circle\"",
        "\"coordinates\":",
        "\"geometries\":",
        "\"center\":",
        "\"radius_m\":",
        "\"type\":",
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        ",",
        "null",
        "[180,90]",
        "[-180,-90]",
        "[0,0]",
        "1e-9",
    ];
    fuzz("geojson", &words, |input| {
        let geometry: Geometry = match serde_json::from_slice(input) {
            Err(error) => return label(error),
            Ok(geometry) => geometry,
        };
        let json = serde_json::to_string(&geometry).unwrap();
        assert_eq!(serde_json::from_str::<Geometry>(&json).ok(), Some(geometry.clone()), "changes as JSON: {json}");
        assert!(geometry.vertices() <= input.len());
        let shape = match geometry.shape() {
            Err(error) => return label(error),
            Ok(shape) => shape,
        };
        let bbox = shape.bbox();
        let [west, south, east, north] = bbox.to_array();
        assert_eq!(BBox::new(west, south, east, north), Ok(bbox));
        for point in positions(&geometry) {
            assert!(bbox.contains(&point), "{point:?} is outside of {bbox:?}");
        }
        assert!(shape.intersects(&bbox), "{bbox:?}");
        format!("valid {} {}", bbox.crosses_antimeridian(), geometry.vertices().min(12))
    });
}

fn positions(geometry: &Geometry) -> Vec<Point> {
    match geometry {
        Geometry::Point(point) | Geometry::Circle { center: point, .. } => vec![*point],
        Geometry::Polygon(rings) => rings.concat(),
        Geometry::MultiPolygon(polygons) => polygons.concat().concat(),
        Geometry::GeometryCollection(members) => members.iter().flat_map(positions).collect(),
    }
}
