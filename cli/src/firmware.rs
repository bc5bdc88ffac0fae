//! `muster firmware`: keys that sign firmware, and signed manifests of images. Works on files only, so that a key can stay
//! on a machine that reaches no server.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use muster_auth::{PrivateKey, manifest};
use muster_core::Millis;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{LocalServer, fail};

#[derive(Debug, clap::Args)]
pub(super) struct FirmwareArgs {
    #[command(subcommand)]
    command: FirmwareCommand,
}

#[derive(Debug, Subcommand)]
enum FirmwareCommand {
    /// Generate a key that signs firmware, and print its public half.
    ///
    /// The private key is written as a JWK that only its owner can read. The output is the body of `POST
    /// /api/v1/firmware/keys`, by which a super_admin makes the server trust the key.
    #[command(
        after_help = "Example:\n  muster firmware keygen --key release.jwk --name \"release 2026\" > public.json"
    )]
    Keygen {
        /// File of the new private key; an existing file is never replaced.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Name of the key on the server.
        #[arg(long, default_value = "release")]
        name: String,
    },
    /// Sign the manifest of an image.
    ///
    /// Prints JSON with two members: `artifact`, the body of `POST /api/v1/firmware/artifacts`, and `manifest_jws`, which
    /// `POST /api/v1/firmware/artifacts/{id}/verify` takes once the image is uploaded.
    #[command(after_help = SIGN)]
    Sign(Box<SignArgs>),
}

const SIGN: &str = "Examples:
  muster firmware sign siren.img --key release.jwk --name siren --version 2.0.0 --sequence 2 --vendor acme \\
    --hw-class siren-2 > signed.json
  jq .artifact signed.json      # for POST /api/v1/firmware/artifacts
  jq '{manifest_jws}' signed.json   # for POST /api/v1/firmware/artifacts/{id}/verify";

#[derive(Debug, clap::Args)]
struct SignArgs {
    /// The image.
    image: PathBuf,
    /// File of the private key, from `muster firmware keygen`.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Name of the firmware.
    #[arg(long)]
    name: String,
    /// Semantic version, such as 2.4.1.
    #[arg(long)]
    version: String,
    /// Anti-rollback sequence number, higher than that of every earlier release of the hardware class.
    #[arg(long)]
    sequence: u64,
    /// Manufacturer of the hardware.
    #[arg(long)]
    vendor: String,
    /// Hardware class.
    #[arg(long)]
    hw_class: String,
    /// Hardware revision that the image is for; repeat for several [default: all].
    #[arg(long = "hw-revision", value_name = "REVISION")]
    hw_revisions: Vec<String>,
    /// Payload format: raw, swu, raucb, mender, delta, tar or config.
    #[arg(long, default_value = "raw")]
    format: String,
    /// Time after which the image is not installed any more, RFC 3339.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    expires: Option<Millis>,
    /// Least sequence number that a device must run to be updated.
    #[arg(long, value_name = "SEQUENCE")]
    min_current_sequence: Option<u64>,
}

fn parse_time(text: &str) -> Result<Millis, String> {
    Millis::parse_rfc3339(text).ok_or_else(|| "must be an RFC 3339 time, such as 2027-01-01T00:00:00Z".to_owned())
}

pub(super) fn run(args: FirmwareArgs, server: &impl LocalServer) -> ExitCode {
    let result = match args.command {
        FirmwareCommand::Keygen { key, name } => keygen(&key, &name),
        FirmwareCommand::Sign(args) => sign(&args, server),
    };
    match result {
        Ok(response) => println!("{response:#}"),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

fn keygen(path: &Path, name: &str) -> Result<Value, String> {
    let key = PrivateKey::generate().map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            format!("{} exists: a key is never replaced, so name another file", path.display())
        }
        _ => format!("{}: {error}", path.display()),
    };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    let text = key.to_jwk().expose().to_string();
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(json!({ "name": name, "public_key": key.public().to_jwk() }))
}

fn sign(args: &SignArgs, server: &impl LocalServer) -> Result<Value, String> {
    let key = read_key(&args.key)?;
    let (size, sha256) = digest(&args.image).map_err(|error| format!("{}: {error}", args.image.display()))?;
    let fields = json!({
        "name": args.name, "version": args.version, "sequence": args.sequence, "vendor": args.vendor,
        "hw_class": args.hw_class, "hw_revisions": args.hw_revisions, "size": size, "sha256": sha256,
        "format": args.format, "expires_at": args.expires, "min_current_sequence": args.min_current_sequence,
    });
    let checked = server.firmware_manifest(fields)?;
    let jws = manifest::sign(&key, checked.typ, checked.manifest.to_string().as_bytes())
        .map_err(|error| error.to_string())?;
    Ok(json!({ "artifact": checked.manifest, "manifest_jws": jws, "kid": key.public().thumbprint() }))
}

/// Reads a private key, which nobody but its owner may read.
fn read_key(path: &Path) -> Result<PrivateKey, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(|error| failed(&error))?;
    let mode = file.metadata().map_err(|error| failed(&error))?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(format!("{0} can be read by others (mode {mode:o}): run `chmod 600 {0}`", path.display()));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| failed(&error))?;
    let jwk: Value = serde_json::from_str(&text).map_err(|_| failed(&"is not a JWK: see `muster firmware keygen`"))?;
    PrivateKey::from_jwk(&jwk).map_err(|error| failed(&error))
}

/// Returns the size and the SHA-256 of a file.
fn digest(path: &Path) -> std::io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let size = std::io::copy(&mut file, &mut HashWriter(&mut hash))?;
    let hex = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((size, hex))
}

/// Writes to a hash.
struct HashWriter<'a>(&'a mut Sha256);

impl Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
