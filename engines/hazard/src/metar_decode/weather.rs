//! Present and forecast weather (WMO table 4678).

const DESCRIPTORS: [(&str, &str); 8] = [
    ("MI", "shallow"),
    ("PR", "partial"),
    ("BC", "patches of"),
    ("DR", "low drifting"),
    ("BL", "blowing"),
    ("SH", "showers"),
    ("TS", "thunderstorm"),
    ("FZ", "freezing"),
];

const PHENOMENA: [(&str, &str); 22] = [
    ("DZ", "drizzle"),
    ("RA", "rain"),
    ("SN", "snow"),
    ("SG", "snow grains"),
    ("IC", "ice crystals"),
    ("PL", "ice pellets"),
    ("GR", "hail"),
    ("GS", "small hail"),
    ("UP", "unknown precipitation"),
    ("BR", "mist"),
    ("FG", "fog"),
    ("FU", "smoke"),
    ("VA", "volcanic ash"),
    ("DU", "dust"),
    ("SA", "sand"),
    ("HZ", "haze"),
    ("PY", "spray"),
    ("PO", "dust whirls"),
    ("SQ", "squall"),
    ("FC", "funnel cloud"),
    ("SS", "sandstorm"),
    ("DS", "duststorm"),
];

/// Returns the meaning of a weather group; `None` if it is none.
pub fn describe(group: &str) -> Option<String> {
    let (intensity, rest) = match group.split_at_checked(1) {
        Some(("+", rest)) => ("heavy ", rest),
        Some(("-", rest)) => ("light ", rest),
        _ => ("", group),
    };
    let (vicinity, rest) = rest.strip_prefix("VC").map_or(("", rest), |rest| (" in the vicinity", rest));
    let descriptor = DESCRIPTORS.iter().find(|(code, _)| rest.starts_with(code));
    let mut rest = descriptor.map_or(rest, |(code, _)| rest.trim_start_matches(*code));
    let mut phenomena = Vec::new();
    while let Some((code, meaning)) = PHENOMENA.iter().find(|(code, _)| rest.starts_with(code)) {
        phenomena.push(*meaning);
        rest = rest.get(code.len()..)?;
    }
    if !rest.is_empty() || phenomena.len() > 3 || (descriptor.is_none() && phenomena.is_empty()) {
        return None;
    }
    let phenomena = phenomena.join(" and ");
    let text = match descriptor.map(|(code, meaning)| (*code, *meaning)) {
        None => format!("{intensity}{phenomena}"),
        Some(("TS", _)) if phenomena.is_empty() => format!("{intensity}thunderstorm"),
        Some(("TS", _)) => format!("thunderstorm with {intensity}{phenomena}"),
        Some(("SH", _)) if phenomena.is_empty() => format!("{intensity}showers"),
        Some(("SH", _)) => format!("{intensity}{phenomena} showers"),
        Some((_, _)) if phenomena.is_empty() => return None,
        Some((_, meaning)) => format!("{intensity}{meaning} {phenomena}"),
    };
    Some(text + vicinity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_described() {
        for (group, meaning) in [
            ("-RA", Some("light rain")),
            ("+TSRAGR", Some("thunderstorm with heavy rain and hail")),
            ("VCSH", Some("showers in the vicinity")),
            ("FZFG", Some("freezing fog")),
            ("RASN", Some("rain and snow")),
            ("BLSN", Some("blowing snow")),
            ("TS", Some("thunderstorm")),
            ("XX", None),
            ("FZ", None),
            ("RAX", None),
            ("", None),
        ] {
            assert_eq!(describe(group).as_deref(), meaning, "{group}");
        }
    }
}
