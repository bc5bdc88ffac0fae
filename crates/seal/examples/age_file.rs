//! Encrypts standard input to recipients, or decrypts it with an identity, in the format age v1. Programs that other people
//! wrote read its files and write files for it in `tests/governance`.
//!
//! `age_file encrypt RECIPIENT...`, `age_file decrypt IDENTITY`

use std::error::Error;
use std::io;

use muster_seal::{AgeReader, AgeRecipient, AgeWriter};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((mode, recipients)) if mode == "encrypt" => {
            let recipients: Result<Vec<AgeRecipient>, _> = recipients.iter().map(|text| text.parse()).collect();
            let mut writer = AgeWriter::new(io::stdout().lock(), &recipients?)?;
            io::copy(&mut io::stdin().lock(), &mut writer)?;
            io::Write::flush(&mut writer.finish()?)?;
        }
        Some((mode, [identity])) if mode == "decrypt" => {
            let mut reader = AgeReader::new(io::stdin().lock(), &[identity.parse()?])?;
            io::copy(&mut reader, &mut io::stdout().lock())?;
        }
        _ => return Err("usage: age_file encrypt RECIPIENT... | age_file decrypt IDENTITY".into()),
    }
    Ok(())
}
