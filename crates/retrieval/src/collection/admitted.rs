use roaring::RoaringBitmap;

use super::Collection;
use super::entries::at;
use crate::rank::{Query, QueryContext};
use crate::{DocNo, Filter};

/// Maximum number of entries whose keys are compared one by one instead of by the key index.
const MAX_COMPARED: u64 = 2_000;

/// Entries of a collection that meet a query's conditions.
#[derive(Debug, Clone)]
pub(crate) enum Admitted {
    All,
    Only(RoaringBitmap),
}

impl Admitted {
    pub(crate) fn filter(&self) -> Filter<'_> {
        match self {
            Self::All => Filter::All,
            Self::Only(docs) => Filter::Only(docs),
        }
    }

    /// Intersects it with a set.
    fn intersect(&mut self, docs: RoaringBitmap) {
        match self {
            Self::All => *self = Self::Only(docs),
            Self::Only(all) => *all &= docs,
        }
    }
}

impl Collection {
    /// Returns the unexpired entries that meet a query's conditions on tags, key and thread.
    pub(crate) fn admitted(&self, query: &Query, context: &QueryContext<'_>) -> Admitted {
        let mut admitted = Admitted::All;
        if let Some(thread) = &query.thread {
            let members = self.threads.find(thread).and_then(|thread| self.threads.held(thread));
            admitted.intersect(members.map(|members| members.iter().collect()).unwrap_or_default());
        }
        for tag in &query.tags_all {
            admitted.intersect(self.tagged(tag).cloned().unwrap_or_default());
        }
        if !query.tags_any.is_empty() {
            let any = query.tags_any.iter().filter_map(|tag| self.tagged(tag));
            admitted.intersect(any.fold(RoaringBitmap::new(), |all, docs| all | docs));
        }
        if let Some(prefix) = query.key_prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
            self.retain_keys(&mut admitted, prefix);
        }
        if !context.include_expired {
            self.retain_unexpired(&mut admitted, context.now);
        }
        admitted
    }

    /// Returns whether an entry exists and is unexpired, or expired ones are included.
    pub(crate) fn is_admitted(&self, doc: DocNo, context: &QueryContext<'_>) -> bool {
        self.entry(doc).is_some_and(|entry| context.include_expired || !entry.is_expired(context.now))
    }

    fn tagged(&self, tag: &str) -> Option<&RoaringBitmap> {
        self.tags.find(tag).and_then(|tag| self.tags.held(tag))
    }

    fn retain_keys(&self, admitted: &mut Admitted, prefix: &str) {
        let key = |doc| at(&self.entries, doc).map_or("", |entry| &*entry.key);
        match admitted {
            Admitted::Only(docs) if docs.len() <= MAX_COMPARED => {
                let kept = docs.iter().filter(|doc| key(*doc).starts_with(prefix)).collect();
                *docs = kept;
            }
            _ => {
                let below = |doc| key(doc) < prefix;
                let mut docs = self.by_key.between(below, |doc| below(doc) || key(doc).starts_with(prefix));
                docs.sort_unstable();
                admitted.intersect(docs.into_iter().collect());
            }
        }
    }

    fn retain_unexpired(&self, admitted: &mut Admitted, now: i64) {
        let expired = self.expired(now);
        if expired.is_empty() {
            return;
        }
        let expired: RoaringBitmap = expired.into_iter().collect();
        match admitted {
            Admitted::All => *admitted = Admitted::Only(&self.live - &expired),
            Admitted::Only(docs) => *docs -= expired,
        }
    }
}
