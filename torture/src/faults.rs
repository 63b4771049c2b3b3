//! Calls that the system refuses, once or from then on, and writes that it cuts short. The process continues after the
//! fault.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::batch;
use crate::outcome::Outcome;
use crate::random::Random;
use crate::shim::{Control, Order, Shim, Strike, folder, kinds};
use crate::world::{self, Contents, KEPT, World, make_kept, without_panic};
use crate::worlds;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Fault {
    /// `ENOSPC`.
    NoSpace,
    /// `EIO`.
    InputOutput,
    /// `EMFILE`.
    TooManyFiles,
    /// `EINTR`, which the standard library takes as a reason to try again.
    Interrupted,
    /// Half of a write.
    Short,
}

impl Fault {
    const ALL: [Self; 5] = [
        Self::NoSpace,
        Self::InputOutput,
        Self::TooManyFiles,
        Self::Interrupted,
        Self::Short,
    ];

    /// The calls that systems refuse so.
    fn kinds(self) -> i64 {
        match self {
            Self::NoSpace => kinds::DATA | kinds::SYNC | kinds::NAME | kinds::CREATE,
            Self::InputOutput => kinds::ALL,
            Self::TooManyFiles => kinds::OPEN | kinds::CREATE | kinds::LIST,
            Self::Interrupted => {
                kinds::DATA | kinds::SYNC | kinds::OPEN | kinds::READ | kinds::CREATE
            }
            Self::Short => kinds::DATA,
        }
    }

    fn strike(self) -> Strike {
        match self {
            Self::NoSpace => Strike::Fail(28),
            Self::InputOutput => Strike::Fail(5),
            Self::TooManyFiles => Strike::Fail(24),
            Self::Interrupted => Strike::Fail(4),
            Self::Short => Strike::Short,
        }
    }

    /// Whether a step must succeed despite it.
    fn is_retried(self) -> bool {
        matches!(self, Self::Interrupted | Self::Short)
    }

    /// Whether an error has the right kind, and quotes the system's number.
    fn is_named_by(self, kind: &str, message: &str) -> bool {
        // The hub has its own message for a full disk.
        let (number, right): (i32, &[&str]) = match self {
            Self::NoSpace if kind == "disk_full" => return true,
            Self::NoSpace => (28, &["no_disk_space"]),
            Self::InputOutput => (5, &["io"]),
            Self::TooManyFiles => (24, &["io"]),
            Self::Interrupted | Self::Short => return false,
        };
        // Some crates have one kind for all errors of the system.
        let right = right.contains(&kind) || kind.ends_with("_file");
        right && message.contains(&format!("(os error {number})"))
    }
}

/// One call that is struck.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Case {
    step: usize,
    fault: Fault,
    at: usize,
    lasting: bool,
}

/// The result of a case.
#[derive(Debug, Serialize, Deserialize)]
struct CaseResult {
    call: String,
    struck: bool,
    refused: bool,
    violation: Option<String>,
}

/// Strikes calls of the steps of a world: `count` of them, or every one.
///
/// # Panics
/// If the steps fail without any fault.
#[must_use]
pub fn run(world: &dyn World, shim: &Shim, count: Option<usize>, seed: u64) -> Outcome {
    let mut outcome = Outcome::begin("faults", world.name());
    let dir = folder();
    let snapshots = dir.path().join("before");
    snapshot(world, &snapshots);
    let cases = cases(&counted(world, shim, dir.path()), count, seed);
    let died = |death, call| CaseResult {
        call,
        struck: true,
        refused: false,
        violation: Some(death),
    };
    let results = batch::run(shim, world.name(), "faults", dir.path(), &cases, died);
    for (case, result) in results {
        outcome.add("cases", 1);
        outcome.add("struck", usize::from(result.struck));
        outcome.add("refused", usize::from(result.refused));
        if let Some(violation) = result.violation {
            outcome.violation(format!("{case:?}: {}", result.call), violation);
        }
    }
    outcome.end()
}

/// Keeps the files as they are before each step.
fn snapshot(world: &dyn World, to: &Path) {
    let dir = folder();
    make_kept(dir.path());
    for step in 0..world.steps() {
        copy(&dir.path().join(KEPT), &to.join(step.to_string()));
        let taken = world.take(dir.path(), step);
        taken.expect("a step without any fault");
    }
}

/// Copies a folder.
///
/// # Panics
/// If it cannot be read or written.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder's copy");
    for entry in fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry to copy");
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => {
                fs::copy(entry.path(), target).expect("a file's copy");
            }
        }
    }
}

