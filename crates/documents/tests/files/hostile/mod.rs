//! Files of any length that make, or could make, readers take time or memory out of proportion to
//! their bytes; and plain random files for comparison.

mod parcels;
pub(crate) mod records;
mod texts;

/// A file name, which gives the format, and how to make a file of about a given size. For
/// compressed formats these are the unpacked bytes.
pub(crate) struct Pattern {
    pub(crate) name: &'static str,
    pub(crate) file: &'static str,
    pub(crate) make: Box<dyn Fn(usize) -> Vec<u8>>,
}

/// Deterministic pseudo-random numbers (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// `unit`, repeated as often as it fits.
fn repeated(unit: &str, bytes: usize) -> String {
    unit.repeat((bytes / unit.len()).max(1))
}

/// Half of one, then half of the other.
fn halves(first: &str, second: &str, bytes: usize) -> String {
    repeated(first, bytes / 2) + &repeated(second, bytes / 2)
}

/// Randomly chosen parts.
fn mixed(parts: &[&str], bytes: usize) -> String {
    let mut random = Random::new(7);
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(parts[random.below(parts.len())]);
    }
    text
}

/// Lines of words.
fn words(bytes: usize) -> String {
    mixed(
        &[
            "the ",
            "lamp ",
            "Brook ",
            "A. ",
            "1.5 ",
            "ended. ",
            "and, ",
            "über ",
            "海牙。",
            "\n",
            "why? ",
        ],
        bytes,
    )
}

fn add(
    patterns: &mut Vec<Pattern>,
    file: &'static str,
    name: &'static str,
    make: impl Fn(usize) -> Vec<u8> + 'static,
) {
    patterns.push(Pattern {
        name,
        file,
        make: Box::new(make),
    });
}

/// All of them.
pub(crate) fn patterns() -> Vec<Pattern> {
    let mut all = Vec::new();
    texts::texts(&mut all);
    texts::markdown(&mut all);
    texts::html(&mut all);
    records::records(&mut all);
    records::tables(&mut all);
    records::dumps(&mut all);
    records::pages(&mut all);
    records::packed(&mut all);
    parcels::office(&mut all);
    parcels::archives(&mut all);
    parcels::mail(&mut all);
    parcels::markup(&mut all);
    all
}
