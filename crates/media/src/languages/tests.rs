mod accuracy;
mod dictionary;
mod parity;
mod tables;

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use super::LanguageTable;

/// Returns a file of the models' cache; `None`, after a line that names what is skipped, if it was not fetched.
fn cached(file: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models-cache").join(file);
    let bytes = fs::read(&path).ok();
    if bytes.is_none() {
        println!("skipped: {} was not fetched (muster models pull)", path.display());
    }
    bytes
}

fn table() -> Option<&'static LanguageTable> {
    static TABLE: LazyLock<Option<LanguageTable>> =
        LazyLock::new(|| cached("languages.bin").map(|bytes| LanguageTable::open(bytes).unwrap()));
    TABLE.as_ref()
}
