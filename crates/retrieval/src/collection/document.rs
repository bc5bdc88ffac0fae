use crate::Language;

/// An entry to be indexed.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// Id of the entry, constant over all versions. Entries of a thread are ordered by id.
    pub id: u128,
    /// Number of the version.
    pub version: u32,
    /// Key, which is searchable and can be filtered by its prefix.
    pub key: &'a str,
    /// Value, which is searchable but not stored.
    pub value: &'a str,
    /// Tags, which are searchable and can be filtered by.
    pub tags: &'a [String],
    /// Thread that the entry belongs to, such as a conversation.
    pub thread: Option<&'a str>,
    /// When this version was stored, in milliseconds since 1970: the reference time of decay.
    pub stored_at: i64,
    /// When it expires, in milliseconds since 1970: searches do not return it from then on. `None` for never.
    pub expires_at: Option<i64>,
    /// Importance, 0 to 1; [`Document::IMPORTANCE`] by default.
    pub importance: f32,
    /// Language of its value; detected if `None`.
    pub language: Option<Language>,
}

impl Document<'_> {
    /// Default importance, which neither raises nor lowers the score.
    pub const IMPORTANCE: f32 = 0.5;

    /// Returns a hash of all searchable text: while it is unchanged, terms and vector remain valid.
    pub(super) fn digest(&self, language: Language) -> u64 {
        let parts = std::iter::once(self.key).chain(self.tags.iter().map(String::as_str)).chain([self.value]);
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        // FNV-1a, 64 bits (Fowler, Noll, Vo).
        let mut mix = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        mix(language.number());
        for part in parts {
            (part.len() as u64).to_le_bytes().into_iter().chain(part.bytes()).for_each(&mut mix);
        }
        hash
    }
}

/// Stored properties of an entry besides its words and vector.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Entry {
    pub id: u128,
    pub version: u32,
    pub key: Box<str>,
    pub tags: Box<[u32]>,
    pub thread: Option<u32>,
    pub stored_at: i64,
    pub expires_at: Option<i64>,
    pub importance: f32,
    pub digest: u64,
}

impl Entry {
    pub(crate) fn is_expired(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}
