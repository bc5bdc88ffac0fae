//! Figures of the audit log: `cargo bench -p muster-audit -- [ENTRIES [FOLDER]]`. Each figure is measured once in one run;
//! compare those of one run only. The export and the key that verifies it are kept in the folder, if there is one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a benchmark may fail")]

use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_rt::Arbiter;
use muster_audit::{Audit, AuditFilter, AuditOptions, OpenedLog, VerifyOptions, verify_export};
use muster_core::audit::{AuditEntry, OldAuditEntry};
use muster_core::page::PageParams;
use muster_core::supervise::Tree as Supervision;
use muster_core::{Clock, Millis};
use muster_store::{Batch, Durability, Op, Options, Rec, Record, SledStore, StoreHandle, Tree};
use serde_json::json;

const SPAN: Duration = Duration::from_secs(2);

fn entry(number: u64) -> AuditEntry {
    let (actor, action) = (format!("usr_{:026}", number % 5_000), format!("task.{}", number % 40));
    let details = json!({ "name": format!("run {number}"), "priority": "normal", "agent": "code-reviewer" });
    AuditEntry::new(Millis(1_795_000_000_000 + number), &actor, &action, &format!("task_{number:026}"), details)
}

fn old_op(number: u64) -> Op {
    let AuditEntry { id, at, actor, action, resource, details, .. } = entry(number);
    let old = OldAuditEntry { id, at, actor, action, resource, details };
    Op::Put { tree: Tree::Audit, key: old.id.clone().into_bytes(), rec: old.encode().unwrap() }
}

/// Writes per second with that many waiting, each a record and an audit entry.
async fn rate(store: &StoreHandle, waiting: usize, op: fn(u64) -> Op) -> f64 {
    let begun = Instant::now();
    let writers = (0..waiting as u64).map(|writer| {
        let store = Arc::clone(store);
        async move {
            let mut written = 0_u64;
            while begun.elapsed() < SPAN {
                let number = writer << 32 | written;
                let rec = Rec { schema: 1, bytes: vec![7; 200] };
                let mut batch = Batch::put(Tree::Keys, number.to_be_bytes(), rec);
                batch.ops.push(op(number));
                store.commit(batch).await.unwrap();
                written += 1;
            }
            written
        }
    });
    let written: u64 = futures::future::join_all(writers).await.into_iter().sum();
    written as f64 / begun.elapsed().as_secs_f64()
}

async fn writes(folder: &Path) {
    let store: StoreHandle = SledStore::open(Options::new(folder)).unwrap().store;
    for waiting in [1, 20, 200] {
        let (mut before, mut now) = (0.0, 0.0);
        for _ in 0..3 {
            before += rate(&store, waiting, old_op).await / 3.0;
            now += rate(&store, waiting, |number| entry(number).op().unwrap()).await / 3.0;
        }
        println!("{waiting:>4} waiting: put {before:>8.0}/s, append {now:>8.0}/s, ratio {:.2}", now / before);
    }
}

fn percentile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}

async fn started(folder: &Path, store: &StoreHandle, tree: &Supervision) -> Audit {
    let options = AuditOptions {
        data: folder.to_owned(),
        name: Some("muster.example.org".to_owned()),
        accept_rollback: None,
        delay: Duration::from_millis(100),
        copy: None,
        witnesses: Vec::new(),
    };
    let opened = OpenedLog::open(store, &Clock::system(), options, || Ok(Vec::new())).await.unwrap();
    let audit = opened.start(&tree.group("audit"), Arbiter::new().handle(), None);
    audit.up().await;
    audit
}

async fn reads(folder: &Path, entries: u64, kept: &Path) {
    let options = Options { durability: Durability::ProcessEnd, ..Options::new(folder.join("log")) };
    let store: StoreHandle = SledStore::open(options).unwrap().store;
    let begun = Instant::now();
    for start in (0..entries).step_by(2_000) {
        let ops = (start..(start + 2_000).min(entries)).map(|number| entry(number).op().unwrap()).collect();
        store.commit(Batch { ops, ..Batch::default() }).await.unwrap();
    }
    println!("{entries} entries made and appended in {:.1} s", begun.elapsed().as_secs_f64());

    let tree = Supervision::new(Arbiter::current(), Clock::system());
    let begun = Instant::now();
    let audit = started(folder, &store, &tree).await;
    let mut views = audit.views();
    views.wait_for(|view| view.size() >= entries).await.unwrap();
    let each = begun.elapsed().as_secs_f64() * 1e6 / entries as f64;
    println!("follower: {each:.1} us an entry, {:.1} % of a core at 10,000 entries/s", each);
    views.wait_for(|view| view.signed_size() >= entries).await.unwrap();

    let mut times = Vec::new();
    for number in 0..3_000_u64 {
        let seq = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % entries;
        let begun = Instant::now();
        audit.inclusion(seq, Some(entries)).await.unwrap();
        times.push(begun.elapsed());
    }
    let (p50, p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
    println!("proof at {entries}: p50 {p50:?}, p99 {p99:?}");

    let rare = AuditFilter { resource: Some(format!("task_{:026}", entries / 3)), ..AuditFilter::default() };
    let mut times = Vec::new();
    for _ in 0..20 {
        let begun = Instant::now();
        let (mut after, mut found) = (None, 0);
        loop {
            let page = audit.list(rare.clone(), PageParams { limit: 50, after }).await.unwrap();
            found += page.items.len();
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, 1);
        times.push(begun.elapsed());
    }
    println!("rare filter: p50 {:?}, p99 {:?}", percentile(&mut times, 0.5), percentile(&mut times, 0.99));

    let begun = Instant::now();
    let file = kept.join("export.ndjson");
    std::fs::write(kept.join("vkey"), audit.vkeys().unwrap()[0].to_string()).unwrap();
    let mut out = std::io::BufWriter::new(std::fs::File::create(&file).unwrap());
    let mut export = audit.export(0, None).await.unwrap();
    while let Some(piece) = export.next_piece().unwrap() {
        out.write_all(&piece).unwrap();
    }
    out.into_inner().unwrap().sync_all().unwrap();
    println!("export: {:.1} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let options = VerifyOptions { keys: audit.vkeys().unwrap(), ..VerifyOptions::default() };
    let verdict =
        verify_export(BufReader::with_capacity(1 << 20, std::fs::File::open(&file).unwrap()), &options).unwrap();
    println!("verify: {:.1} s, {verdict}", begun.elapsed().as_secs_f64());
    tree.stop().await;
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let entries = arguments.next().map_or(1_000_000, |entries| entries.parse().unwrap());
    let home = tempfile::tempdir().unwrap();
    let kept = arguments.next().map_or_else(|| home.path().to_owned(), PathBuf::from);
    actix_rt::System::new().block_on(async {
        writes(&home.path().join("writes")).await;
        reads(home.path(), entries, &kept).await;
    });
}
