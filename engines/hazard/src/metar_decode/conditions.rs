//! Wind, visibility, clouds and weather of a report or of a period.

use muster_engine::prelude::*;
use muster_engine::wire::ToValue;

use super::{FlightCategory, Groups, Wind, weather, whole};

const KNOT: f64 = 1852.0 / 3600.0;
const FOOT: f64 = 0.3048;
const MILE: f64 = 1609.344;
/// What "ten kilometres or more" counts as, in m.
const FAR: f64 = 10_000.0;

/// Wind, visibility, clouds and weather.
#[derive(Debug, Default)]
pub struct Conditions {
    pub wind: Option<Wind>,
    pub visibility: Option<f64>,
    pub ceiling: Option<f64>,
    pub weather: Vec<String>,
    clouds: bool,
}

impl Conditions {
    /// Reads a group that says something of them; `false` if it does not.
    pub fn read(&mut self, group: &str, groups: &mut Groups<'_>, cx: &Context) -> bool {
        if group == "CAVOK" {
            (self.visibility, self.clouds) = (Some(FAR), true);
            return true;
        }
        self.wind(group, cx)
            || is_variation(group)
            || self.visibility(group, groups)
            || self.cloud(group)
            || self.weather_group(group)
    }

    fn wind(&mut self, group: &str, cx: &Context) -> bool {
        let unit = [("KT", KNOT), ("MPS", 1.0), ("KMH", 1.0 / 3.6)];
        let found = unit.iter().find_map(|(unit, factor)| Some((group.strip_suffix(unit)?, *factor)));
        let Some((rest, factor)) = found else { return false };
        let Some((direction, rest)) = rest.split_at_checked(3) else { return false };
        let (speed, gust) = rest.split_once('G').map_or((rest, None), |(speed, gust)| (speed, Some(gust)));
        let knots = |text: &str| whole(text.trim_start_matches('P')).filter(|_| text.len() <= 4);
        let Some(speed) = knots(speed) else { return direction == "///" };
        let direction = match direction {
            "VRB" => {
                cx.warn("variable: the wind has no direction (VRB); it is written as 0");
                Some(0.0)
            }
            _ => whole(direction).filter(|degrees| *degrees <= 360.0),
        };
        let Some(direction) = direction else { return false };
        let gust = gust.and_then(knots).unwrap_or(speed);
        self.wind = Some(Wind { direction_deg: direction, speed_m_s: speed * factor, gust_m_s: gust * factor });
        true
    }

    fn visibility(&mut self, group: &str, groups: &mut Groups<'_>) -> bool {
        let metres = miles(group).or_else(|| kilometres(group)).or_else(|| metres(group)).or_else(|| {
            // `1 1/2SM` is one group of two words.
            let whole = whole(group).filter(|_| group.len() == 1)?;
            let fraction = groups.peek().filter(|next| next.contains('/')).and_then(miles)?;
            groups.next();
            Some(whole * MILE + fraction)
        });
        // Of several the first is the prevailing one.
        self.visibility = self.visibility.or(metres);
        metres.is_some()
    }

    fn cloud(&mut self, group: &str) -> bool {
        if matches!(group, "SKC" | "CLR" | "NSC" | "NCD") {
            self.clouds = true;
            return true;
        }
        let amounts = ["FEW", "SCT", "BKN", "OVC", "VV", "///"];
        let Some((amount, rest)) = amounts.iter().find_map(|amount| Some((*amount, group.strip_prefix(amount)?)))
        else {
            return false;
        };
        let Some((base, kind)) = rest.split_at_checked(3) else { return false };
        if !matches!(kind, "" | "CB" | "TCU" | "///") || (base != "///" && whole(base).is_none()) {
            return false;
        }
        self.clouds |= amount != "///";
        if let Some(base) = whole(base).filter(|_| matches!(amount, "BKN" | "OVC" | "VV")) {
            let base = base * 100.0 * FOOT;
            self.ceiling = Some(self.ceiling.map_or(base, |ceiling| ceiling.min(base)));
        }
        true
    }

