//! Data of languages that engines read: opened by the process before it is restricted, read when an engine needs it.

use std::fs::File;
use std::sync::OnceLock;

use muster_media::languages::{Dictionary, LanguageTable, TableBytes, TableFile};

use crate::Failure;

/// Ids of the data in `muster models pull`.
const TABLE: &str = "languages";
const NAMES: &str = "names";
/// Bytes of the largest file of names that is read.
const MOST_NAMES: u64 = 32 << 20;

/// The table of language detection, and the names of things in many languages.
#[derive(Default)]
pub struct LanguageData {
    table: Option<Result<LanguageTable, String>>,
    names: Option<TableFile>,
    dictionary: OnceLock<Result<Dictionary, String>>,
}

impl std::fmt::Debug for LanguageData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LanguageData").field("table", &self.table).field("names", &self.names).finish_non_exhaustive()
    }
}

impl LanguageData {
    /// Opens the data in these files; `None` for one that was not fetched. The table is read in place, the names at their
    /// first use.
    pub fn of_files(table: Option<File>, names: Option<File>) -> Self {
        let open = |file: File| {
            let file = TableFile::new(file).map_err(|error| error.to_string())?;
            LanguageTable::open(file).map_err(|error| error.to_string())
        };
        Self {
            table: table.map(open),
            names: names.and_then(|file| TableFile::new(file).ok()),
            dictionary: OnceLock::new(),
        }
    }

    /// Returns the table of language detection.
    ///
    /// # Errors
    /// `NoModel` if it is absent or damaged.
    pub fn table(&self) -> Result<&LanguageTable, Failure> {
        match &self.table {
            None => Err(no_model(TABLE, "the language table is absent")),
            Some(Err(why)) => Err(no_model(TABLE, why)),
            Some(Ok(table)) => Ok(table),
        }
    }

    /// Returns the names of things.
    ///
    /// # Errors
    /// `NoModel` if they are absent or damaged.
    pub fn dictionary(&self) -> Result<&Dictionary, Failure> {
        let Some(file) = &self.names else { return Err(no_model(NAMES, "the file of names is absent")) };
        self.dictionary.get_or_init(|| read(file)).as_ref().map_err(|why| no_model(NAMES, why))
    }
}

fn read(file: &TableFile) -> Result<Dictionary, String> {
    let length =
        Some(file.length()).filter(|length| *length <= MOST_NAMES).and_then(|length| usize::try_from(length).ok());
    let mut bytes = vec![0; length.ok_or("the file of names is too large")?];
    file.read_at(0, &mut bytes).ok_or("the file of names cannot be read")?;
    Dictionary::parse(&bytes).map_err(|error| error.to_string())
}

fn no_model(id: &str, why: &str) -> Failure {
    Failure::NoModel { id: id.to_owned(), why: why.to_owned() }
}
