//! Cost of storing and finding by words: `cargo bench -p muster-retrieval --bench text` (`-- 100000` for that number of
//! entries). Synthetic entries of about 20 words of a Zipf vocabulary, fixed seeds, one thread; times are CPU times of
//! the thread, so that other load does not count.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use muster_retrieval::{
    DocNo, Filter, Language, Resolved, StopWords, TextIndex, TextOptions, TextQuery, analyze, detect, highlights,
};
use roaring::RoaringBitmap;
use rustix::time::{ClockId, clock_gettime};

/// A point in time on the thread's CPU clock.
#[derive(Clone, Copy)]
struct Instant(Duration);

impl Instant {
    fn now() -> Self {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        let part = |value: i64| u64::try_from(value).unwrap_or_default();
        Self(Duration::from_secs(part(now.tv_sec)) + Duration::from_nanos(part(now.tv_nsec)))
    }

    fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or_default();
        f64::from(high) / (f64::from(u32::MAX) + 1.0)
    }

    fn below(&mut self, limit: u32) -> u32 {
        (self.unit() * f64::from(limit)) as u32
    }
}

/// Words with the frequency 1 / (n + 2) of the nth, approximately English (Zipf, Mandelbrot).
struct Vocabulary {
    words: Vec<String>,
    up_to: Vec<f64>,
}

impl Vocabulary {
    fn new(size: u32) -> Self {
        let mut total = 0.0;
        let up_to = (0..size).map(|rank| {
            total += 1.0 / (f64::from(rank) + 2.0);
            total
        });
        let up_to: Vec<f64> = up_to.collect();
        Self { words: (0..size).map(word).collect(), up_to }
    }

    fn pick(&self, random: &mut Random) -> &str {
        let at = random.unit() * self.up_to.last().copied().unwrap_or_default();
        self.words.get(self.up_to.partition_point(|up_to| *up_to < at)).map_or("", String::as_str)
    }

    /// Without the most frequent words, which are stop words in a language.
    fn question(&self, random: &mut Random, words: u32) -> String {
        let commonest = self.words.get(..100).unwrap_or_default();
        let mut picked =
            std::iter::repeat_with(|| self.pick(random)).filter(|word| !commonest.iter().any(|c| c == word));
        picked.by_ref().take(words as usize).collect::<Vec<_>>().join(" ")
    }

    fn text(&self, random: &mut Random, words: u32) -> String {
        (0..words).map(|_| self.pick(random)).collect::<Vec<_>>().join(" ")
    }
}

/// Syllables by the digits of a number: pronounceable, with lengths as in English.
fn word(mut number: u32) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "ko", "ri", "lem", "tu", "sa", "nor", "di", "ve", "mo", "pal", "gu", "fi", "ran", "che", "lo"];
    let mut word = String::new();
    loop {
        word.push_str(SYLLABLES.get(number as usize % 16).unwrap_or(&""));
        number /= 16;
        if number == 0 {
            return word;
        }
    }
}

fn entry(vocabulary: &Vocabulary, random: &mut Random) -> String {
    let words = 10 + random.below(21);
    vocabulary.text(random, words)
}

fn fill(vocabulary: &Vocabulary, entries: u32) -> TextIndex {
    let mut random = Random(7);
    let texts: Vec<String> = (0..entries).map(|_| entry(vocabulary, &mut random)).collect();
    let mut index = TextIndex::new(TextOptions::default());
    let begun = Instant::now();
    let mut analysing = Duration::ZERO;
    for (doc, text) in (0..).zip(&texts) {
        let started = Instant::now();
        let terms = analyze(&[text], Language::English);
        analysing += started.elapsed();
        index.insert(DocNo(doc), &terms);
    }
    let (all, per) = (begun.elapsed().as_secs_f64(), f64::from(entries));
    println!("\n{entries} entries, {} terms, {:.0} bytes each", index.terms(), float(index.bytes()) / per);
    println!("  insert {:>9.0} /s, of which analysis {:.0} %", per / all, 100.0 * analysing.as_secs_f64() / all);
    index
}

fn float(number: usize) -> f64 {
    number as f64
}

/// Times in ms: median, 99th percentile, maximum.
fn spread(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |hundredths: usize| times.get((times.len() * hundredths / 100).min(times.len() - 1));
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    println!("  {what:<50} p50 {:>8.3}  p99 {:>8.3}  max {:>8.3} ms", ms(at(50)), ms(at(99)), ms(times.last()));
}

fn search(index: &TextIndex, what: &str, queries: &[TextQuery], filter: Filter<'_>) {
    let one = |query: &TextQuery| {
        let begun = Instant::now();
        let resolved: Resolved<'_> = index.resolve(query);
        black_box(index.search(&resolved, resolved.statistics(), filter, 100));
        begun.elapsed()
    };
    spread(what, queries.iter().map(one).collect());
}

