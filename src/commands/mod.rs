//! What commands do with the server's own parts inside their process: the other side of [`muster_cli::LocalServer`].

mod audit;
mod doctor;
mod engine;
mod identity;
mod serve;

use std::io::{BufRead, Write, stdin, stdout};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use muster_audit::{LogKeys, Verdict, VerifyOptions, newest_signed};
use muster_backup::Header;
use muster_cli::{
    BackupSetup, CheckedManifest, EngineDescribeArgs, EngineListArgs, EngineRunArgs, EngineSampleArgs,
    EngineWorkerArgs, Finding, KeysCommand, KnownInstance, LocalServer, MissingFiles, OfflineArgs, ServeArgs,
    ServiceAccountsCommand, Settings, SigningCommand, TeamsCommand, UsersCommand,
};
use muster_clinical::{Defect, Knowledge, Problem};
use muster_core::Clock;
use muster_medical::score;
use muster_network::firmware;
use muster_seal::AgeRecipient;
use muster_store::{BackupSource, DataFolder, StoreHandle};
use muster_tasks::engine::{LanguageFiles, Programs, WorkerLimits, run_worker};
use serde_json::{Value, json};

use crate::config::{self, Config, ConfigError, Source};
use crate::{app, backup};

/// The server as commands use it, on the settings that their arguments name.
#[derive(Debug, Clone, Copy)]
pub struct Server;

impl LocalServer for Server {
    fn serve(&self, args: &ServeArgs) -> Result<(), String> {
        serve::run(args)
    }

    fn run_engines(&self, args: EngineWorkerArgs) -> Result<(), String> {
        let EngineWorkerArgs { memory_mib, cpu_seconds, sandbox, workspace, language_table, picture_names } = args;
        let languages = LanguageFiles { table: language_table, names: picture_names };
        let limits = WorkerLimits { memory_mib, cpu_seconds, sandbox: sandbox.parse()?, workspace, languages };
        let programs = Programs { engines: muster_engines::by_number, jobs: crate::pictures::JOBS };
        run_worker(limits, programs, stdin(), stdout()).map_err(|error| error.to_string())
    }

    fn list_engines(&self, args: &EngineListArgs, output: &mut dyn Write) -> Result<(), String> {
        engine::list(args, output)
    }

    fn describe_engine(&self, args: &EngineDescribeArgs, output: &mut dyn Write) -> Result<(), String> {
        engine::describe(args, output)
    }

    fn run_engine(&self, args: &EngineRunArgs, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), String> {
        engine::run(args, input, output)
    }

    fn sample_engine(&self, args: &EngineSampleArgs, output: &mut dyn Write) -> Result<(), String> {
        engine::sample(args, output)
    }

    fn run_offline(&self, args: &OfflineArgs) -> Result<(), String> {
        let (program, arguments) = args.command.split_first().ok_or("name a program")?;
        muster_sandbox::without_network(args.cpu_seconds)?;
        Err(format!("{}: {}", program.display(), Command::new(program).args(arguments).exec()))
    }

    fn diagnose(&self, settings: &Settings) -> Vec<Finding> {
        doctor::diagnose(settings)
    }

    fn verify_audit(&self, settings: &Settings, options: VerifyOptions) -> Result<Verdict, String> {
        audit::verify(&configuration(settings)?, options)
    }

    fn rotate_log_key(&self, settings: &Settings) -> Result<Value, String> {
        audit::rotate_key(&configuration(settings)?)
    }

    fn verify_medical(&self) -> Result<Value, String> {
        let knowledge = Knowledge::load().map_err(|Defect(why)| why)?;
        let base = knowledge.base();
        let problems: Vec<Value> = knowledge
            .verify()
            .into_iter()
            .map(|Problem { check, what }| json!({ "check": check, "what": what }))
            .collect();
        Ok(json!({
            "ruleset": knowledge.ruleset(),
            "protocols": base.protocols.len(),
            "rules": base.rules.len(),
            "scores": score::all().len(),
            "specialties": base.specialties.len(),
            "problems": problems,
        }))
    }

    fn today(&self) -> String {
        Clock::system().now().rfc3339().chars().take(10).collect()
    }

