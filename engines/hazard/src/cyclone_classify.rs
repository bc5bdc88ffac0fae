//! q27: category and energy of a tropical cyclone.

use jiff::tz::TimeZone;
use muster_engine::prelude::*;

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    max_wind_kt: Option<f64>,
    track: Option<Vec<Fix>>,
    basin: Basin,
}

/// A position of the track with the greatest one-minute wind.
#[derive(Debug, Clone, Input)]
pub struct Fix {
    time: Timestamp,
    lat: f64,
    lon: f64,
    wind_kt: f64,
}

/// Basins, which differ in their scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Basin {
    Atlantic,
    EastPacific,
    WestPacific,
    NorthIndian,
    SouthIndian,
    Australian,
    SouthPacific,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    category: i32,
    label: &'static str,
    regional_label: &'static str,
    ace: Option<f64>,
    rapid_intensification: Option<bool>,
    pressure_estimate_hpa: Option<f64>,
    damage: &'static str,
}

/// Least one-minute wind in knots, category, name and expected damage (Saffir-Simpson).
const SCALE: [(f64, i32, &str, &str); 7] = [
    (137.0, 5, "category 5 hurricane", "catastrophic damage"),
    (113.0, 4, "category 4 hurricane", "catastrophic damage"),
    (96.0, 3, "category 3 hurricane", "devastating damage"),
    (83.0, 2, "category 2 hurricane", "extremely dangerous winds, extensive damage"),
    (64.0, 1, "category 1 hurricane", "very dangerous winds, some damage"),
    (34.0, 0, "tropical storm", "below hurricane force; rain, surge and gusts may do damage"),
    (0.0, -1, "tropical depression", "below storm force; rain may do damage"),
];

/// Ten-minute wind over one-minute wind at sea (WMO/TD-No. 1555, table 1.1).
const TEN_MINUTES: f64 = 0.93;
const MAX_FIXES: usize = 5_000;
const MAX_WIND: f64 = 250.0;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let mut track = input.track.unwrap_or_default();
    if track.len() > MAX_FIXES {
        return Err(Failure::too_large(format!("at most {MAX_FIXES} positions of a track")));
    }
    for (at, fix) in track.iter().enumerate() {
        let checks =
            [("wind", fix.wind_kt, 0.0, MAX_WIND), ("lat", fix.lat, -90.0, 90.0), ("lon", fix.lon, -180.0, 360.0)];
        if let Some((name, _, least, most)) =
            checks.iter().find(|(_, value, least, most)| !(*least..=*most).contains(value))
        {
            return Err(Failure::invalid(&["track", &at.to_string(), name], format!("must be from {least} to {most}")));
        }
    }
    track.sort_by_key(|fix| fix.time);
    let strongest = track.iter().map(|fix| fix.wind_kt).reduce(f64::max);
    let Some(wind) = input.max_wind_kt.or(strongest) else {
        return Err(Failure::invalid(&[], "give max_wind or a track"));
    };
    let (_, category, label, damage) = scale(wind);
    if !matches!(input.basin, Basin::Atlantic | Basin::EastPacific | Basin::NorthIndian) {
        cx.assume(format!("the scale of the basin is for 10-minute winds: {TEN_MINUTES} of the 1-minute wind at sea"));
    }
    if !track.is_empty() {
        cx.assume("energy counts the positions at 00, 06, 12 and 18 UTC with 34 kt or more, of tropical phases only");
    }
    Ok(Output {
        category,
        label,
        regional_label: regional(input.basin, wind),
        ace: (!track.is_empty()).then(|| energy(&track)),
        rapid_intensification: (!track.is_empty()).then(|| intensifies(&track)),
        pressure_estimate_hpa: Some(1010.0 - (wind / 6.7).powf(1.0 / 0.644)),
        damage,
    })
}

fn scale(wind: f64) -> (f64, i32, &'static str, &'static str) {
    let [.., weakest] = SCALE;
    SCALE.iter().find(|(least, ..)| wind >= *least).copied().unwrap_or(weakest)
}

