//! Texts of a CAP message as a person writes them.

use super::checks::Checks;
use super::edit::Clearable;
use crate::alert::AlertInfo;
use muster_core::Millis;

/// Texts of a message as written by a person. What is not set follows from the incident, from the alert that the message
/// follows, or from the words for its occasion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertTexts {
    /// Language tag, such as `en-US`.
    pub language: Option<String>,
    /// Intended audience.
    pub audience: Clearable<String>,
    /// Headline.
    pub headline: Option<String>,
    /// Description.
    pub description: Clearable<String>,
    /// Instruction.
    pub instruction: Clearable<String>,
    /// End of validity.
    pub expires: Option<Millis>,
    /// Address of further information, `https://…`.
    pub web: Clearable<String>,
    /// Contact.
    pub contact: Clearable<String>,
}

impl AlertTexts {
    /// Returns whether nothing is set.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the texts; `place` stands before the names of the fields, such as `alert.`.
    pub(super) fn check(&self, checks: &mut Checks, place: &str, now: Millis) {
        let lines = [
            ("audience", self.audience.as_ref().and_then(Option::as_ref)),
            ("headline", self.headline.as_ref()),
            ("contact", self.contact.as_ref().and_then(Option::as_ref)),
        ];
        for (field, line) in lines {
            line.iter().for_each(|line| checks.line(&format!("{place}{field}"), line));
        }
        let texts = [("description", &self.description), ("instruction", &self.instruction)];
        for (field, text) in texts {
            text.iter().flatten().for_each(|text| checks.text(&format!("{place}{field}"), text));
        }
        let tag =
            |tag: &String| (2..=35).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let language = self.language.as_ref().is_none_or(tag);
        checks.that(language, &format!("{place}language"), "must be a tag such as en-US");
        let web = self.web.iter().flatten().all(|web| web.starts_with("https://") && web.len() <= 2_000);
        checks.that(web, &format!("{place}web"), "must begin with https:// and be at most 2,000 characters");
        let expires = self.expires.is_none_or(|expires| expires > now);
        checks.that(expires, &format!("{place}expires"), "must be in the future");
    }

    /// Writes the texts that are set.
    pub(super) fn apply(self, info: &mut AlertInfo) {
        info.language = self.language.unwrap_or_else(|| std::mem::take(&mut info.language));
        info.headline = self.headline.or(info.headline.take());
        info.expires = self.expires.or(info.expires);
        for (field, set) in [
            (&mut info.audience, self.audience),
            (&mut info.description, self.description),
            (&mut info.instruction, self.instruction),
            (&mut info.web, self.web),
            (&mut info.contact, self.contact),
        ] {
            *field = set.unwrap_or_else(|| field.take());
        }
    }
}
