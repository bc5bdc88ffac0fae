//! Smoking: amount, duration, pack years, when it stopped.

use super::RiskFactors;
use super::words::Words;

fn year(word: &str) -> bool {
    matches!(word, "year" | "years" | "yr" | "yrs" | "y")
}

/// Reads what an entry says of smoking.
pub fn smoking(f: &mut RiskFactors, w: &Words, text: &str) {
    let smoke = (0..w.len()).find(|&i| {
        let word = w.at(i);
        word.starts_with("smok") || word.starts_with("cigarette") || word.starts_with("tobacco") || word == "cigs"
    });
    let non = w.row(&["non", "smoker"]).is_some() || w.has(&["nonsmoker"]);
    if non || smoke.is_some_and(|at| w.denied(at) && !w.has(&["quit", "stopped", "longer", "anymore"])) {
        f.never_smoked = true;
        f.note("neverSmoked", true, text);
        return;
    }
    let amount = amount(f, w, text);
    let packs = pack_years(f, w, text);
    let stopped = quit(f, w, smoke.is_some() || amount || packs, text);
    let concerned = smoke.is_some() || amount || packs || stopped;
    if !concerned {
        return;
    }
    duration(f, w, text);
    let now = (0..w.len()).any(|i| matches!(w.at(i), "smoker" | "smokes" | "smoking" | "current" | "currently"));
    if now && !stopped && !w.has(&["ex", "former", "formerly", "previous", "past", "smoked", "history"]) {
        f.current_smoker = Some(true);
        f.note("currentSmoker", true, text);
    } else if smoke.is_some() && f.ever_smoked().is_none() {
        f.note("everSmoked", true, text);
        f.current_smoker = w.has(&["ex", "former", "formerly"]).then_some(false).or(f.current_smoker);
    }
}

/// "20/day", "20 a day", "20 cigarettes daily", "1.5 packs a day".
fn amount(f: &mut RiskFactors, w: &Words, text: &str) -> bool {
    for at in 0..w.len() {
        let Some(n) = w.number(at) else { continue };
        let mut next = at + 1;
        let pack = matches!(w.at(next), "pack" | "packs" | "packet" | "packets");
        let cigarettes = matches!(w.at(next), "cigarettes" | "cigarette" | "cigs" | "cpd");
        if pack || cigarettes {
            next += 1;
        }
        if w.at(next) == "of" {
            next += 2;
        }
        let daily = w.at(next) == "daily"
            || w.at(at + 1) == "cpd"
            || (w.at(next) == "day" && w.after_slash(next))
            || (matches!(w.at(next), "a" | "per" | "each" | "every") && w.at(next + 1) == "day");
        let n = if pack { n * 20.0 } else { n };
        if daily && n > 0.0 && n <= 200.0 {
            f.cigarettes_per_day = Some(n);
            f.note("cigarettesPerDay", n, text);
            return true;
        }
    }
    false
}

/// "30 pack years", "30 pack-years": says nothing of the amount a day.
fn pack_years(f: &mut RiskFactors, w: &Words, text: &str) -> bool {
    let found = (0..w.len()).find_map(|at| {
        let n = w.number(at)?;
        let named = (matches!(w.at(at + 1), "pack" | "packs") && year(w.at(at + 2)))
            || matches!(w.at(at + 1), "packyears" | "packyear" | "py");
        (named && (0.0..=400.0).contains(&n)).then_some(n)
    });
    if let Some(n) = found {
        f.said_pack_years = Some(n);
        f.note("packYears", n, text);
    }
    found.is_some()
}

/// "quit 10 years ago", "stopped smoking 5 years ago", "ex-smoker of 3 years".
fn quit(f: &mut RiskFactors, w: &Words, about_smoking: bool, text: &str) -> bool {
    let Some(at) = w.find(&["quit", "stopped", "gave", "ex", "former"]) else { return false };
    let strong = w.at(at) == "quit";
    if !strong && !about_smoking {
        return false;
    }
    f.current_smoker = Some(false);
    f.note("currentSmoker", false, text);
    let years = (at + 1..w.len()).find_map(|i| {
        let n = w.number(i)?;
        let ago = w.at(i + 2) == "ago" || w.at(i + 2) == "since" || matches!(w.at(i - 1), "for" | "since");
        if !ago {
            return None;
        }
        if year(w.at(i + 1)) {
            Some(n)
        } else if matches!(w.at(i + 1), "month" | "months") {
            Some(n / 12.0)
        } else {
            None
        }
    });
    if let Some(n) = years.filter(|n| (0.0..=110.0).contains(n)) {
        f.years_quit = Some(n);
        f.note("yearsQuit", n, text);
    }
    true
}

/// "for 30 years", "30 years of smoking", "30 years history of smoking".
fn duration(f: &mut RiskFactors, w: &Words, text: &str) {
    let found = (0..w.len()).find_map(|at| {
        let n = w.number(at)?;
        let before = if at == 0 { "" } else { w.at(at - 1) };
        let said = before == "for" || matches!(w.at(at + 2), "of" | "history") || w.at(at + 3) == "of";
        let since_quit = (at.saturating_sub(4)..at).any(|i| matches!(w.at(i), "quit" | "stopped"));
        (year(w.at(at + 1)) && said && !since_quit && w.at(at + 2) != "ago" && (0.0..=110.0).contains(&n)).then_some(n)
    });
    if let Some(n) = found {
        f.years_smoked = Some(n);
        f.note("yearsSmoked", n, text);
    }
}
