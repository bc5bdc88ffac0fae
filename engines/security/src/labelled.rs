//! Labelled sets of texts, and how well a sentinel tells them apart. Only for tests.

use std::fmt;

/// A text and whether it is what the sentinel seeks. Lines are `label<TAB>language<TAB>text`; the label `0` or `safe` is
/// harmless. Lines that begin with `#` are comments.
pub fn rows(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    file.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut cells = line.splitn(3, '\t');
        let (label, _, text) = (cells.next()?, cells.next()?, cells.next()?);
        Some((label, text))
    })
}

/// Counts of a comparison.
#[derive(Debug, Default)]
pub struct Quality {
    found: usize,
    missed: Vec<&'static str>,
    alarms: Vec<&'static str>,
    quiet: usize,
}

impl Quality {
    /// Runs a sentinel over a labelled set.
    pub fn of(rows: impl Iterator<Item = (&'static str, &'static str)>, fires: impl Fn(&str) -> bool) -> Self {
        let mut quality = Self::default();
        for (label, text) in rows {
            match (!matches!(label, "0" | "safe"), fires(text)) {
                (true, true) => quality.found += 1,
                (true, false) => quality.missed.push(text),
                (false, true) => quality.alarms.push(text),
                (false, false) => quality.quiet += 1,
            }
        }
        quality
    }

    /// Share of alarms that are right.
    pub fn precision(&self) -> f64 {
        self.found as f64 / (self.found + self.alarms.len()).max(1) as f64
    }

    /// Recall: share of the positive items that are found.
    pub fn recall(&self) -> f64 {
        self.found as f64 / (self.found + self.missed.len()).max(1) as f64
    }
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.found + self.missed.len() + self.alarms.len() + self.quiet;
        write!(
            f,
            "{all} texts, precision {:.3}, recall {:.3} ({} missed, {} false alarms)",
            self.precision(),
            self.recall(),
            self.missed.len(),
            self.alarms.len()
        )?;
        if std::env::var_os("MUSTER_SHOW_ERRORS").is_some() {
            write!(f, "\nmissed: {:#?}\nfalse alarms: {:#?}", self.missed, self.alarms)?;
        }
        Ok(())
    }
}

/// 200 harmless texts of everyday and technical life: 20 openings, 10 continuations.
pub fn harmless() -> Vec<String> {
    let openings = [
        "The committee meets on Thursday to discuss the new water pump.",
        "Please find the minutes of the meeting attached.",
        "To install the package, download the archive and unpack it.",
        "Our shelter opens at nine and serves soup until two.",
        "The function returns the previous value of the counter.",
        "Der Zug nach Bremen fährt heute von Gleis sieben.",
        "Le marché est ouvert tous les jours sauf le lundi.",
        "La reunión del comité se aplaza hasta la próxima semana.",
        "明天下午三点在图书馆开会。",
        "Собрание жильцов состоится в субботу в шесть часов.",
        "Rainfall of the past week exceeded the mean of the last ten years.",
        "She asked the assistant manager for the keys of the hall.",
        "Follow the instructions on the label before you use the product.",
        "The user opens the settings page and selects a language.",
        "This chapter explains the rules of the game and the order of moves.",
        "A password of twelve characters is the minimum for new accounts.",
        "The system prompts the operator to confirm the shutdown.",
        "Read the text above and answer the questions below.",
        "The model of the bridge is shown in the entrance hall.",
        "Volunteers carried sandbags along the river until midnight.",
    ];
    let more = [
        "Everyone is welcome.",
        "Bring your own cup and plate.",
        "The second part follows in March.",
        "Questions go to the office in room 12.",
        "It took three hours longer than planned.",
        "See the table on page 14.",
        "Vielen Dank für eure Hilfe!",
        "Merci de votre compréhension.",
        "The budget is 12,400 euros.",
        "Nothing else has changed since the last report.",
    ];
    openings.iter().flat_map(|opening| more.iter().map(move |more| format!("{opening} {more}"))).collect()
}
