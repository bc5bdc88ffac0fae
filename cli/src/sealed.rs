//! Backup files as they are read: how they are decrypted, and whose signature is accepted.

use std::fs::File;
use std::io::{self, BufReader, Cursor, IsTerminal, Read};
use std::path::{Path, PathBuf};

use muster_backup::{Header, SignatureError, SignedReader, Trust, is_signed};
use muster_seal::{AGE_MAGIC, AgeIdentity, AgeReader, OpenReader, Passphrase, SealError, is_age, is_sealed};
use muster_store::{BackupSource, SNAPSHOT_MAGIC, StoreError};

use crate::prompt::read_password;
use crate::{Environment, block_on};

/// Largest file of identities that is read, in bytes.
const MAX_IDENTITIES: u64 = 1 << 20;

/// The passphrase of a backup.
#[derive(Debug, clap::Args)]
pub(crate) struct PassphraseArgs {
    /// File with the passphrase, for example of `head -c 32 /dev/urandom | base64` [default: MUSTER_BACKUP_PASSPHRASE,
    /// else it is read from the terminal].
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// How a backup is decrypted.
#[derive(Debug, clap::Args)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// File with a private key of age, as `age-keygen -o FILE` writes it, for a backup that is encrypted to recipients.
    /// Can be repeated.
    #[arg(long, value_name = "FILE")]
    identity: Vec<PathBuf>,
    /// Accept a backup of an earlier version, which is not encrypted: its checksums show damage, not changes.
    #[arg(long)]
    unencrypted: bool,
}

impl PassphraseArgs {
    /// Returns the passphrase of a new backup. On a terminal it is asked for twice.
    ///
    /// # Errors
    /// There is none, or it is too short.
    pub(crate) fn of_new_backup(&self, environment: &Environment) -> Result<Passphrase, String> {
        match self.given(environment)? {
            Some(given) => Ok(given),
            None => ask_twice(),
        }
    }

    fn of_backup(&self, environment: &Environment) -> Result<Passphrase, String> {
        self.given(environment)?.map_or_else(|| parse(&ask("passphrase of the backup")?), Ok)
    }

    /// Returns the passphrase of the key file or the environment.
    ///
    /// # Errors
    /// It is too short, or the file cannot be read.
    pub(crate) fn given(&self, environment: &Environment) -> Result<Option<Passphrase>, String> {
        let text = match &self.key_file {
            Some(file) => Some(read_text(file, 1 << 16)?),
            None => environment.backup_passphrase.clone(),
        };
        text.map(|text| parse(&text)).transpose()
    }
}

impl OpenArgs {
    /// Returns a backup in a file, to be read by who `trust` accepts.
    ///
    /// # Errors
    /// It is not encrypted and that is not accepted, nothing to decrypt it with is given, or it cannot be read.
    pub(crate) fn open(&self, file: &Path, trust: Trust, environment: &Environment) -> Result<BackupFile, String> {
        let mut beginning = Vec::new();
        let read = File::open(file).and_then(|file| file.take(AGE_MAGIC.len() as u64).read_to_end(&mut beginning));
        read.map_err(|error| format!("{}: {error}", file.display()))?;
        let lock = if is_sealed(&beginning) {
            Lock::Passphrase(self.passphrase.of_backup(environment)?)
        } else if is_age(&beginning) {
            Lock::Identities(self.identities(file)?)
        } else if self.unencrypted {
            Lock::None
        } else if is_signed(&beginning) || beginning.starts_with(&SNAPSHOT_MAGIC) {
            return Err(format!(
                "{} is not encrypted: whoever could read it has what it contains, and if it is not signed, whoever \
                 could write it could change that, keys and passwords included. If you know that nobody did, add \
                 --unencrypted",
                file.display()
            ));
        } else {
            return Err(format!("{} is not a backup of this program, or is damaged", file.display()));
        };
        Ok(BackupFile { path: file.to_owned(), lock, trust })
    }

    fn identities(&self, file: &Path) -> Result<Vec<AgeIdentity>, String> {
        if self.identity.is_empty() {
            return Err(format!(
                "{} is encrypted to recipients: name the file with the private key of one of them, --identity FILE",
                file.display()
            ));
        }
        let mut identities = Vec::new();
        for file in &self.identity {
            let text = read_text(file, MAX_IDENTITIES)?;
            // The format of `age-keygen`: comments, empty lines, and one identity a line.
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            let before = identities.len();
            for line in lines {
                identities.push(line.parse().map_err(|error: SealError| format!("{}: {error}", file.display()))?);
            }
            if identities.len() == before {
                return Err(format!("{} has no identity: `age-keygen -o FILE` writes one", file.display()));
            }
        }
        Ok(identities)
    }
}

/// Asks for a passphrase on the terminal, twice.
pub(crate) fn ask_twice() -> Result<Passphrase, String> {
    let (first, again) = (ask("passphrase of the backup")?, ask("the same passphrase again")?);
    if first != again {
        return Err("the two passphrases differ: nothing was written".to_owned());
    }
    parse(&first)
}

