//! Rules of the standard that hold across elements, beyond the types of single values.

use crate::{Alert, Area, CapError, Circle, Info, MsgType, Polygon, Scope};

/// Checks an alert against the rules of the standard.
///
/// # Errors
///
/// Returns the first rule that is violated, with the element concerned.
pub(crate) fn check(alert: &Alert) -> Result<(), CapError> {
    for (name, value) in [("identifier", &alert.identifier), ("sender", &alert.sender)] {
        ensure(
            is_name(value),
            &format!("alert/{name}"),
            "must not be empty, and must not contain spaces, commas, `<` and `&`",
        )?;
    }
    ensure(
        (alert.scope == Scope::Restricted) <= alert.restriction.is_some(),
        "alert/restriction",
        "is needed where the scope is Restricted",
    )?;
    ensure(
        (alert.scope == Scope::Private) <= !alert.addresses.is_empty(),
        "alert/addresses",
        "are needed where the scope is Private",
    )?;
    let names_others = matches!(alert.msg_type, MsgType::Update | MsgType::Cancel | MsgType::Ack | MsgType::Error);
    ensure(
        names_others <= !alert.references.is_empty(),
        "alert/references",
        "must name the earlier message that an Update, Cancel, Ack or Error is about",
    )?;
    ensure(
        alert.addresses.iter().chain(&alert.incidents).all(|value| !value.contains('"')),
        "alert",
        "an address or an incident must not contain a double quote",
    )?;
    alert.infos.iter().enumerate().try_for_each(|(at, info)| check_info(info, &format!("alert/info[{}]", at + 1)))
}

fn ensure(holds: bool, place: &str, why: &str) -> Result<(), CapError> {
    if holds { Ok(()) } else { Err(CapError::new(place, why)) }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || matches!(c, ',' | '<' | '&'))
}

fn check_info(info: &Info, place: &str) -> Result<(), CapError> {
    ensure(!info.categories.is_empty(), &format!("{place}/category"), "is missing: there must be at least one")?;
    info.areas.iter().enumerate().try_for_each(|(at, area)| check_area(area, &format!("{place}/area[{}]", at + 1)))
}

fn check_area(area: &Area, place: &str) -> Result<(), CapError> {
    for (at, polygon) in area.polygons.iter().enumerate() {
        check_polygon(polygon, &format!("{place}/polygon[{}]", at + 1))?;
    }
    for (at, circle) in area.circles.iter().enumerate() {
        check_circle(*circle, &format!("{place}/circle[{}]", at + 1))?;
    }
    ensure(area.ceiling.is_some() <= area.altitude.is_some(), &format!("{place}/ceiling"), "requires an altitude")
}

fn check_polygon(Polygon(positions): &Polygon, place: &str) -> Result<(), CapError> {
    ensure(positions.len() >= 4, place, "must have at least four positions")?;
    ensure(positions.first() == positions.last(), place, "must end with its first position")?;
    positions.iter().try_for_each(|position| check_position(*position, place))
}

fn check_circle(circle: Circle, place: &str) -> Result<(), CapError> {
    check_position((circle.latitude, circle.longitude), place)?;
    ensure((0.0..=20_038.0).contains(&circle.radius_km), place, "must have a radius of 0 to 20,038 km")
}

fn check_position((latitude, longitude): (f64, f64), place: &str) -> Result<(), CapError> {
    let fits = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
    let why = "is out of range: a position is `latitude,longitude`, the latitude from -90 to 90 first";
    ensure(fits, place, why)
}