/// Calls in each step that each fault concerns.
fn counted(world: &dyn World, shim: &Shim, dir: &Path) -> Vec<Vec<usize>> {
    let died = batch::start(shim, world.name(), "count", dir, 0);
    assert!(died.is_none(), "{died:?}");
    let text = fs::read(dir.join("count-0")).expect("the counts");
    serde_json::from_slice(&text).expect("the counts")
}

fn cases(counted: &[Vec<usize>], count: Option<usize>, seed: u64) -> Vec<Case> {
    let mut all = Vec::new();
    for (step, counts) in counted.iter().enumerate() {
        for (fault, &calls) in Fault::ALL.into_iter().zip(counts) {
            for at in 1..=calls {
                // A call that is always interrupted never ends.
                for lasting in [false, true] {
                    if !(lasting && fault == Fault::Interrupted) {
                        all.push(Case {
                            step,
                            fault,
                            at,
                            lasting,
                        });
                    }
                }
            }
        }
    }
    let mut random = Random::new(seed);
    let chosen = random.sample(all.len(), count.unwrap_or(all.len()));
    chosen.into_iter().map(|at| all[at].clone()).collect()
}

/// The inputs of a worker.
struct Bench<'d> {
    dir: &'d Path,
    run: std::path::PathBuf,
    control: Control,
    number: String,
}

impl<'d> Bench<'d> {
    fn new(dir: &'d Path) -> Self {
        let number = batch::number();
        Self {
            run: dir.join(format!("run-{number}")),
            control: Control::open(&dir.join(format!("control-{number}"))),
            dir,
            number,
        }
    }

    /// The files as they are before a step.
    fn reset(&self, step: usize) {
        let _ = fs::remove_dir_all(&self.run);
        let before = self.dir.join("before").join(step.to_string());
        copy(&before, &self.run.join(KEPT));
    }
}

/// The worker that counts calls.
///
/// # Panics
/// If a step fails.
pub fn count(world: &str, dir: &Path) {
    let (world, bench) = (worlds::named(world), Bench::new(dir));
    let counted: Vec<Vec<usize>> = (0..world.steps())
        .map(|step| {
            let of_fault = |fault: Fault| {
                bench.reset(step);
                bench.control.order(Order::count(fault.kinds()));
                let taken = world.take(&bench.run, step);
                bench.control.lift();
                taken.expect("a step without any fault");
                bench.control.calls()
            };
            Fault::ALL.into_iter().map(of_fault).collect()
        })
        .collect();
    let text = serde_json::to_vec(&counted).expect("the counts");
    fs::write(dir.join(format!("count-{}", bench.number)), text).expect("the counts");
}

/// The worker that strikes calls.
///
/// # Panics
/// If the result cannot be written.
pub fn strike(world: &str, dir: &Path) {
    let (world, bench) = (worlds::named(world), Bench::new(dir));
    let states = world::states(&*world);
    batch::work(dir, |case| one(&*world, &bench, &states, &case));
}

fn one(world: &dyn World, bench: &Bench<'_>, states: &[Contents], case: &Case) -> CaseResult {
    bench.reset(case.step);
    bench.control.order(Order {
        strike: case.fault.strike(),
        at: case.at as i64,
        lasting: case.lasting,
        kinds: case.fault.kinds(),
    });
    let taken = without_panic(|| Ok(world.take(&bench.run, case.step)));
    bench.control.lift();
    let struck = bench.control.struck() > 0;
    let refused = matches!(taken, Ok(Err(_)));
    let violation = match taken {
        Err(panicked) => Some(panicked),
        Ok(Ok(())) => world::check_done(world, states, case.step + 1, &bench.run).err(),
        Ok(Err(refusal)) if !struck => Some(format!("refused without a fault: {refusal:?}")),
        Ok(Err(refusal)) if case.fault.is_retried() => Some(format!("not retried: {refusal:?}")),
        Ok(Err(refusal)) => {
            let (kind, message) = (&refusal.kind, &refusal.message);
            let below = bench.run.to_string_lossy();
            let is_right = case.fault.is_named_by(kind, message) && message.contains(&*below);
            match world::check(world, states, case.step, &bench.run) {
                Ok(_) if !is_right => Some(format!("misnamed: {refusal:?}")),
                checked => checked.err(),
            }
        }
    };
    CaseResult {
        call: bench.control.last(),
        struck,
        refused,
        violation,
    }
}
