//! Calls that the system refuses, once or from then on, and writes that it cuts short. The same process
//! goes on once the fault is lifted.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

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
            Self::TooManyFiles => kinds::OPEN | kinds::CREATE,
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

    /// Whether a step has to succeed in spite of it.
    fn is_mended(self) -> bool {
        matches!(self, Self::Interrupted | Self::Short)
    }

    /// What an error has to be called, and the system's number that it has to quote.
    fn is_told_by(self, kind: &str, message: &str) -> bool {
        let (number, right) = match self {
            Self::NoSpace => (28, "no_disk_space"),
            Self::InputOutput => (5, "io"),
            Self::TooManyFiles => (24, "io"),
            Self::Interrupted | Self::Short => return false,
        };
        // Some rooms have one name for whatever the system says of their files.
        let right = kind == right || kind.ends_with("_file");
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

/// What came of a case.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    call: String,
    struck: bool,
    refused: bool,
    violation: Option<String>,
}

/// Strikes calls of the steps of a world: `count` of them, or every one.
///
/// # Panics
/// Where the steps fail without any fault.
#[must_use]
pub fn run(world: &dyn World, shim: &Shim, count: Option<usize>, seed: u64) -> Outcome {
    let mut outcome = Outcome::begin("faults", world.name());
    let dir = folder();
    let snapshots = dir.path().join("before");
    snapshot(world, &snapshots);
    let cases = cases(&counted(world, shim, dir.path()), count, seed);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let told: Vec<(Case, Told)> = std::thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(threads).max(1));
        let workers: Vec<_> = parts
            .enumerate()
            .map(|(number, cases)| {
                let dir = dir.path();
                scope.spawn(move || strike_all(world, shim, dir, number, cases))
            })
            .collect();
        let each = workers.into_iter();
        each.flat_map(|worker| worker.join().expect("a worker's thread"))
            .collect()
    });
    for (case, told) in told {
        outcome.add("cases", 1);
        outcome.add("struck", usize::from(told.struck));
        outcome.add("refused", usize::from(told.refused));
        if let Some(violation) = told.violation {
            outcome.violation(format!("{case:?}: {}", told.call), violation);
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
/// Where it cannot be read or written.
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
    start(world, shim, dir, "count", 0);
    let text = fs::read(dir.join("count-0")).expect("the counts");
    serde_json::from_slice(&text).expect("the counts")
}

/// Starts a worker and waits for it; whether it ended in order.
fn start(world: &dyn World, shim: &Shim, dir: &Path, kind: &str, number: usize) -> Option<String> {
    let control = dir.join(format!("control-{number}"));
    let _ = Control::create(&control);
    let mut command = crate::worker::command(world.name(), kind, dir);
    shim.watch(&mut command, &dir.join(format!("run-{number}")).join(KEPT));
    command
        .env("TORTURE_CONTROL", &control)
        .env("TORTURE_NUMBER", number.to_string());
    let status = command.status().expect("the worker");
    (!status.success()).then(|| format!("the process ended with {status}"))
}

fn cases(counted: &[Vec<usize>], count: Option<usize>, seed: u64) -> Vec<Case> {
    let mut all = Vec::new();
    for (step, counts) in counted.iter().enumerate() {
        for (fault, &calls) in Fault::ALL.into_iter().zip(counts) {
            for at in 1..=calls {
                // What is interrupted for ever is never done.
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

/// Has workers strike calls, a new one wherever one dies.
fn strike_all(
    world: &dyn World,
    shim: &Shim,
    dir: &Path,
    number: usize,
    cases: &[Case],
) -> Vec<(Case, Told)> {
    let mut told: Vec<(Case, Told)> = Vec::new();
    while told.len() < cases.len() {
        let rest = &cases[told.len()..];
        let text = serde_json::to_vec(rest).expect("the cases");
        fs::write(dir.join(format!("cases-{number}")), text).expect("the cases");
        let died = start(world, shim, dir, "faults", number);
        let lines = fs::read_to_string(dir.join(format!("told-{number}"))).unwrap_or_default();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("a result"));
        let before = told.len();
        told.extend(rest.iter().cloned().zip(lines));
        if let Some(died) = died
            && let Some(case) = cases.get(told.len())
        {
            let control = Control::open(&dir.join(format!("control-{number}")));
            let killed = Told {
                call: control.last(),
                struck: true,
                refused: false,
                violation: Some(died),
            };
            told.push((case.clone(), killed));
        }
        assert!(told.len() > before, "the workers get nowhere");
    }
    told
}

/// Where a worker finds what it needs.
struct Bench<'d> {
    dir: &'d Path,
    run: std::path::PathBuf,
    control: Control,
    number: String,
}

impl<'d> Bench<'d> {
    fn new(dir: &'d Path) -> Self {
        let number = std::env::var("TORTURE_NUMBER").expect("the worker's number");
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
/// Where a step fails.
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

/// The worker that has calls struck.
///
/// # Panics
/// Where it cannot tell what came of it.
pub fn strike(world: &str, dir: &Path) {
    std::panic::set_hook(Box::new(|_| {}));
    let (world, bench) = (worlds::named(world), Bench::new(dir));
    let cases = fs::read(dir.join(format!("cases-{}", bench.number))).expect("the cases");
    let cases: Vec<Case> = serde_json::from_slice(&cases).expect("the cases");
    let states = world::states(&*world);
    let mut out = File::create(dir.join(format!("told-{}", bench.number))).expect("the results");
    for case in cases {
        let told = one(&*world, &bench, &states, &case);
        let mut line = serde_json::to_vec(&told).expect("a result");
        line.push(b'\n');
        out.write_all(&line).expect("a result");
    }
}

fn one(world: &dyn World, bench: &Bench<'_>, states: &[Contents], case: &Case) -> Told {
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
        Ok(Err(refusal)) if case.fault.is_mended() => Some(format!("not mended: {refusal:?}")),
        Ok(Err(refusal)) => {
            let (kind, message) = (&refusal.kind, &refusal.message);
            let below = bench.run.to_string_lossy();
            let told = case.fault.is_told_by(kind, message);
            if !told || !message.contains(&*below) {
                Some(format!("told wrongly: {refusal:?}"))
            } else {
                world::check(world, states, case.step, &bench.run).err()
            }
        }
    };
    Told {
        call: bench.control.last(),
        struck,
        refused,
        violation,
    }
}
