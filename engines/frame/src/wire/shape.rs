//! Shapes of Rust types, compared with the catalogue's types.

use serde_json::Value;

use crate::grammar::{Field, Member, Need, Prim, Type, finding};
use crate::units;

/// Shape of a Rust type on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A text, also one that is a time, a date or base64.
    String,
    /// Any value.
    Any,
    /// A time.
    Datetime,
    /// A date.
    Date,
    /// Base64.
    Bytes,
    /// A place.
    LatLon,
    /// Four degrees.
    Bbox,
    /// A finding.
    Finding,
    /// One of these words.
    Words(Vec<&'static str>),
    /// A list.
    Array(Box<Self>),
    /// A map from texts.
    Map(Box<Self>),
    /// An object with these members.
    Record(Vec<MemberShape>),
}

/// A member of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberShape {
    /// Name on the wire.
    pub name: &'static str,
    /// Spelling of the unit that the derive took off the Rust name.
    pub unit: Option<&'static str>,
    /// Whether it is an `Option`.
    pub optional: bool,
    /// Its shape.
    pub shape: Shape,
}

impl Shape {
    /// Returns the place of the first number of a written value that is not finite: null where the shape has a number.
    pub fn not_finite(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Number, Value::Null) => Some(String::new()),
            (Self::Array(item), Value::Array(items)) => items
                .iter()
                .enumerate()
                .find_map(|(index, value)| item.not_finite(value).map(|place| format!("[{index}]{place}"))),
            (Self::Map(item), Value::Object(members)) => {
                members.iter().find_map(|(name, value)| item.not_finite(value).map(|place| format!(".{name}{place}")))
            }
            (Self::Record(shapes), Value::Object(members)) => shapes.iter().find_map(|member| {
                let value = members.get(member.name).filter(|value| !(member.optional && value.is_null()))?;
                member.shape.not_finite(value).map(|place| format!(".{}{place}", member.name))
            }),
            _ => None,
        }
    }
}

/// Which way values go: readers must take all that the catalogue allows, writers may only write that.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// Returns the differences between a struct that is read and the input fields; empty if there is none.
pub fn input_differences(shape: &Shape, fields: &[Field]) -> Vec<String> {
    let members: Vec<Member> = fields.iter().map(|field| member(field, field.need == Need::Optional)).collect();
    Comparison::of(Way::In, shape, &members)
}

/// Returns the differences between a struct that is written and the output fields; empty if there is none.
pub fn output_differences(shape: &Shape, fields: &[Field]) -> Vec<String> {
    let members: Vec<Member> = fields.iter().map(|field| member(field, true)).collect();
    Comparison::of(Way::Out, shape, &members)
}

fn member(field: &Field, optional: bool) -> Member {
    Member { name: field.name.clone(), kind: field.kind.clone(), optional, unit: field.unit.clone() }
}

struct Comparison {
    way: Way,
    found: Vec<String>,
}

impl Comparison {
    fn of(way: Way, shape: &Shape, members: &[Member]) -> Vec<String> {
        let mut comparison = Self { way, found: Vec::new() };
        match shape {
            Shape::Record(shapes) => comparison.record("", shapes, members),
            other => comparison.found.push(format!("a struct is expected, not {other:?}")),
        }
        comparison.found
    }

    fn record(&mut self, at: &str, shapes: &[MemberShape], members: &[Member]) {
        for shape in shapes {
            let path = format!("{at}.{}", shape.name);
            let Some(member) = members.iter().find(|member| member.name == shape.name) else {
                self.found.push(format!("{path}: the catalogue has no such member"));
                continue;
            };
            let unit = units::spelling(&member.unit);
            if shape.unit.is_some_and(|spelling| unit != Some(spelling)) {
                let spelling = shape.unit.unwrap_or_default();
                self.found.push(format!("{path}: its unit is `{}`, not `{spelling}`", member.unit));
            }
            let fits = match self.way {
                Way::In => shape.optional == member.optional,
                Way::Out => member.optional || !shape.optional,
            };
            if !fits {
                let should = if member.optional { "an Option" } else { "no Option" };
                self.found.push(format!("{path}: must be {should}"));
            }
            self.kind(&path, &shape.shape, &member.kind);
        }
        for member in members.iter().filter(|member| !shapes.iter().any(|shape| shape.name == member.name)) {
            // A record's optional member may never occur; an output's field must be written by some code.
            if self.way == Way::In || at.is_empty() || !member.optional {
                self.found.push(format!("{at}.{}: is missing ({})", member.name, member.kind));
            }
        }
    }

    fn kind(&mut self, at: &str, shape: &Shape, kind: &Type) {
        match (shape, kind) {
            (Shape::Array(item), Type::Array(kind)) => self.kind(&format!("{at}[]"), item, kind),
            (Shape::Array(item), Type::Prim(Prim::Bbox)) if **item == Shape::Number => {}
            (Shape::Map(item), Type::Map(kind)) => self.kind(&format!("{at}.*"), item, kind),
            (Shape::Map(item), Type::Prim(Prim::Geometry | Prim::FeatureCollection)) if **item == Shape::Any => {}
            (Shape::Record(shapes), Type::Record(members)) => self.record(at, shapes, members),
            (Shape::Record(shapes), Type::Prim(Prim::Finding)) => self.kind_of_record(at, shapes, &finding()),
            (Shape::Record(shapes), Type::Prim(Prim::LatLon)) => {
                self.kind_of_record(at, shapes, &crate::grammar::latlon());
            }
            (Shape::LatLon, Type::Record(members)) => {
                self.kind_of_record(at, &lat_lon(), &Type::Record(members.clone()));
            }
            (Shape::Words(words), Type::Enum(values)) => self.words(at, words, values),
            (Shape::Words(_), Type::Prim(Prim::String)) if self.way == Way::Out => {}
            (Shape::String, Type::Enum(_)) if self.way == Way::In => {}
            (shape, Type::Prim(prim)) if fits(shape, *prim, self.way) => {}
            (shape, kind) => self.found.push(format!("{at}: {shape:?} is not {kind}")),
        }
    }