    fn weather_group(&mut self, group: &str) -> bool {
        if group == "NSW" {
            return true;
        }
        let meaning = weather::describe(group);
        let known = meaning.is_some();
        self.weather.extend(meaning);
        known
    }

    /// Returns the flight category; `None` if visibility or clouds are not known.
    pub fn category(&self) -> Option<FlightCategory> {
        let visibility = self.visibility? / MILE;
        if !self.clouds {
            return None;
        }
        let ceiling = self.ceiling.map_or(f64::INFINITY, |ceiling| (ceiling / FOOT).round());
        let by = |value: f64, lifr: f64, ifr: f64, mvfr: f64| match value {
            _ if value < lifr => FlightCategory::Lifr,
            _ if value < ifr => FlightCategory::Ifr,
            _ if value <= mvfr => FlightCategory::Mvfr,
            _ => FlightCategory::Vfr,
        };
        Some(by(ceiling, 500.0, 1000.0, 3000.0).min(by(visibility, 1.0, 3.0, 5.0)))
    }

    /// Adds what is known to an object.
    pub fn write(self, object: &mut Map<String, Value>) {
        let category = self.category();
        let members = [
            ("wind", self.wind.map(ToValue::to_value)),
            ("visibility", self.visibility.map(Value::from)),
            ("ceiling", self.ceiling.map(Value::from)),
            ("flight_category", category.map(ToValue::to_value)),
            ("weather", (!self.weather.is_empty()).then(|| self.weather.to_value())),
        ];
        object.extend(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
}

/// Directions between which the wind varies, such as `180V240`.
fn is_variation(group: &str) -> bool {
    group
        .split_once('V')
        .is_some_and(|(from, to)| from.len() == 3 && to.len() == 3 && whole(from).is_some() && whole(to).is_some())
}

/// Statute miles such as `10SM`, `1/4SM`, `M1/4SM`, `P6SM`, as metres.
fn miles(group: &str) -> Option<f64> {
    let text = group.strip_suffix("SM")?.trim_start_matches(['M', 'P']);
    let miles = match text.split_once('/') {
        Some((above, below)) => whole(above)? / whole(below).filter(|below| *below > 0.0)?,
        None => whole(text)?,
    };
    Some(miles * MILE)
}

fn kilometres(group: &str) -> Option<f64> {
    whole(group.strip_suffix("KM")?).map(|kilometres| kilometres * 1000.0)
}

/// Four digits, with a direction or `NDV`.
fn metres(group: &str) -> Option<f64> {
    let (digits, rest) = group.split_at_checked(4)?;
    let metres =
        whole(digits).filter(|_| matches!(rest, "" | "NDV" | "N" | "NE" | "E" | "SE" | "S" | "SW" | "W" | "NW"))?;
    Some(if metres >= 9999.0 { FAR } else { metres })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_category_changes_at_its_breakpoints() {
        let category = |feet: f64, miles: f64| {
            let conditions = Conditions {
                ceiling: Some(feet * FOOT),
                visibility: Some(miles * MILE),
                clouds: true,
                ..Conditions::default()
            };
            conditions.category().unwrap()
        };
        assert_eq!(category(400.0, 10.0), FlightCategory::Lifr);
        assert_eq!(category(500.0, 10.0), FlightCategory::Ifr);
        assert_eq!(category(1000.0, 10.0), FlightCategory::Mvfr);
        assert_eq!(category(3000.0, 10.0), FlightCategory::Mvfr);
        assert_eq!(category(3100.0, 10.0), FlightCategory::Vfr);
        assert_eq!(category(9000.0, 0.5), FlightCategory::Lifr);
        assert_eq!(category(9000.0, 2.0), FlightCategory::Ifr);
        assert_eq!(category(9000.0, 5.0), FlightCategory::Mvfr);
    }

    #[test]
    fn visibility_is_read_in_all_units() {
        for (group, expected) in [("9999", 10_000.0), ("0350", 350.0), ("10KM", 10_000.0), ("M1/4SM", 402.336)] {
            let found = miles(group).or_else(|| kilometres(group)).or_else(|| metres(group)).unwrap();
            assert!((found - expected).abs() < 1e-9, "{group}");
        }
        assert_eq!(miles("1/0SM"), None);
    }
}
