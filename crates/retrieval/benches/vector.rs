//! Recall and cost of vector search: `cargo bench -p muster-retrieval --bench vector`, one thread.
//!
//! Synthetic data: 1,000 clusters around random centres in 384 dimensions, each spread over 30 directions of its own,
//! with a little noise in all (so that the intrinsic dimension is about that of sentence embeddings); queries are
//! further draws. Sizes are arguments (`-- 1000000`); the default is 10,000 to 100,000. `MUSTER_BENCH_VECTORS` names a
//! file of f32 vectors (little-endian, 384 numbers each) to draw from instead, mixed pairwise to get enough.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use muster_retrieval::{DocNo, Filter, InvalidVector, VectorIndex, VectorOptions};
use roaring::RoaringBitmap;

const DIMENSIONS: usize = 384;
const CLUSTERS: usize = 1000;
const SPREAD: usize = 30;
const QUERIES: usize = 300;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }

    /// Approximately normal: the sum of twelve uniform numbers minus six.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| (self.next() >> 40) as f32 / (1_u32 << 24) as f32).sum::<f32>() - 6.0
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| self.normal()).collect()
    }
}

enum Source {
    Clusters { centres: Vec<Vec<f32>>, directions: Vec<Vec<f32>> },
    Real(Vec<Vec<f32>>),
}

impl Source {
    fn new(random: &mut Random) -> io::Result<Self> {
        if let Ok(path) = std::env::var("MUSTER_BENCH_VECTORS") {
            let bytes = std::fs::read(path)?;
            let (numbers, _) = bytes.as_chunks::<4>();
            let numbers: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
            return Ok(Self::Real(numbers.chunks_exact(DIMENSIONS).map(unit).collect()));
        }
        let centres = (0..CLUSTERS).map(|_| unit(&random.vector())).collect();
        let directions = (0..16 * SPREAD).map(|_| unit(&random.vector())).collect();
        Ok(Self::Clusters { centres, directions })
    }

    fn draw(&self, random: &mut Random) -> Vec<f32> {
        match self {
            Self::Clusters { centres, directions } => {
                let cluster = random.below(centres.len());
                let mut vector = centres.get(cluster).cloned().unwrap_or_default();
                for direction in directions.iter().skip(cluster % 16 * SPREAD).take(SPREAD) {
                    add(&mut vector, direction, 0.18 * random.normal());
                }
                vector.iter_mut().for_each(|x| *x += 0.01 * random.normal());
                unit(&vector)
            }
            Self::Real(vectors) => {
                let mut any = || vectors.get(random.below(vectors.len())).cloned().unwrap_or_default();
                let (mut vector, other) = (any(), any());
                add(&mut vector, &other, 0.5);
                vector.iter_mut().for_each(|x| *x += 0.01 * random.normal());
                unit(&vector)
            }
        }
    }
}

fn add(sum: &mut [f32], other: &[f32], weight: f32) {
    sum.iter_mut().zip(other).for_each(|(sum, x)| *sum += weight * x);
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / norm).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 16];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += a * b);
    }
    lanes.iter().sum()
}

/// The ten nearest by f32 arithmetic.
fn truth(vectors: &[Vec<f32>], queries: &[Vec<f32>]) -> Vec<Vec<u32>> {
    let nearest = |query: &Vec<f32>| {
        let mut scored: Vec<(f32, u32)> =
            vectors.iter().zip(0_u32..).map(|(vector, doc)| (dot(query, vector), doc)).collect();
        scored.select_nth_unstable_by(10, |a, b| b.0.total_cmp(&a.0));
        scored.into_iter().take(10).map(|(_, doc)| doc).collect()
    };
    queries.iter().map(nearest).collect()
}

type Timed = (Duration, Vec<(DocNo, f32)>);

/// Searches and reports recall and time: p50, p99, and p99 of the best of three tries, which excludes time taken by
/// other programs.
fn measure(what: &str, index: &VectorIndex, queries: &[Vec<f32>], filter: Filter<'_>, truth: &[Vec<u32>]) {
    let timed = |query: &Vec<f32>| {
        let begun = Instant::now();
        let found = black_box(index.search(query, filter, 10));
        (begun.elapsed(), found)
    };
    let first: Vec<Timed> = queries.iter().map(timed).collect();
    let again = |(query, (time, _)): (&Vec<f32>, &Timed)| timed(query).0.min(timed(query).0).min(*time);
    let best = sorted(queries.iter().zip(&first).map(again));
    let times = sorted(first.iter().map(|(time, _)| *time));
    let hits =
        |(truth, (_, found)): (&Vec<u32>, &Timed)| found.iter().filter(|(doc, _)| truth.contains(&doc.0)).count();
    let hits: usize = truth.iter().zip(&first).map(hits).sum();
    let recall = hits as f64 / (10 * queries.len()) as f64;
    let [p50, p99, undisturbed] = [at(&times, 50), at(&times, 99), at(&best, 99)].map(ms);
    println!("  {what:<32} p50 {p50:>9} p99 {p99:>9} ({undisturbed:>9})  recall@10 {recall:.4}");
}

fn sorted(times: impl Iterator<Item = Duration>) -> Vec<Duration> {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times
}

fn at(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default()
}

fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

fn fill(vectors: &[Vec<f32>], options: VectorOptions) -> Result<VectorIndex, InvalidVector> {
    let mut index = VectorIndex::with(options);
    let begun = Instant::now();
    for (vector, doc) in vectors.iter().zip(0..) {
        index.insert(DocNo(doc), vector)?;
    }
    println!("  inserted: {:.0} a second", vectors.len() as f64 / begun.elapsed().as_secs_f64());
    Ok(index)
}

/// CPU seconds of this process, if the system reports them: the cost of building independent of other programs.
fn processor() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut ticks = stat.rsplit(')').next()?.split_whitespace().skip(11).map_while(|field| field.parse::<f64>().ok());
    Some((ticks.next()? + ticks.next()?) / 100.0)
}

fn build(index: &mut VectorIndex) {
    let (begun, waiting, used) = (Instant::now(), index.len(), processor());
    let mut longest = Duration::ZERO;
    loop {
        let slice = Instant::now();
        let left = index.work(64);
        longest = longest.max(slice.elapsed());
        if left == 0 {
            break;
        }
    }
    let rate = waiting as f64 / begun.elapsed().as_secs_f64();
    let used = processor().zip(used).map_or(0.0, |(now, before)| now - before);
    let own = waiting as f64 / used;
    println!("  graph: {rate:.0} a second, {own:.0} a second of the processor, longest slice of 64 {}", ms(longest));
}

fn filters(what: &str, index: &VectorIndex, vectors: &[Vec<f32>], queries: &[Vec<f32>]) {
    for one_in in [2, 10, 100] {
        let docs: RoaringBitmap = (0..vectors.len() as u32)
            .filter(|doc| doc.wrapping_mul(2_654_435_761) >> 8 & 0xffff < 65_536 / one_in)
            .collect();
        let kept: Vec<Vec<f32>> = docs.iter().filter_map(|doc| vectors.get(doc as usize).cloned()).collect();
        let numbers: Vec<u32> = docs.iter().collect();
        let few = queries.get(..100).unwrap_or(queries);
        let truth: Vec<Vec<u32>> = truth(&kept, few)
            .into_iter()
            .map(|nearest| nearest.into_iter().filter_map(|at| numbers.get(at as usize).copied()).collect())
            .collect();
        measure(&format!("{what}, filter keeps 1 in {one_in}"), index, few, Filter::Only(&docs), &truth);
    }
}

fn stored(index: &VectorIndex) -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let clone = index.clone();
    let cloned = begun.elapsed();
    let mut bytes = Vec::new();
    let begun = Instant::now();
    clone.encode(&mut bytes)?;
    bytes.flush()?;
    let encoded = begun.elapsed();
    let begun = Instant::now();
    let back = VectorIndex::decode(&mut bytes.as_slice())?;
    let decoded = begun.elapsed();
    println!(
        "  {} bytes an entry; cloned in {}, encoded in {} to {} MB, decoded in {}",
        index.bytes() / index.len().max(1),
        ms(cloned),
        ms(encoded),
        bytes.len() >> 20,
        ms(decoded),
    );
    black_box(back);
    Ok(())
}

/// Replaces half of the vectors, a tenth at a time, while the graph is maintained, and measures recall again.
fn churn(
    index: &mut VectorIndex,
    vectors: &mut [Vec<f32>],
    source: &Source,
    random: &mut Random,
) -> Result<(), InvalidVector> {
    let begun = Instant::now();
    let tenth = vectors.len() / 10;
    for _ in 0..5 {
        for _ in 0..tenth {
            let doc = random.below(vectors.len());
            let vector = source.draw(random);
            index.insert(DocNo(doc as u32), &vector)?;
            if let Some(place) = vectors.get_mut(doc) {
                *place = vector;
            }
        }
        while index.work(1024) > 0 {}
    }
    println!("  half replaced: {:.0} a second", 5.0 * tenth as f64 / begun.elapsed().as_secs_f64());
    Ok(())
}

fn size(count: usize, source: &Source, random: &mut Random) -> Result<(), Box<dyn std::error::Error>> {
    println!("{count} vectors");
    let mut vectors: Vec<Vec<f32>> = (0..count).map(|_| source.draw(random)).collect();
    let queries: Vec<Vec<f32>> = (0..QUERIES).map(|_| source.draw(random)).collect();
    let nearest = truth(&vectors, &queries);
    let mut index = fill(&vectors, VectorOptions { exact_below: count.min(5000), ..VectorOptions::new(DIMENSIONS) })?;
    measure("scan", &index, &queries, Filter::All, &nearest);
    filters("scan", &index, &vectors, &queries);
    build(&mut index);
    measure("graph", &index, &queries, Filter::All, &nearest);
    filters("graph", &index, &vectors, &queries);
    stored(&index)?;
    if count <= 200_000 {
        churn(&mut index, &mut vectors, source, random)?;
        measure("graph, half replaced", &index, &queries, Filter::All, &truth(&vectors, &queries));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = Random(1);
    let source = Source::new(&mut random)?;
    let sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    for count in if sizes.is_empty() { vec![10_000, 50_000, 100_000] } else { sizes } {
        size(count, &source, &mut random)?;
    }
    Ok(())
}