    fn model_folder(&self, settings: &Settings) -> Result<PathBuf, String> {
        Ok(configuration(settings)?.llm.cache)
    }

    fn store_options(&self, settings: &Settings) -> Result<muster_store::Options, String> {
        Ok(app::store_options(&configuration(settings)?))
    }

    fn backup_recipients(&self, settings: &Settings) -> Result<Vec<AgeRecipient>, String> {
        Ok(configuration(settings)?.backup.recipients())
    }

    fn backup_setup(&self, settings: &Settings, folder: &DataFolder) -> Result<BackupSetup, String> {
        let note = newest_signed(|tree, key| folder.get(tree, key)).map_err(|error| error.to_string())?;
        let (config, now) = (configuration(settings)?, Clock::system().now());
        // Made where there are none yet.
        let keys = LogKeys::open(&config.store.path.join("signing"), now).map_err(|error| error.to_string())?.keys;
        let (header, signers) = backup::new_header(&config, &keys, note, now)?;
        Ok(BackupSetup { header, signers })
    }

    fn known_instance(&self, settings: &Settings) -> Result<KnownInstance, String> {
        let config = configuration(settings)?;
        let (name, keys) = backup::known_instance(&config)?;
        Ok(KnownInstance { name, keys })
    }

    fn check_backup(&self, source: &dyn BackupSource, header: &Header) -> Result<Vec<String>, String> {
        backup::check_backup(source, header)
    }

    fn missing_files(&self, settings: &Settings) -> Result<MissingFiles, String> {
        let config = configuration(settings)?;
        let data = &config.store.path;
        let store = app::open_store(&config).map_err(|error| error.to_string())?;
        let handle: StoreHandle = Arc::clone(&store) as _;
        let missing = firmware::missing_images(&handle, &data.join("firmware")).map_err(|error| error.to_string());
        drop(handle);
        store.close();
        let images = missing?.into_iter().map(|artifact| artifact.id).collect();
        Ok(MissingFiles { images, signing_keys: !data.join("signing").join("signing-keys.json").exists() })
    }

    fn firmware_manifest(&self, fields: Value) -> Result<CheckedManifest, String> {
        let manifest: firmware::Manifest = serde_json::from_value(fields).map_err(|error| error.to_string())?;
        manifest.check(u64::MAX, Clock::system().now()).map_err(|error| error.to_string())?;
        let manifest = serde_json::to_value(manifest).map_err(|error| error.to_string())?;
        Ok(CheckedManifest { manifest, typ: firmware::MANIFEST_TYP })
    }

    fn keys(&self, settings: &Settings, command: KeysCommand) -> Result<Value, String> {
        let config = configuration(settings)?;
        actix_rt::System::new().block_on(identity::keys(&config, command))
    }

    fn teams(&self, settings: &Settings, command: TeamsCommand) -> Result<Value, String> {
        let config = configuration(settings)?;
        actix_rt::System::new().block_on(identity::teams(&config, command))
    }

    fn users(&self, settings: &Settings, command: UsersCommand) -> Result<Value, String> {
        let config = configuration(settings)?;
        actix_rt::System::new().block_on(identity::users(&config, command))
    }

    fn service_accounts(&self, settings: &Settings, command: ServiceAccountsCommand) -> Result<Value, String> {
        let config = configuration(settings)?;
        actix_rt::System::new().block_on(identity::service_accounts(&config, command))
    }

    fn signing(&self, settings: &Settings, command: SigningCommand) -> Result<Value, String> {
        let config = configuration(settings)?;
        actix_rt::System::new().block_on(identity::signing(&config, command))
    }
}

/// Reads the settings of a command; `listen` takes the place of `server.listen`.
fn load(settings: &Settings, listen: Option<SocketAddr>) -> Result<(Config, Source), ConfigError> {
    let file = settings.config.clone().or_else(config::default_file);
    config::load(file.as_deref(), config::Flags { listen, data: settings.data.clone() })
}

fn configuration(settings: &Settings) -> Result<Config, String> {
    load(settings, None).map(|(config, _)| config).map_err(|error| error.to_string())
}
