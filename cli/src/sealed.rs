//! Encrypted backups: where their passphrase comes from, and how they are read.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use muster_seal::{MAGIC, OpenReader, Passphrase, SealError};
use muster_store::{BackupSource, PlainFile, SNAPSHOT_MAGIC, StoreError};

use crate::prompt::read_password;
use crate::{Environment, block_on};

/// The passphrase of a backup.
#[derive(Debug, clap::Args)]
pub(crate) struct PassphraseArgs {
    /// File with the passphrase, for example of `head -c 32 /dev/urandom | base64` [default: MUSTER_BACKUP_PASSPHRASE,
    /// else it is read from the terminal].
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// What to do with a backup that is not encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plain {
    Refused,
    Accepted,
}

impl PassphraseArgs {
    /// Returns the passphrase of a new backup. On a terminal it is asked for twice.
    ///
    /// # Errors
    /// There is none, or it is too short.
    pub(crate) fn of_new_backup(&self, environment: &Environment) -> Result<Passphrase, String> {
        let given = match self.given(environment)? {
            Some(given) => given,
            None => {
                let (first, again) = (ask("passphrase of the backup")?, ask("the same passphrase again")?);
                if first != again {
                    return Err("the two passphrases differ: nothing was written".to_owned());
                }
                first
            }
        };
        parse(&given)
    }

    fn of_backup(&self, environment: &Environment) -> Result<Passphrase, String> {
        let given = self.given(environment)?.map_or_else(|| ask("passphrase of the backup"), Ok)?;
        parse(&given)
    }

    /// Returns the passphrase of the key file or the environment.
    fn given(&self, environment: &Environment) -> Result<Option<String>, String> {
        match &self.key_file {
            Some(file) => read_key(file).map(Some),
            None => Ok(environment.backup_passphrase.clone()),
        }
    }

    /// Returns a backup in a file, to be read.
    ///
    /// # Errors
    /// It is not encrypted and `plain` refuses that, there is no passphrase, or the file cannot be read.
    pub(crate) fn source(
        &self,
        file: &Path,
        plain: Plain,
        environment: &Environment,
    ) -> Result<Box<dyn BackupSource>, String> {
        let mut beginning = Vec::new();
        let read = File::open(file).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut beginning));
        read.map_err(|error| format!("{}: {error}", file.display()))?;
        if beginning == MAGIC {
            return Ok(Box::new(SealedFile::new(file, self.of_backup(environment)?)));
        }
        match plain {
            Plain::Accepted => Ok(Box::new(PlainFile(file.to_owned()))),
            Plain::Refused if beginning == SNAPSHOT_MAGIC => Err(format!(
                "{} is not encrypted: whoever could write it could change what it contains, keys and passwords \
                 included. If you know that nobody did, add --unencrypted",
                file.display()
            )),
            Plain::Refused => Err(format!("{} is not a backup of this program, or is damaged", file.display())),
        }
    }
}

/// Asks for a passphrase on the terminal.
fn ask(label: &str) -> Result<String, String> {
    if !io::stdin().is_terminal() {
        return Err("backups are encrypted: set MUSTER_BACKUP_PASSPHRASE, or name a file with --key-file".to_owned());
    }
    block_on(read_password(label))
}

fn parse(text: &str) -> Result<Passphrase, String> {
    Passphrase::new(text).map_err(|error| error.to_string())
}

fn read_key(file: &Path) -> Result<String, String> {
    let failed = |error: io::Error| format!("{}: {error}", file.display());
    let mut text = String::new();
    // A little more than the longest passphrase, so that a longer file is refused instead of cut.
    File::open(file).and_then(|file| file.take(1 << 16).read_to_string(&mut text)).map_err(failed)?;
    Ok(text)
}

/// An encrypted backup in a file.
pub(crate) struct SealedFile {
    path: PathBuf,
    passphrase: Passphrase,
}

impl SealedFile {
    pub(crate) fn new(path: &Path, passphrase: Passphrase) -> Self {
        Self { path: path.to_owned(), passphrase }
    }
}

impl BackupSource for SealedFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn open(&self) -> Result<Box<dyn Read>, StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::Io(format!("{}: {error}", self.path.display()));
        let file = File::open(&self.path).map_err(|error| failed(&error))?;
        match OpenReader::new(io::BufReader::with_capacity(64 << 10, file), &self.passphrase) {
            Ok(reader) => Ok(Box::new(reader)),
            Err(error @ SealError::Damaged) => Err(StoreError::Corrupt(format!("{}: {error}", self.path.display()))),
            Err(error) => Err(failed(&error)),
        }
    }
}
