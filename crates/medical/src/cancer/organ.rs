//! Which organs a patient has: rules about an organ do not apply without it.

use crate::rank::Sex;

/// Whether a patient has an organ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Has {
    Yes,
    No,
    /// Not said, and not settled by the sex that was given.
    Unknown,
}

/// Organs of the rules: id, the names that a request may use, and the sex
/// that has it where nothing else is said.
pub const ORGANS: &[(&str, &[&str], Sex)] = &[
    ("ovaries", &["ovaries", "ovary"], Sex::Female),
    ("uterus", &["uterus", "womb"], Sex::Female),
    ("cervix", &["cervix"], Sex::Female),
    ("vulva", &["vulva", "vagina", "vulva/vagina"], Sex::Female),
    ("prostate", &["prostate"], Sex::Male),
    ("testes", &["testes", "testis", "testicle", "testicles"], Sex::Male),
    ("penis", &["penis"], Sex::Male),
];

/// Whether a name is one of an organ that the rules know, with or without
/// "no" before it.
#[must_use]
pub fn known(name: &str) -> bool {
    let (_, name) = split(name);
    ORGANS.iter().any(|(_, names, _)| names.contains(&name.as_str()))
}

/// Whether the patient has the organ `id`. What is listed counts first. An
/// organ that is not listed follows the sex; in a list that leaves it out it
/// is unknown for the sex that has it.
#[must_use]
pub fn has(id: &str, listed: &[String], sex: Option<Sex>) -> Has {
    let Some((_, names, owner)) = ORGANS.iter().find(|(organ, _, _)| *organ == id) else { return Has::Unknown };
    let mut listed_any = false;
    for entry in listed {
        let (absent, name) = split(entry);
        listed_any |= !absent;
        if names.contains(&name.as_str()) {
            return if absent { Has::No } else { Has::Yes };
        }
    }
    match sex {
        None => Has::Unknown,
        Some(sex) if sex == *owner && listed_any => Has::Unknown,
        Some(sex) if sex == *owner => Has::Yes,
        Some(_) => Has::No,
    }
}

fn split(entry: &str) -> (bool, String) {
    let entry = entry.trim().to_lowercase();
    match entry.strip_prefix("no ") {
        Some(rest) => (true, rest.trim().to_owned()),
        None => (false, entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn sex_alone_settles_anatomy_unless_a_list_is_given() {
        assert_eq!(has("ovaries", &[], Some(Sex::Female)), Has::Yes);
        assert_eq!(has("ovaries", &[], Some(Sex::Male)), Has::No);
        assert_eq!(has("ovaries", &[], None), Has::Unknown);
        assert_eq!(has("uterus", &list(&["ovaries"]), Some(Sex::Female)), Has::Unknown);
    }

    #[test]
    fn a_listed_organ_counts_against_the_sex_given() {
        assert_eq!(has("cervix", &list(&["Cervix "]), Some(Sex::Male)), Has::Yes);
        assert_eq!(has("uterus", &list(&["no uterus"]), Some(Sex::Female)), Has::No);
        assert_eq!(has("ovaries", &list(&["no uterus"]), Some(Sex::Female)), Has::Yes);
    }

    #[test]
    fn names_outside_the_rules_are_not_known() {
        assert!(known("no womb") && known("Testicles"));
        assert!(!known("spleen") && !known(""));
    }
}
