//! Business days: Monday to Friday without holidays.

use std::collections::BTreeSet;

use jiff::civil::{Date, Weekday};

use muster_engine::Failure;

/// Maximum number of business days per call, about 380 years.
const MAX_DAYS: i64 = 100_000;

fn works(date: Date, holidays: &BTreeSet<Date>) -> bool {
    !matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday) && !holidays.contains(&date)
}

/// Number of business days from one date to another, exclusive; negative if it is earlier (as NumPy's `busday_count`).
pub(super) fn count(from: Date, to: Date, holidays: &BTreeSet<Date>) -> i64 {
    if to < from {
        // Counting backwards excludes the same end.
        let one_later = |date: Date| date.tomorrow().unwrap_or(date);
        return count(one_later(to), one_later(from), holidays).saturating_neg();
    }
    let days = i64::from(from.until(to).map(|span| span.get_days()).unwrap_or_default());
    let weekday = i64::from(from.weekday().to_monday_zero_offset());
    let rest = (0..days.rem_euclid(7)).filter(|offset| weekday.saturating_add(*offset).rem_euclid(7) < 5).count();
    let off = holidays.range(from..to).filter(|date| works(**date, &BTreeSet::new())).count();
    (days.div_euclid(7).saturating_mul(5)).saturating_add_unsigned(rest as u64).saturating_sub_unsigned(off as u64)
}

/// Adds business days. A start that is not a business day is first moved in the same direction; adding zero moves it to
/// the next business day (as NumPy's `busday_offset`).
pub(super) fn add(from: Date, days: i64, holidays: &BTreeSet<Date>) -> Result<Date, Failure> {
    if days.abs() > MAX_DAYS {
        return Err(Failure::too_large(format!("amount is more than {MAX_DAYS} days of work")));
    }
    let step = |date: Date| {
        let next = if days < 0 { date.yesterday() } else { date.tomorrow() };
        next.map_err(|_| Failure::invalid(&["amount"], "leads out of the years -9999 to 9999"))
    };
    let rolled = |mut date: Date| {
        while !works(date, holidays) {
            date = step(date)?;
        }
        Ok(date)
    };
    let mut date = rolled(from)?;
    for _ in 0..days.abs() {
        date = rolled(step(date)?)?;
    }
    Ok(date)
}

/// `5`, `-3` or `5 business days`.
pub(super) fn days(amount: &str) -> Option<i64> {
    amount
        .split_whitespace()
        .next()?
        .parse()
        .ok()
        .filter(|_| in_words(amount) || amount.split_whitespace().count() == 1)
}

/// Returns whether the amount explicitly names business days.
pub(super) fn in_words(amount: &str) -> bool {
    let unit: Vec<String> = amount.split_whitespace().skip(1).map(str::to_lowercase).collect();
    let unit = unit.join(" ");
    ["business days", "business day", "working days", "working day"].contains(&unit.as_str())
}
