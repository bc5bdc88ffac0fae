//! Writes an export of a made-up audit log, and what belongs to it, into a folder. Programs that other people wrote verify
//! it in `tests/governance`.
//!
//! `audit_export ENTRIES FOLDER` writes `export.ndjson`; `vkey`; `checkpoint`, and `earlier`, that of the first half; the
//! tiles below `tile/`; `proof`, the proof of the entry in the middle; and `proofs.ndjson`, many proofs in the form of the
//! HTTP API.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use muster_tlog::{
    Checkpoint, Edge, Hash, Leaf, LogPath, NoteSigner, Outcome, Salt, SignatureType, TILE_WIDTH, Tile, TileId,
    TileReader, TileTree, TlogProof, commitment, fingerprint,
};
use serde_json::{Value, json};

const ORIGIN: &str = "muster.example.org/audit/1";

struct Stored(BTreeMap<TileId, Tile>);

impl TileReader for Stored {
    type Error = io::Error;

    fn full_tile(&self, tile: TileId) -> io::Result<Tile> {
        self.0.get(&tile).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(entries), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: audit_export ENTRIES FOLDER".into());
    };
    write(entries.parse()?, Path::new(&folder))
}

fn write(entries: u64, folder: &Path) -> Result<(), Box<dyn Error>> {
    let seed: Vec<u8> = (0x20..0x40).collect();
    let signer = NoteSigner::new(ORIGIN, SignatureType::Ed25519, seed.as_slice().try_into()?)?;
    let (mut edge, mut stored) = (Edge::new(), Stored(BTreeMap::new()));
    let mut export = String::new();
    for seq in 0..entries {
        let Stamped { leaf, salt, details } = entry(seq)?;
        let bytes = leaf.to_bytes()?;
        let line = json!({
            "seq": seq,
            "entry": leaf,
            "leaf": std::str::from_utf8(&bytes)?,
            "salt": salt.map(Salt::to_base64url),
            "details": details,
        });
        writeln!(export, "{line}")?;
        stored.0.extend(edge.append(Hash::of_leaf(&bytes))?);
    }
    let tree = TileTree::new(&edge, &stored);
    let checkpoint = |size| -> Result<_, Box<dyn Error>> {
        Ok(Checkpoint::new(ORIGIN.to_owned(), size, tree.root(size)?).sign(&[&signer])?)
    };
    writeln!(export, "{}", json!({"checkpoint": checkpoint(entries)?.to_string()}))?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("export.ndjson"), export)?;
    fs::write(folder.join("vkey"), signer.public().to_string())?;
    fs::write(folder.join("checkpoint"), checkpoint(entries)?.to_string())?;
    fs::write(folder.join("earlier"), checkpoint(entries / 2)?.to_string())?;
    let index = entries / 2;
    let path = tree.inclusion(index, entries)?;
    let proof = TlogProof { extra: None, index, path, checkpoint: checkpoint(entries)? };
    fs::write(folder.join("proof"), proof.to_string())?;
    fs::write(folder.join("proofs.ndjson"), proofs(&tree, entries)?)?;
    for level in 0..8 {
        let hashes = entries >> (8 * u32::from(level));
        for index in 0..hashes.div_ceil(TILE_WIDTH as u64) {
            let tile = TileId { level, index };
            let width = tile.width_at(entries);
            let path = folder.join(LogPath::Tile { tile, width }.to_string());
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, tree.tile(tile, width)?.to_bytes())?;
        }
    }
    Ok(())
}

/// Proofs of inclusion and consistency: all of a small log, else those around powers of two.
fn proofs(tree: &TileTree<'_, Stored>, entries: u64) -> Result<String, Box<dyn Error>> {
    let beside = |n: u64| entries <= 40 || n == entries || n.is_power_of_two() || (n + 1).is_power_of_two();
    let base64 = |path: Vec<Hash>| path.iter().map(Hash::to_string).collect::<Vec<_>>();
    let mut lines = String::new();
    for size in (1..=entries).filter(|size| beside(*size)) {
        for index in (0..size).filter(|index| beside(*index)) {
            let proof = json!({"index": index, "size": size, "path": base64(tree.inclusion(index, size)?)});
            writeln!(lines, "{proof}")?;
        }
        for from in (0..=size).filter(|from| beside(*from)) {
            let proof = json!({"from": from, "to": size, "path": base64(tree.consistency(from, size)?)});
            writeln!(lines, "{proof}")?;
        }
    }
    Ok(lines)
}

/// An entry as it is stored: its leaf, and beside it what can be erased.
struct Stamped {
    leaf: Leaf,
    salt: Option<Salt>,
    details: Option<Value>,
}

/// An entry with details, one with erased details, or one that never had any, in turn.
fn entry(seq: u64) -> Result<Stamped, Box<dyn Error>> {
    let mut leaf = Leaf::new(
        format!("aud_{seq:026}"),
        format!("2026-11-26T02:{:02}:{:02}Z", seq / 60 % 60, seq % 60),
        format!("usr_{:026}", seq % 7),
        "key.grant".to_owned(),
        format!("key-{seq}"),
        if seq.is_multiple_of(5) { Outcome::Refused } else { Outcome::Ok },
    );
    if seq % 3 == 2 {
        leaf.via = Some("cli".to_owned());
        return Ok(Stamped { leaf, salt: None, details: None });
    }
    let name = format!("Ключ \u{1f511} {seq}");
    let details = json!({"name": name, "usd": seq as f64 / 8.0, "\u{fb33}": [], "\u{1f600}": null});
    let salt = Salt::new([seq.to_le_bytes(), (seq * 31).to_be_bytes()].concat().as_slice().try_into()?);
    leaf.details = Some(commitment(salt, &details)?);
    leaf.after = Some(fingerprint(&json!({"scopes": ["admin"]}))?);
    let erased = seq % 3 == 1;
    Ok(Stamped { leaf, salt: (!erased).then_some(salt), details: (!erased).then_some(details) })
}
