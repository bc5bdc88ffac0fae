//! Migrates records written by older versions of the program while the store opens.
//!
//! `Tree::Meta` contains, under `store/`, the format of the store, and for each tree the schema that all its records
//! have reached. A migration commits in steps, each together with its progress, so that an interrupted one resumes
//! there. A tree that a newer version has begun to write is rejected before anything is changed.

use serde::{Deserialize, Serialize};

use crate::{Batch, Expect, Op, Rec, Record, Scan, Store, StoreError, Tree};

/// Format of the store itself: envelopes, trees, snapshots.
pub const FORMAT: u16 = 1;

const FORMAT_KEY: &[u8] = b"store/format";
const SCHEMA_KEY: &str = "store/schema/";
/// Maximum number of records read and rewritten in one step.
const STEP: usize = 256;
/// A step commits once it has rewritten this many bytes.
const STEP_BYTES: usize = 2 << 20;

/// A migration from one schema to a later one, for every record of a tree.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// The tree to migrate; any but `Meta`, which holds the store's own metadata.
    pub tree: Tree,
    /// Schema version of the records that `apply` accepts.
    pub from: u16,
    /// Schema of the records that `apply` returns; greater than `from`.
    pub to: u16,
    /// Converts a record. It must be pure: it may run twice on the same record.
    pub apply: fn(&Rec) -> Result<Rec, StoreError>,
}

/// Result of migrating a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigratedTree {
    /// The migrated tree.
    pub tree: Tree,
    /// Schema version of its records after the migration.
    pub to: u16,
    /// Number of records rewritten by this run.
    pub records: u64,
}

#[derive(Serialize, Deserialize)]
struct Format {
    format: u16,
}

impl Record for Format {
    const TREE: Tree = Tree::Meta;
    const SCHEMA: u16 = 1;
}

/// Migration progress of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Progress {
    /// Every record has at least this schema.
    schema: u16,
    /// Target schema of a migration in progress, and the key at which its next step starts.
    moving: Option<(u16, Vec<u8>)>,
}

impl Record for Progress {
    const TREE: Tree = Tree::Meta;
    const SCHEMA: u16 = 1;
}

/// Migrates every tree to the newest schema that its migrations reach (1 if it has none).
///
/// # Errors
///
/// - `NewerSchema` if a newer version of the program wrote to this store.
/// - `BadRequest` if a migration is missing or invalid.
pub async fn migrate(store: &dyn Store, migrations: &[Migration]) -> Result<Vec<MigratedTree>, StoreError> {
    if let Some(wrong) = migrations.iter().find(|m| m.to <= m.from || m.tree == Tree::Meta) {
        return Err(StoreError::BadRequest(format!("invalid migration of {}: {wrong:?}", wrong.tree.name())));
    }
    check_format(store).await?;
    let trees = Tree::ALL.into_iter().filter(|tree| *tree != Tree::Meta);
    let mut plans = Vec::new();
    for tree in trees {
        let steps: Vec<_> = migrations.iter().filter(|m| m.tree == tree).copied().collect();
        let known = steps.iter().map(|m| m.to).max().unwrap_or(1);
        let progress = read::<Progress>(store, &schema_key(tree))?.unwrap_or_default();
        let found = progress.moving.as_ref().map_or(progress.schema, |(to, _)| progress.schema.max(*to));
        // All trees are checked before any is changed.
        if found > known {
            return Err(StoreError::NewerSchema { found, known });
        }
        if progress != (Progress { schema: known, moving: None }) {
            plans.push(TreeMigration { tree, steps, known, progress });
        }
    }
    let mut done = Vec::new();
    for plan in plans {
        done.extend(plan.run(store).await?);
    }
    Ok(done)
}

async fn check_format(store: &dyn Store) -> Result<(), StoreError> {
    match read::<Format>(store, FORMAT_KEY)? {
        Some(Format { format }) if format > FORMAT => Err(StoreError::NewerSchema { found: format, known: FORMAT }),
        Some(_) => Ok(()),
        None => store.commit(Batch::put(Tree::Meta, FORMAT_KEY, Format { format: FORMAT }.encode()?)).await,
    }
}

fn read<R: Record>(store: &dyn Store, key: &[u8]) -> Result<Option<R>, StoreError> {
    store.get(Tree::Meta, key)?.map(|rec| R::decode(&rec)).transpose()
}

fn schema_key(tree: Tree) -> Vec<u8> {
    [SCHEMA_KEY, tree.name()].concat().into_bytes()
}

struct TreeMigration {
    tree: Tree,
    steps: Vec<Migration>,
    known: u16,
    progress: Progress,
}

impl TreeMigration {
    async fn run(self, store: &dyn Store) -> Result<Option<MigratedTree>, StoreError> {
        let mut from = match &self.progress.moving {
            Some((to, next)) if *to == self.known => next.clone(),
            _ => Vec::new(),
        };
        let mut records = 0;
        loop {
            let scan = Scan { from: Some(from.clone()), limit: STEP, ..Scan::default() };
            let page = store.scan(self.tree, &scan)?;
            let mut batch = Batch::default();
            let (mut next, mut bytes) = (page.next, 0);
            for (key, rec) in page.items {
                if bytes >= STEP_BYTES {
                    next = Some(key);
                    break;
                }
                if let Some(upgraded) = self.upgrade(&rec)? {
                    bytes += rec.bytes.len() + upgraded.bytes.len();
                    batch = batch.when(self.tree, key.clone(), Expect::Is(rec)).and_put(self.tree, key, upgraded);
                }
            }
            records += batch.ops.len() as u64;
            let progress = match &next {
                Some(next) => Progress { moving: Some((self.known, next.clone())), ..self.progress.clone() },
                None => Progress { schema: self.known, moving: None },
            };
            batch.ops.push(Op::Put { tree: Tree::Meta, key: schema_key(self.tree), rec: progress.encode()? });
            store.commit(batch).await?;
            match next {
                Some(next) => from = next,
                None => break,
            }
        }
        Ok((records > 0).then_some(MigratedTree { tree: self.tree, to: self.known, records }))
    }

    /// Returns the record at the newest schema; `None` if it has that schema already.
    fn upgrade(&self, rec: &Rec) -> Result<Option<Rec>, StoreError> {
        if rec.schema > self.known {
            return Err(StoreError::NewerSchema { found: rec.schema, known: self.known });
        }
        let mut upgraded: Option<Rec> = None;
        loop {
            let now = upgraded.as_ref().unwrap_or(rec);
            if now.schema == self.known {
                return Ok(upgraded);
            }
            let step = self.steps.iter().find(|step| step.from == now.schema).ok_or_else(|| {
                let tree = self.tree.name();
                StoreError::BadRequest(format!("{tree}: no migration from schema {}", now.schema))
            })?;
            let out = (step.apply)(now)?;
            if out.schema != step.to {
                let (tree, found, to) = (self.tree.name(), out.schema, step.to);
                return Err(StoreError::BadRequest(format!(
                    "{tree}: a migration to schema {to} returned schema {found}"
                )));
            }
            upgraded = Some(out);
        }
    }
}
