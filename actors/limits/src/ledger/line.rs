//! Journal lines, which are written before anything else is done.
//!
//! A version, followed by postcard. The ledger is determined by its lines: the same lines yield the same ledger.

use muster_providers::Usage;
use serde::{Deserialize, Serialize};

use super::messages::Attribution;
use super::row::Outcome;
use muster_core::Millis;

const VERSION: u8 = 1;
/// Maximum length of a stored identifier, in bytes; longer ones are truncated.
const MAX_ID: usize = 256;

/// A line of the journal. A hold is identified by the number of the line that reserved it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum JournalLine<'a> {
    Reserve {
        at: Millis,
        #[serde(borrow)]
        key: &'a str,
        model: &'a str,
        nanos: u64,
    },
    Post {
        at: Millis,
        key: &'a str,
        model: &'a str,
        outcome: Outcome,
        prompt_tokens: u32,
        completion_tokens: u32,
        estimated: bool,
        cost_nanos: Option<u64>,
        /// The hold settled by this line; 0 for none.
        hold: u64,
    },
    Release {
        hold: u64,
    },
    /// The server ended without settling this hold.
    Charge {
        hold: u64,
    },
    /// A call of which nobody learnt the cost: an estimate is charged.
    Abandon {
        at: Millis,
        key: &'a str,
        model: &'a str,
        prompt_tokens: u32,
        completion_tokens: u32,
        cost_nanos: Option<u64>,
        /// The hold settled by this line; 0 for none.
        hold: u64,
    },
    /// Another line, encoded, that counts against the budget of an owner too. Written by earlier versions.
    Owned {
        owner: &'a str,
        line: &'a [u8],
    },
    /// Another line, encoded, with whom it counts against besides its key and what it is reported under.
    Attributed {
        owner: &'a str,
        team: &'a str,
        provider: &'a str,
        tags: &'a str,
        line: &'a [u8],
    },
    /// A call that drew pictures, finished or abandoned: the line without them, encoded. Not written for other calls.
    Pictures {
        images: u32,
        line: &'a [u8],
    },
}

impl<'a> JournalLine<'a> {
    pub(super) fn encode(&self) -> Vec<u8> {
        // Writing to memory cannot fail, and a line without payload would be treated as one of a newer version.
        postcard::to_extend(self, vec![VERSION]).unwrap_or_default()
    }

    /// Encodes a line with its attribution and the number of pictures that its call drew.
    pub(super) fn encode_for(&self, attribution: Attribution<'_>, images: u32) -> Vec<u8> {
        let mut line = self.encode();
        if images > 0 {
            line = JournalLine::Pictures { images, line: &line }.encode();
        }
        if attribution == Attribution::default() {
            return line;
        }
        let Attribution { owner, team, provider, tags } = attribution;
        let (owner, team, provider) = (bounded(owner), bounded(team), bounded(provider));
        JournalLine::Attributed { owner, team, provider, tags, line: &line }.encode()
    }

    /// Returns the line itself, and its attribution. `None` for a line of an unknown version.
    pub(super) fn and_attribution(self) -> Option<(Self, Attribution<'a>)> {
        match self {
            Self::Owned { owner, line } => Some((Self::decode(line)?, Attribution { owner, ..Attribution::default() })),
            Self::Attributed { owner, team, provider, tags, line } => {
                Some((Self::decode(line)?, Attribution { owner, team, provider, tags }))
            }
            line => Some((line, Attribution::default())),
        }
    }

    /// Returns the line itself, and the number of pictures that its call drew.
    pub(super) fn and_images(self) -> Option<(Self, u32)> {
        match self {
            Self::Pictures { images, line } => Some((Self::decode(line)?, images)),
            line => Some((line, 0)),
        }
    }

    /// Returns `None` for a line of an unknown version.
    pub(super) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (version, line) = bytes.split_first()?;
        if *version != VERSION {
            return None;
        }
        postcard::from_bytes(line).ok()
    }
}

/// Truncates an identifier to its maximum length.
pub(super) fn bounded(id: &str) -> &str {
    id.get(..id.floor_char_boundary(MAX_ID)).unwrap_or_default()
}

pub(super) fn usage(prompt_tokens: u32, completion_tokens: u32, estimated: bool) -> Usage {
    Usage { prompt_tokens, completion_tokens, estimated }
}

/// Logs that a line is not counted.
pub(super) fn report_unknown(number: u64) {
    tracing::error!(number, "a line of the ledger's journal was written by a newer version and is not counted");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip_and_newer_ones_are_ignored() {
        let line = JournalLine::Post {
            at: Millis(1_767_225_600_000),
            key: "key_1",
            model: "m",
            outcome: Outcome::Cancelled,
            prompt_tokens: 1,
            completion_tokens: u32::MAX,
            estimated: true,
            cost_nanos: Some(u64::MAX),
            hold: 1 << 40,
        };
        for line in [line, JournalLine::Release { hold: 7 }, JournalLine::Charge { hold: 0 }] {
            let mut bytes = line.encode();
            assert_eq!(JournalLine::decode(&bytes), Some(line));
            bytes[0] += 1;
            assert_eq!(JournalLine::decode(&bytes), None);
        }
        assert_eq!(JournalLine::decode(&[]), None);
        assert_eq!(JournalLine::decode(&[VERSION, 99]), None);
    }

    #[test]
    fn an_attributed_line_wraps_the_line_and_those_of_earlier_versions_are_read() {
        let line = JournalLine::Reserve { at: Millis(1), key: "key_1", model: "m", nanos: 7 };
        let read = |bytes: &[u8]| {
            let (line, of) = JournalLine::decode(bytes)?.and_attribution()?;
            Some((format!("{line:?}"), [of.owner, of.team, of.provider, of.tags].map(str::to_owned)))
        };
        let expected = |of: [&str; 4]| Some((format!("{line:?}"), of.map(str::to_owned)));
        assert_eq!(read(&line.encode_for(Attribution::default(), 0)), expected(["", "", "", ""]));
        let all = Attribution { owner: "ann", team: "team_1", provider: "p", tags: "a" };
        assert_eq!(read(&line.encode_for(all, 0)), expected(["ann", "team_1", "p", "a"]));
        let owned = JournalLine::Owned { owner: "ann", line: &line.encode() }.encode();
        assert_eq!(read(&owned), expected(["ann", "", "", ""]));
        assert_eq!(JournalLine::Owned { owner: "ann", line: &[99] }.and_attribution(), None);
    }

    #[test]
    fn a_line_of_pictures_wraps_the_line_within_its_attribution() {
        let line = JournalLine::Release { hold: 7 };
        let all = Attribution { owner: "ann", team: "", provider: "p", tags: "" };
        let bytes = line.encode_for(all, 3);
        let (inner, of) = JournalLine::decode(&bytes).unwrap().and_attribution().unwrap();
        assert_eq!((inner.and_images(), of), (Some((line, 3)), all));
        assert_eq!(line.and_images(), Some((line, 0)));
        assert_eq!(JournalLine::Pictures { images: 1, line: &[99] }.and_images(), None);
    }

    #[test]
    fn identifiers_are_truncated_between_characters() {
        assert_eq!(bounded("m"), "m");
        assert_eq!(bounded(&"é".repeat(200)), "é".repeat(128));
        assert_eq!(bounded(&format!("x{}", "é".repeat(200))).len(), 255);
    }
}
