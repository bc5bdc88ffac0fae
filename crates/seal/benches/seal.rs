//! Throughput of sealing and opening, beside a copy of the same bytes.

use std::io::{Read, Write, sink};
use std::time::Instant;

use muster_seal::{OpenReader, Passphrase, SealError, SealWriter};

const BYTES: usize = 256 << 20;

fn main() -> Result<(), SealError> {
    let passphrase = Passphrase::new("correct horse battery staple")?;
    let plain = vec![7; BYTES];
    let rate = |begun: Instant| (BYTES >> 20) as f64 / begun.elapsed().as_secs_f64();

    let begun = Instant::now();
    let writer = SealWriter::new(sink(), &passphrase)?;
    let derived = begun.elapsed();
    drop(writer);

    let mut sealed = SealWriter::new(Vec::with_capacity(BYTES + (1 << 20)), &passphrase)?;
    let begun = Instant::now();
    sealed.write_all(&plain).map_err(SealError::Io)?;
    let sealed = sealed.finish()?;
    println!("key derivation {:>8.0} ms", derived.as_secs_f64() * 1e3);
    println!("seal           {:>8.0} MiB/s", rate(begun));

    let mut opened = OpenReader::new(&sealed[..], &passphrase)?;
    let mut piece = vec![0; 256 << 10];
    let begun = Instant::now();
    while opened.read(&mut piece).map_err(SealError::Io)? > 0 {}
    println!("open           {:>8.0} MiB/s", rate(begun));

    let mut copied = Vec::with_capacity(BYTES);
    let begun = Instant::now();
    copied.extend_from_slice(&plain);
    println!("copy           {:>8.0} MiB/s", rate(begun));
    Ok(())
}
