//! Files that are deleted, truncated or changed behind ken's back: the damage is named,
//! nothing else is lost, and there is a way to repair it.

mod files;
mod stores;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::batch;
use crate::faults::copy;
use crate::outcome::Outcome;
use crate::random::Random;
use crate::shim::{Shim, folder};
use crate::world::{KEPT, make_kept};

pub use stores::Store;
pub(crate) use stores::opened;

/// Bytes that are changed in each file, apart from the first and the last ones.
const BYTES: usize = 12;

/// A kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Harm {
    /// It is deleted.
    Deleted,
    /// It is truncated to this many bytes.
    Cut(usize),
    /// Bits of a byte are flipped.
    Flipped(usize, u8),
    /// All its bytes are zero.
    Zeroed,
    /// Its halves are exchanged.
    Swapped,
}

/// A file and its damage.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Case {
    file: PathBuf,
    harm: Harm,
}

/// The result of a case.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CaseResult {
    /// Whether the damage was named, or nothing that counts was damaged.
    named: bool,
    /// Whether nothing noticed it although what is read differs; only in stores without hashes.
    unnoticed: bool,
    /// Whether the file is one that nothing needs.
    harmless: bool,
    violations: Vec<String>,
}

/// Damages the files of a store in `count` ways, or in all.
///
/// # Panics
/// If the store cannot be made.
#[must_use]
pub fn run(store: Store, shim: &Shim, count: Option<usize>, seed: u64) -> Outcome {
    let mut outcome = Outcome::begin("damage", store.name());
    let dir = folder();
    let whole = dir.path().join("whole");
    make_kept(&whole);
    store.make(&whole);
    let cases = cases(&whole.join(KEPT), count, seed);
    let died = |death, _| CaseResult {
        violations: vec![death],
        ..CaseResult::default()
    };
    let results = batch::run(shim, store.name(), "damage", dir.path(), &cases, died);
    for (case, result) in results {
        outcome.add("cases", 1);
        outcome.add("named", usize::from(result.named));
        outcome.add("unnoticed", usize::from(result.unnoticed));
        outcome.add("harmless", usize::from(result.harmless));
        for violation in result.violations {
            outcome.violation(
                format!("{} {:?}", case.file.display(), case.harm),
                violation,
            );
        }
    }
    outcome.end()
}

fn cases(whole: &Path, count: Option<usize>, seed: u64) -> Vec<Case> {
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    for (file, bytes) in files::below(whole) {
        let mut harms = vec![Harm::Deleted];
        if !bytes.is_empty() {
            harms.extend([Harm::Cut(0), Harm::Zeroed, Harm::Swapped]);
        }
        let powers = std::iter::successors(Some(1_usize), |n| n.checked_mul(2));
        let powers = powers.take_while(|&n| n < bytes.len());
        harms.extend(powers.map(Harm::Cut));
        let mut places = random.sample(bytes.len(), BYTES);
        places.extend([
            0,
            1,
            bytes.len().saturating_sub(2),
            bytes.len().saturating_sub(1),
        ]);
        places.retain(|&place| place < bytes.len());
        places.sort_unstable();
        places.dedup();
        let masks = [1, 0x20, 0x80, 0xff];
        harms.extend(
            places
                .iter()
                .map(|&place| Harm::Flipped(place, masks[random.below(4)])),
        );
        all.extend(harms.into_iter().map(|harm| Case {
            file: file.clone(),
            harm,
        }));
    }
    let chosen = random.sample(all.len(), count.unwrap_or(all.len()));
    chosen.into_iter().map(|at| all[at].clone()).collect()
}

/// Damages the file.
fn harm(path: &Path, harm: Harm) {
    let mut bytes = fs::read(path).expect("a file to damage");
    match harm {
        Harm::Deleted => {
            fs::remove_file(path).expect("a file to delete");
            return;
        }
        Harm::Cut(length) => bytes.truncate(length),
        Harm::Flipped(place, mask) => bytes[place] ^= mask,
        Harm::Zeroed => bytes.fill(0),
        Harm::Swapped => {
            let half = bytes.len() / 2;
            bytes.rotate_left(half);
        }
    }
    fs::write(path, bytes).expect("a file to damage");
}

/// A damaged store to test.
struct Damaged<'d> {
    whole: &'d Path,
    run: &'d Path,
    case: &'d Case,
    /// The search results of the undamaged store.
    found: &'d [String],
}

impl Damaged<'_> {
    /// A fresh one.
    fn fresh(&self) -> &Path {
        let _ = fs::remove_dir_all(self.run);
        copy(self.whole, self.run);
        harm(&self.run.join(KEPT).join(&self.case.file), self.case.harm);
        self.run
    }

    /// Its files, without what every command may touch.
    fn held(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut held = files::below(&self.run.join(KEPT));
        held.retain(|path, _| {
            let mut parts = path.iter().map(|part| part.to_string_lossy());
            !parts.any(|part| part == "LOCK" || part == "staging" || part.ends_with(".tmp"))
        });
        held
    }

    /// Whether a message speaks of the file.
    fn is_named(&self, message: &str) -> bool {
        message.contains(&*self.case.file.to_string_lossy())
    }
}

/// The worker that tests damaged stores.
///
/// # Panics
/// If the result cannot be written.
pub fn work(name: &str, dir: &Path) {
    let store = Store::named(name);
    let run = dir.join(format!("run-{}", batch::number()));
    let whole = dir.join("whole");
    // Reading may lock, and another worker reads too.
    copy(&whole, &run);
    let expected = store.read(&run).expect("the whole store");
    let found = store.found(&run);
    batch::work(dir, |case: Case| {
        let damaged = Damaged {
            whole: &whole,
            run: &run,
            case: &case,
            found: &found,
        };
        store.try_out(&damaged, &expected)
    });
}