fn searches(index: &TextIndex, vocabulary: &Vocabulary, entries: u32) {
    let mut random = Random(11);
    let query = |text: &str| TextQuery::new(text, index.languages(), StopWords::Dropped);
    let drawn: Vec<TextQuery> = (0..1_000).map(|nth| query(&vocabulary.text(&mut random, 3 + nth % 8))).collect();
    let common = |nth: usize| vocabulary.words.iter().skip(nth % 4).take(6).map(String::as_str).collect::<Vec<_>>();
    let frequent: Vec<TextQuery> = (0..200).map(|nth| query(&common(nth).join(" "))).collect();
    let rare = |random: &mut Random| {
        query(&format!("{} {}", word(500 + random.below(9_000)), word(500 + random.below(9_000))))
    };
    let rare: Vec<TextQuery> = (0..1_000).map(|_| rare(&mut random)).collect();
    let questions: Vec<TextQuery> =
        (0..1_000).map(|nth| query(&vocabulary.question(&mut random, 2 + nth % 6))).collect();
    search(index, "100 best, 2 to 7 words without the 100 commonest", &questions, Filter::All);
    search(index, "100 best, 3 to 10 words as in entries", &drawn, Filter::All);
    search(index, "100 best, the 6 commonest words", &frequent, Filter::All);
    search(index, "100 best, 2 rare words", &rare, Filter::All);
    for every in [2, 20, 1_000] {
        let some: RoaringBitmap = (0..entries).filter(|_| random.below(every) == 0).collect();
        search(index, &format!("  one of {every} admitted"), &questions, Filter::Only(&some));
    }
}

fn upkeep(index: &TextIndex, vocabulary: &Vocabulary, entries: u32) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let mut copy = index.clone();
    println!("  clone {:.2} ms", begun.elapsed().as_secs_f64() * 1e3);
    let mut random = Random(13);
    let mut replace = || {
        let terms = analyze(&[&entry(vocabulary, &mut random)], Language::English);
        let begun = Instant::now();
        copy.insert(DocNo(random.below(entries)), &terms);
        begun.elapsed()
    };
    spread("replace one, the first 200 after a clone", (0..200).map(|_| replace()).collect());
    spread("replace one", (0..5_000).map(|_| replace()).collect());
    let begun = Instant::now();
    let mut bytes = Vec::new();
    index.encode(&mut bytes)?;
    let encoded = begun.elapsed();
    let begun = Instant::now();
    let read = TextIndex::decode(&mut bytes.as_slice())?;
    let (took, each) = (begun.elapsed(), float(bytes.len()) / f64::from(entries));
    println!("  encode {encoded:.0?}, decode {took:.0?} of {} entries, {each:.0} bytes each", read.len());
    Ok(())
}

fn threads(index: &mut TextIndex, vocabulary: &Vocabulary, entries: u32) {
    let begun = Instant::now();
    for doc in (1..entries).filter(|doc| doc % 20 != 0) {
        index.link(DocNo(doc), Some(DocNo(doc - 1)), None);
    }
    println!("  all in threads of 20: link {:.2} µs", begun.elapsed().as_secs_f64() * 1e6 / f64::from(entries));
    searches(index, vocabulary, entries);
}

fn texts() {
    let value =
        "Field team Bravo reports the pump station at Elm Street is flooded and asks for sandbags. ".repeat(2_900);
    let begun = Instant::now();
    black_box(analyze(&[&value], Language::English));
    println!("analyse {} KiB: {:.1} ms", value.len() / 1024, begun.elapsed().as_secs_f64() * 1e3);
    let query = TextQuery::new("flooded pump stations", muster_retrieval::Languages::default(), StopWords::Dropped);
    let begun = Instant::now();
    black_box(highlights(&value, &query, Language::English));
    println!("highlight {} KiB: {:.1} ms", value.len() / 1024, begun.elapsed().as_secs_f64() * 1e3);
    for text in
        ["Field team Bravo reports the pump station is flooded.", "Die Pumpe an der Ulmenstraße steht unter Wasser."]
    {
        let begun = Instant::now();
        for _ in 0..1_000 {
            black_box(detect(text, Language::English));
        }
        println!("detect {text:?}: {:.1} µs", begun.elapsed().as_secs_f64() * 1e3);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    texts();
    let vocabulary = Vocabulary::new(300_000);
    let sizes: Vec<u32> = std::env::args().filter_map(|number| number.parse().ok()).collect();
    for entries in if sizes.is_empty() { vec![10_000, 100_000, 1_000_000] } else { sizes } {
        let mut index = fill(&vocabulary, entries);
        searches(&index, &vocabulary, entries);
        upkeep(&index, &vocabulary, entries)?;
        threads(&mut index, &vocabulary, entries);
    }
    Ok(())
}
