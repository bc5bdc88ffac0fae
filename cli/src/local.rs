//! Interface to the server's parts in this process that commands use.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use muster_audit::{Verdict, VerifyOptions};
use muster_backup::Header;
use muster_seal::AgeRecipient;
use muster_store::{BackupSource, DataFolder};
use muster_tlog::{NoteSigner, VerifierKey};
use serde::Serialize;
use serde_json::Value;

use crate::{
    EngineDescribeArgs, EngineListArgs, EngineRunArgs, EngineSampleArgs, EngineWorkerArgs, Finding, KeysCommand,
    OfflineArgs, ServeArgs, ServiceAccountsCommand, Settings, SigningCommand, TeamsCommand, UsersCommand,
};

/// The server's parts that commands use inside this process. Implemented by the `muster` package.
///
/// Every error is the message for the user.
pub trait LocalServer {
    /// Serves until the process receives a termination signal.
    fn serve(&self, args: &ServeArgs) -> Result<(), String>;

    /// Runs engines for a server over standard input and output.
    fn run_engines(&self, args: EngineWorkerArgs) -> Result<(), String>;

    /// Runs `muster engine list`.
    fn list_engines(&self, args: &EngineListArgs, output: &mut dyn Write) -> Result<(), String>;

    /// Runs `muster engine describe`.
    fn describe_engine(&self, args: &EngineDescribeArgs, output: &mut dyn Write) -> Result<(), String>;

    /// Runs an engine on each line of `input`, and writes a line for each.
    fn run_engine(&self, args: &EngineRunArgs, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), String>;

    /// Writes valid inputs of an engine, one a line.
    fn sample_engine(&self, args: &EngineSampleArgs, output: &mut dyn Write) -> Result<(), String>;

    /// Replaces this process by another program without network; returns only if that fails.
    fn run_offline(&self, args: &OfflineArgs) -> Result<(), String>;

    /// Checks settings, store, model and providers.
    fn diagnose(&self, settings: &Settings) -> Vec<Finding>;

    /// Verifies the audit log of the data folder, and the records against their entries.
    fn verify_audit(&self, settings: &Settings, options: VerifyOptions) -> Result<Verdict, String>;

    /// Announces a further key of the audit log; the answer has its `public_key`, base64.
    fn rotate_log_key(&self, settings: &Settings) -> Result<Value, String>;

    /// Verifies the medical knowledge base of this program: `ruleset`, the numbers of its records, and `problems`.
    fn verify_medical(&self) -> Result<Value, String>;

    /// Returns the present day (UTC), as `2027-01-31`.
    fn today(&self) -> String;

    /// Returns the folder of the embedded models.
    fn model_folder(&self, settings: &Settings) -> Result<PathBuf, String>;

    /// Returns the options to open the store with, which contain the path of the data folder.
    fn store_options(&self, settings: &Settings) -> Result<muster_store::Options, String>;

    /// Returns the recipients in the settings to whom backups are encrypted; none if they have a passphrase.
    fn backup_recipients(&self, settings: &Settings) -> Result<Vec<AgeRecipient>, String>;

    /// Returns header and keys of a backup of the data folder, which nobody else uses meanwhile. Makes the keys of the
    /// audit log if there are none yet.
    fn backup_setup(&self, settings: &Settings, folder: &DataFolder) -> Result<BackupSetup, String>;

    /// Returns the name of this instance and the keys of its audit log, of which there may be none yet.
    fn known_instance(&self, settings: &Settings) -> Result<KnownInstance, String>;

    /// Compares the audit log of a backup with its header, and its records with the log. Returns what contradicts.
    fn check_backup(&self, backup: &dyn BackupSource, header: &Header) -> Result<Vec<String>, String>;

    /// Returns which files the stored records refer to but the data folder lacks.
    fn missing_files(&self, settings: &Settings) -> Result<MissingFiles, String>;

    /// Checks the fields of a firmware manifest as the server does, and returns what is to be signed.
    fn firmware_manifest(&self, fields: Value) -> Result<CheckedManifest, String>;

    /// Runs `muster keys` on the data folder; the answer is that of the server's HTTP API.
    fn keys(&self, settings: &Settings, command: KeysCommand) -> Result<Value, String>;

    /// Runs `muster teams` on the data folder; the answer is that of the server's HTTP API.
    fn teams(&self, settings: &Settings, command: TeamsCommand) -> Result<Value, String>;

    /// Runs `muster users` on the data folder; the answer is that of the server's HTTP API.
    fn users(&self, settings: &Settings, command: UsersCommand) -> Result<Value, String>;

    /// Runs `muster service-accounts` on the data folder; the answer is that of the server's HTTP API.
    fn service_accounts(&self, settings: &Settings, command: ServiceAccountsCommand) -> Result<Value, String>;

    /// Runs `muster signing` on the data folder; the answer is that of the server's HTTP API.
    fn signing(&self, settings: &Settings, command: SigningCommand) -> Result<Value, String>;
}

/// What a backup of a data folder is made with.
#[derive(Debug)]
pub struct BackupSetup {
    /// The header, without the keys.
    pub header: Header,
    /// The keys that sign it.
    pub signers: Vec<NoteSigner>,
}

/// What a data folder knows of its own instance.
#[derive(Debug)]
pub struct KnownInstance {
    /// Name of its audit log; none before its first start.
    pub name: Option<String>,
    /// Keys that signed for it.
    pub keys: Vec<VerifierKey>,
}

/// Files that no backup contains and that are missing in the data folder after a restore.
#[derive(Debug, Serialize)]
pub struct MissingFiles {
    /// Identifiers of artifacts whose image is not in `firmware/`: their jobs cannot start.
    pub images: Vec<String>,
    /// Whether `signing/` has no keys: every access token issued so far is void.
    pub signing_keys: bool,
}

/// A firmware manifest as the server verifies it.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedManifest {
    /// The document.
    pub manifest: Value,
    /// `typ` of the signed document.
    pub typ: &'static str,
}
