//! Languages: the 84 that requests may name, which of them a text is in, and names of things in them.
//!
//! Detection reads a published table ([`LanguageTable`]) and corrects it by script and by a rule for Maori ([`detect`]).
//! The dictionary ([`Dictionary`]) translates a whole text that is a name of CLDR.

mod detect;
mod dictionary;
mod file;
mod list;
mod maori;
mod script;
mod table;
#[cfg(test)]
mod tests;

pub use detect::{Detection, RELIABLE, UNDETERMINED, detect, detect_sentences};
pub use dictionary::{Dictionary, DictionaryError, Named};
pub use file::TableFile;
pub use list::{Language, by_code, languages};
pub use script::script_of;
pub use table::{Guess, LanguageTable, TableBytes, TableError};
