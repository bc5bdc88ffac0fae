use crate::Language;

/// An entry as a collection takes it.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// The same over all versions. Entries of a thread stand in the order of their ids.
    pub id: u128,
    pub version: u32,
    pub key: &'a str,
    pub value: &'a str,
    pub tags: &'a [String],
    pub thread: Option<&'a str>,
    /// Milliseconds since 1970, of this version: what a decay counts from.
    pub stored_at: i64,
    /// The same: from then on it is not found.
    pub expires_at: Option<i64>,
    /// 0 to 1, [`Document::IMPORTANCE`] where nothing was said.
    pub importance: f32,
    /// Of its value; told by the value where there is none.
    pub language: Option<Language>,
}

impl Document<'_> {
    pub const IMPORTANCE: f32 = 0.5;

    /// Of all that is looked for by words or meaning: while it is the same, so are terms and vector.
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

/// What is kept of an entry beside its words and its vector.
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