fn ask(label: &str) -> Result<String, String> {
    if !io::stdin().is_terminal() {
        return Err("backups are encrypted: set MUSTER_BACKUP_PASSPHRASE, or name a file with --key-file".to_owned());
    }
    block_on(read_password(label))
}

fn parse(text: &str) -> Result<Passphrase, String> {
    Passphrase::new(text).map_err(|error| error.to_string())
}

fn read_text(file: &Path, longest: u64) -> Result<String, String> {
    let failed = |error: io::Error| format!("{}: {error}", file.display());
    let mut text = String::new();
    // One byte more than is accepted, so that a longer file is refused instead of cut.
    File::open(file).and_then(|file| file.take(longest + 1).read_to_string(&mut text)).map_err(failed)?;
    if text.len() as u64 > longest {
        return Err(format!("{} is too long", file.display()));
    }
    Ok(text)
}

/// What decrypts a backup.
enum Lock {
    Passphrase(Passphrase),
    Identities(Vec<AgeIdentity>),
    /// It is not encrypted.
    None,
}

/// A backup in a file. Each time it is opened its signature is verified again.
pub(crate) struct BackupFile {
    path: PathBuf,
    lock: Lock,
    trust: Trust,
}

impl BackupFile {
    /// Returns a file that was just written, to be read back.
    pub(crate) fn written(path: &Path, passphrase: Passphrase) -> Self {
        Self { path: path.to_owned(), lock: Lock::Passphrase(passphrase), trust: Trust::Anybody }
    }

    /// Returns the same file, to be read whoever signed it.
    pub(crate) fn by_anybody(self) -> Self {
        Self { trust: Trust::Anybody, ..self }
    }

    /// Returns the header of a signed backup, `None` for one without signature. Nothing of it is verified before the whole
    /// file was read.
    ///
    /// # Errors
    /// The file cannot be decrypted, or its header is not accepted.
    pub(crate) fn header(&self) -> Result<Option<Header>, OpenError> {
        match self.content()? {
            Content::Signed(reader) => Ok(Some(reader.header().clone())),
            Content::Unsigned(_) => Ok(None),
        }
    }

    fn content(&self) -> Result<Content, OpenError> {
        let mut reader = self.decrypted()?;
        let mut beginning = Vec::new();
        reader.by_ref().take(muster_backup::MAGIC.len() as u64).read_to_end(&mut beginning)?;
        let signed = is_signed(&beginning);
        let whole: Box<dyn Read> = Box::new(Cursor::new(beginning).chain(reader));
        match (signed, &self.trust) {
            (true, trust) => Ok(Content::Signed(Box::new(SignedReader::new(whole, trust)?))),
            (false, Trust::Anybody) => Ok(Content::Unsigned(whole)),
            (false, Trust::Keys(_)) => Err(SignatureError::NotSigned.into()),
        }
    }

    fn decrypted(&self) -> Result<Box<dyn Read>, OpenError> {
        let file = BufReader::with_capacity(64 << 10, File::open(&self.path)?);
        Ok(match &self.lock {
            Lock::Passphrase(passphrase) => Box::new(OpenReader::new(file, passphrase)?),
            Lock::Identities(identities) => Box::new(AgeReader::new(file, identities)?),
            Lock::None => Box::new(file),
        })
    }
}

/// Why a backup cannot be opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    Seal(SealError),
    Signature(SignatureError),
    Io(io::Error),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Seal(error) => error.fmt(f),
            Self::Signature(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl From<SealError> for OpenError {
    fn from(error: SealError) -> Self {
        Self::Seal(error)
    }
}

impl From<SignatureError> for OpenError {
    fn from(error: SignatureError) -> Self {
        Self::Signature(error)
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl OpenError {
    /// Returns whether the file was changed or cut.
    fn is_damage(&self) -> bool {
        match self {
            Self::Seal(error) => matches!(error, SealError::Damaged),
            Self::Signature(SignatureError::Io(error)) | Self::Io(error) => error.kind() == io::ErrorKind::InvalidData,
            Self::Signature(error) => matches!(error, SignatureError::Header(_)),
        }
    }
}

/// The decrypted content of a backup.
enum Content {
    Signed(Box<SignedReader<Box<dyn Read>>>),
    /// A backup of an earlier version.
    Unsigned(Box<dyn Read>),
}

impl BackupSource for BackupFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn open(&self) -> Result<Box<dyn Read>, StoreError> {
        match self.content() {
            Ok(Content::Signed(reader)) => Ok(reader),
            Ok(Content::Unsigned(reader)) => Ok(reader),
            Err(error) => {
                let message = format!("{}: {error}", self.path.display());
                Err(if error.is_damage() { StoreError::Corrupt(message) } else { StoreError::Io(message) })
            }
        }
    }
}