    fn kind_of_record(&mut self, at: &str, shapes: &[MemberShape], kind: &Type) {
        if let Type::Record(members) = kind {
            self.record(at, shapes, members);
        }
    }

    fn words(&mut self, at: &str, words: &[&str], values: &[String]) {
        let unknown: Vec<_> = words.iter().filter(|word| !values.iter().any(|value| value == *word)).collect();
        // An input never has a word that the catalogue lacks.
        if self.way == Way::Out && !unknown.is_empty() {
            self.found.push(format!("{at}: the catalogue has no {unknown:?}"));
        }
        let absent: Vec<_> = values.iter().filter(|value| !words.contains(&value.as_str())).collect();
        if self.way == Way::In && !absent.is_empty() {
            self.found.push(format!("{at}: {absent:?} is missing"));
        }
    }
}

fn fits(shape: &Shape, prim: Prim, way: Way) -> bool {
    match prim {
        Prim::Any => way == Way::Out || *shape == Shape::Any,
        Prim::Number => *shape == Shape::Number || (way == Way::Out && *shape == Shape::Integer),
        // A number holds every integer that is accepted, also one beyond 2^64.
        Prim::Integer => *shape == Shape::Integer || (way == Way::In && *shape == Shape::Number),
        Prim::Boolean => *shape == Shape::Boolean,
        Prim::String => *shape == Shape::String || (way == Way::Out && matches!(shape, Shape::Datetime | Shape::Date)),
        Prim::Datetime => matches!(shape, Shape::String | Shape::Datetime),
        Prim::Date => matches!(shape, Shape::String | Shape::Date),
        Prim::Bytes => matches!(shape, Shape::String | Shape::Bytes),
        Prim::LatLon => matches!(shape, Shape::LatLon | Shape::Any),
        Prim::Bbox => *shape == Shape::Bbox,
        Prim::Geometry | Prim::FeatureCollection => *shape == Shape::Any,
        Prim::Finding => *shape == Shape::Finding,
    }
}

fn lat_lon() -> Vec<MemberShape> {
    let member = |name| MemberShape { name, unit: None, optional: false, shape: Shape::Number };
    vec![member("lat"), member("lon")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{parse_input, parse_output};

    fn member(name: &'static str, unit: Option<&'static str>, optional: bool, shape: Shape) -> MemberShape {
        MemberShape { name, unit, optional, shape }
    }

    #[test]
    fn a_struct_like_the_catalogue_has_no_differences() {
        let fields = ["speed:number:km/h:required", "kind:enum(a|b):-:=a", "at:array<latlon>:-:optional"]
            .map(|field| parse_input(field).unwrap());
        let shape = Shape::Record(vec![
            member("speed", Some("km_h"), false, Shape::Number),
            member("kind", None, false, Shape::Words(vec!["a", "b"])),
            member("at", None, true, Shape::Array(Box::new(Shape::LatLon))),
        ]);
        assert_eq!(input_differences(&shape, &fields), [""; 0]);
    }

    #[test]
    fn each_difference_of_an_input_is_reported() {
        let fields = [
            "speed:number:km/h:required",
            "kind:enum(a|b):-:=a",
            "n:integer:-:optional",
            "list:array<{x=number[m]}>:-:=[]",
        ]
        .map(|field| parse_input(field).unwrap());
        let shape = Shape::Record(vec![
            member("speed", Some("m_s"), false, Shape::Number),
            member("kind", None, false, Shape::Words(vec!["a", "c"])),
            member("n", None, false, Shape::Boolean),
            member(
                "list",
                None,
                false,
                Shape::Array(Box::new(Shape::Record(vec![member("y", None, false, Shape::Number)]))),
            ),
            member("more", None, false, Shape::Any),
        ]);
        let found = input_differences(&shape, &fields);
        let expected = [
            ".speed: its unit is `km/h`, not `m_s`",
            ".kind: [\"b\"] is missing",
            ".n: must be an Option",
            ".n: Boolean is not integer",
            ".list[].y: the catalogue has no such member",
            ".list[].x: is missing (number)",
            ".more: the catalogue has no such member",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_output_may_leave_out_what_is_optional_and_write_no_unknown_word() {
        let fields =
            ["class:enum(low|high):-", "rows:array<{a=number,b?=string}>:-"].map(|field| parse_output(field).unwrap());
        let row = |optional| Shape::Array(Box::new(Shape::Record(vec![member("a", None, optional, Shape::Number)])));
        let shape = |words: Vec<&'static str>, optional| {
            Shape::Record(vec![
                member("class", None, true, Shape::Words(words)),
                member("rows", None, false, row(optional)),
            ])
        };
        assert_eq!(output_differences(&shape(vec!["low"], false), &fields), [""; 0]);
        assert_eq!(
            output_differences(&shape(vec!["none"], true), &fields),
            [".class: the catalogue has no [\"none\"]", ".rows[].a: must be no Option"]
        );
    }
}