/// Accumulated cyclone energy in 10⁴ kt².
fn energy(track: &[Fix]) -> f64 {
    let synoptic = |fix: &&Fix| {
        let time = fix.time.to_zoned(TimeZone::UTC);
        fix.wind_kt >= 34.0 && time.hour() % 6 == 0 && time.minute() == 0 && time.second() == 0
    };
    // `+ 0.0`: the sum of nothing is -0.
    track.iter().filter(synoptic).map(|fix| fix.wind_kt * fix.wind_kt).sum::<f64>() * 1e-4 + 0.0
}

/// Whether the wind rises by 30 kt or more within 24 hours.
fn intensifies(track: &[Fix]) -> bool {
    track.iter().enumerate().any(|(at, later)| {
        let earlier = track.iter().take(at).rev();
        earlier
            .take_while(|earlier| {
                later.time.duration_since(earlier.time).as_hours() < 24 || exactly_a_day(later, earlier)
            })
            .any(|earlier| later.wind_kt - earlier.wind_kt >= 30.0)
    })
}

fn exactly_a_day(later: &Fix, earlier: &Fix) -> bool {
    later.time.duration_since(earlier.time) == jiff::SignedDuration::from_hours(24)
}

/// Name on the scale of the basin's warning centre.
fn regional(basin: Basin, wind: f64) -> &'static str {
    let (wind, scale): (f64, &[(f64, &'static str)]) = match basin {
        Basin::Atlantic | Basin::EastPacific => return self::scale(wind).2,
        Basin::WestPacific => (
            wind * TEN_MINUTES,
            &[
                (105.0, "violent typhoon"),
                (85.0, "very strong typhoon"),
                (64.0, "typhoon"),
                (48.0, "severe tropical storm"),
                (34.0, "tropical storm"),
                (0.0, "tropical depression"),
            ],
        ),
        Basin::NorthIndian => (
            wind,
            &[
                (120.0, "super cyclonic storm"),
                (90.0, "extremely severe cyclonic storm"),
                (64.0, "very severe cyclonic storm"),
                (48.0, "severe cyclonic storm"),
                (34.0, "cyclonic storm"),
                (28.0, "deep depression"),
                (17.0, "depression"),
                (0.0, "low"),
            ],
        ),
        Basin::SouthIndian => (
            wind * TEN_MINUTES,
            &[
                (116.0, "very intense tropical cyclone"),
                (90.0, "intense tropical cyclone"),
                (64.0, "tropical cyclone"),
                (48.0, "severe tropical storm"),
                (34.0, "moderate tropical storm"),
                (28.0, "tropical depression"),
                (0.0, "zone of disturbed weather"),
            ],
        ),
        Basin::Australian | Basin::SouthPacific => (
            wind * TEN_MINUTES,
            &[
                (108.0, "category 5 severe tropical cyclone"),
                (86.0, "category 4 severe tropical cyclone"),
                (64.0, "category 3 severe tropical cyclone"),
                (48.0, "category 2 tropical cyclone"),
                (34.0, "category 1 tropical cyclone"),
                (0.0, "tropical low"),
            ],
        ),
    };
    scale.iter().find(|(least, _)| wind >= *least).map_or("low", |(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(hour: i64, wind_kt: f64) -> Fix {
        let time = "2026-09-01T00:00:00Z".parse::<Timestamp>().unwrap();
        Fix { time: time + jiff::SignedDuration::from_hours(hour), lat: 20.0, lon: -60.0, wind_kt }
    }

    #[test]
    fn the_category_changes_at_its_breakpoints() {
        for (least, category, ..) in SCALE {
            assert_eq!(scale(least).1, category);
            if least > 0.0 {
                assert_eq!(scale(least.next_down()).1, category - 1);
            }
        }
    }

    #[test]
    fn energy_counts_synoptic_times_of_storm_force() {
        let track = [fix(0, 30.0), fix(3, 50.0), fix(6, 40.0), fix(12, 60.0)];
        assert!((energy(&track) - (1600.0 + 3600.0) * 1e-4).abs() < 1e-12);
    }

    #[test]
    fn thirty_knots_in_a_day_are_rapid() {
        assert!(intensifies(&[fix(0, 40.0), fix(24, 70.0)]));
        assert!(!intensifies(&[fix(0, 40.0), fix(25, 70.0)]));
        assert!(!intensifies(&[fix(0, 40.0), fix(24, 69.9)]));
        assert!(!intensifies(&[fix(0, 70.0), fix(24, 40.0)]));
    }
}
