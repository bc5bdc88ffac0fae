//! Days of work: Monday to Friday without holidays.

use std::collections::BTreeSet;

use jiff::civil::{Date, Weekday};

use crate::Failure;

/// Most days of work that are added in one call, some 380 years.
const MAX_DAYS: i64 = 100_000;

fn works(date: Date, holidays: &BTreeSet<Date>) -> bool {
    !matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday) && !holidays.contains(&date)
}

/// Days of work from one date up to another, which is left out; less than zero where it lies before (as NumPy's
/// `busday_count`).
pub(super) fn count(from: Date, to: Date, holidays: &BTreeSet<Date>) -> i64 {
    if to < from {
        // The mirror image leaves out the same end.
        let one_later = |date: Date| date.tomorrow().unwrap_or(date);
        return count(one_later(to), one_later(from), holidays).saturating_neg();
    }
    let days = i64::from(from.until(to).map(|span| span.get_days()).unwrap_or_default());
    let weekday = i64::from(from.weekday().to_monday_zero_offset());
    let rest = (0..days.rem_euclid(7)).filter(|offset| weekday.saturating_add(*offset).rem_euclid(7) < 5).count();
    let off = holidays.range(from..to).filter(|date| works(**date, &BTreeSet::new())).count();
    (days.div_euclid(7).saturating_mul(5)).saturating_add_unsigned(rest as u64).saturating_sub_unsigned(off as u64)
}

/// The date so many days of work later or earlier. A start at which nobody works is first moved the same way, and none
/// at all moves it to the next day of work (as NumPy's `busday_offset`).
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

/// Whether it says that it means days of work.
pub(super) fn in_words(amount: &str) -> bool {
    let unit: Vec<String> = amount.split_whitespace().skip(1).map(str::to_lowercase).collect();
    let unit = unit.join(" ");
    ["business days", "business day", "working days", "working day"].contains(&unit.as_str())
}
