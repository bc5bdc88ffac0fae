//! Mutations of inputs: bytes, numbers, words of the language, repetition, and parts of other inputs.

/// Largest input that is made.
const LARGEST: usize = 16 << 10;

const NUMBERS: [&str; 22] = [
    "0",
    "-0",
    "1",
    "-1",
    "0.1",
    "1e308",
    "-1e308",
    "1e-320",
    "1e400",
    "127",
    "128",
    "255",
    "256",
    "65535",
    "65536",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551616",
    "90",
    "180",
];

/// SplitMix64.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `most` - 1; 0 if `most` is 0.
    pub fn below(&mut self, most: usize) -> usize {
        (self.next() % (most.max(1) as u64)) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

pub struct Mutator<'a> {
    words: &'a [&'a str],
    random: Random,
}

impl<'a> Mutator<'a> {
    pub fn new(words: &'a [&'a str], random: Random) -> Self {
        Self { words, random }
    }

    /// Returns one of the inputs with one to eight changes.
    pub fn mutate(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.start(pool).clone();
        let most = 1 << self.random.below(4);
        let changes = 1 + self.random.below(most);
        for _ in 0..changes {
            self.change(&mut input, pool);
        }
        input.truncate(LARGEST);
        input
    }

    /// Mostly the shorter of two, because a long input takes the time of many short ones.
    fn start<'b>(&mut self, pool: &'b [Vec<u8>]) -> &'b Vec<u8> {
        let (one, other) = (self.random.one(pool), self.random.one(pool));
        if self.random.below(4) == 0 || one.len() <= other.len() { one } else { other }
    }

    fn change(&mut self, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
        let at = self.random.below(input.len() + 1);
        let end = (at + 1 + self.length(input.len())).min(input.len());
        match self.random.below(12) {
            0 => self.byte(input),
            1 => drop(input.drain(at..end)),
            2 => input.truncate(at),
            3 => {
                let part = input[at..end].to_vec();
                let to = self.random.below(input.len() + 1);
                insert(input, to, &part);
            }
            4 => {
                let part = input[at..end].to_vec();
                let times = 1 << self.random.below(12);
                insert(input, at, &part.repeat(times.min(LARGEST / part.len().max(1))));
            }
            5 | 6 if !self.words.is_empty() => {
                let word = *self.random.one(self.words);
                let times = if self.random.below(8) == 0 { 1 << self.random.below(11) } else { 1 };
                insert(input, at, word.repeat(times).as_bytes());
            }
            7 if !self.words.is_empty() => self.replace_word(input),
            8 => self.replace_number(input),
            9 => {
                let other = self.random.one(pool).clone();
                let from = self.random.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            10 => {
                let other = self.random.one(pool).clone();
                let from = self.random.below(other.len() + 1);
                let to = (from + 1 + self.length(other.len())).min(other.len());
                insert(input, at, &other[from..to]);
            }
            _ => self.byte(input),
        }
    }

    /// Short lengths are more probable than long ones.
    fn length(&mut self, most: usize) -> usize {
        let bound = 1_usize << self.random.below(10);
        self.random.below(bound.min(most + 1))
    }

    fn byte(&mut self, input: &mut Vec<u8>) {
        let at = self.random.below(input.len());
        let odd =
            *self.random.one(&[0, 0x7f, 0x80, 0xc0, 0xed, 0xff, b'"', b'\\', b'\n', b'\r', b' ', b'<', b'{', b'[']);
        let byte = if self.random.below(2) == 0 { odd } else { self.random.below(256) as u8 };
        match input.get_mut(at) {
            Some(found) if self.random.below(3) == 0 => *found ^= 1 << self.random.below(8),
            Some(found) => *found = byte,
            None => input.push(byte),
        }
    }

    /// Replaces a word of the language that occurs with another one.
    fn replace_word(&mut self, input: &mut Vec<u8>) {
        let (from, to) = (self.random.one(self.words).as_bytes(), self.random.one(self.words).as_bytes());
        let places: Vec<usize> = (0..input.len()).filter(|at| input[*at..].starts_with(from)).collect();
        if !places.is_empty() {
            let at = *self.random.one(&places);
            drop(input.splice(at..at + from.len(), to.iter().copied()));
        }
    }

    fn replace_number(&mut self, input: &mut Vec<u8>) {
        let starts: Vec<usize> = (0..input.len())
            .filter(|at| input[*at].is_ascii_digit() && (*at == 0 || !input[at - 1].is_ascii_digit()))
            .collect();
        if !starts.is_empty() {
            let at = *self.random.one(&starts);
            let length = input[at..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
            drop(input.splice(at..at + length, self.random.one(&NUMBERS).bytes()));
        }
    }
}

fn insert(input: &mut Vec<u8>, at: usize, part: &[u8]) {
    drop(input.splice(at..at, part.iter().copied()));
}
