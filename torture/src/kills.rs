//! Writers that are killed: at a call that changes something, or at any moment. The next one resumes from there.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use crate::outcome::Outcome;
use crate::process;
use crate::random::Random;
use crate::shim::{Control, Order, Shim, Strike, folder, kinds};
use crate::world::{self, Contents, KEPT, World, make_kept, read_taken, without_panic};

/// The counts of a campaign.
#[derive(Debug, Default)]
struct Counts {
    kills: AtomicUsize,
    /// Kills of an unfinished step that had changed something.
    while_writing: AtomicUsize,
    /// Workers that finished before their kill.
    too_late: AtomicUsize,
    runs: AtomicUsize,
}

/// Kills workers of a world `count` times: half of them at a call, half at a moment.
///
/// # Panics
/// If the steps fail without a kill.
#[must_use]
pub fn run(world: &dyn World, shim: &Shim, count: usize, seed: u64) -> Outcome {
    let mut outcome = Outcome::begin("kills", world.name());
    let states = world::states(world);
    let spans = measured(world, shim);
    let counts = Counts::default();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let violations: Vec<(String, String)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number| {
                let random = Random::new(seed ^ (number as u64) << 40);
                let (states, counts, spans) = (&states, &counts, &spans);
                scope.spawn(move || one(world, shim, states, random, count, spans, counts))
            })
            .collect();
        let each = workers.into_iter();
        each.flat_map(|worker| worker.join().expect("a killer's thread"))
            .collect()
    });
    for (at, what) in violations {
        outcome.violation(at, what);
    }
    let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    let changes = spans.iter().map(|span| span.changes).sum();
    outcome.number("changes", changes);
    outcome.number("kills", of(&counts.kills));
    outcome.number("while_writing", of(&counts.while_writing));
    outcome.number("too_late", of(&counts.too_late));
    outcome.number("runs", of(&counts.runs));
    outcome.end()
}

/// The length of a step.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// Calls that change something.
    changes: usize,
    /// From the first of them to the end of the worker.
    time: Duration,
}

/// Takes the steps one by one and measures each.
fn measured(world: &dyn World, shim: &Shim) -> Vec<Span> {
    let dir = folder();
    make_kept(dir.path());
    let control = Control::create(&dir.path().join("control"));
    let measure = |_| {
        control.forget_changes();
        let mut child = spawn(command(world, shim, dir.path()).env("TORTURE_STEPS", "1"));
        await_change(&control, &mut child);
        let started = Instant::now();
        let status = child.wait().expect("the worker");
        assert!(
            status.success(),
            "a step of {} ends with {status}",
            world.name()
        );
        Span {
            changes: control.changes(),
            time: started.elapsed(),
        }
    };
    (0..world.steps()).map(measure).collect()
}

/// Waits for the first change that a worker makes, or its end.
fn await_change(control: &Control, child: &mut Child) {
    while control.changes() == 0 && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Held for writing while a process starts, since it holds this process's locks until it is loaded, and for reading while
/// this process may lock a file.
static STARTING: RwLock<()> = RwLock::new(());

fn reading() -> RwLockReadGuard<'static, ()> {
    STARTING.read().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(command: &mut Command) -> Child {
    let _starting = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn().expect("the worker")
}

fn command(world: &dyn World, shim: &Shim, dir: &Path) -> Command {
    let mut command = process::command(world.name(), "steps", dir);
    shim.watch(&mut command, &dir.join(KEPT));
    command
        .env("TORTURE_CONTROL", dir.join("control"))
        .stderr(Stdio::null());
    command
}

fn one(
    world: &dyn World,
    shim: &Shim,
    states: &[Contents],
    mut random: Random,
    count: usize,
    spans: &[Span],
    counts: &Counts,
) -> Vec<(String, String)> {
    let mut violations = Vec::new();
    let done = || counts.kills.load(Ordering::Relaxed) >= count;
    while !done() {
        let dir = folder();
        make_kept(dir.path());
        let control = Control::create(&dir.path().join("control"));
        counts.runs.fetch_add(1, Ordering::Relaxed);
        // Until the steps are done.
        while !done() {
            let left = &spans[read_taken(dir.path())..];
            if left.is_empty() {
                break;
            }
            let (status, at) = killed(world, shim, &control, &mut random, left, dir.path());
            let taken = read_taken(dir.path());
            if status.signal() != Some(9) {
                if !status.success() {
                    violations.push((at, format!("a worker ended with {status}")));
                    break;
                }
                counts.too_late.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            counts.kills.fetch_add(1, Ordering::Relaxed);
            if taken < world.steps() && control.changes() > 0 {
                counts.while_writing.fetch_add(1, Ordering::Relaxed);
            }
            let contents = {
                let _reading = reading();
                without_panic(|| world.contents(dir.path()))
            };
            let wrong = match contents {
                Err(error) => Some(error),
                Ok(found) => {
                    let next = states.get(taken + 1);
                    let allowed = world.allows(&states[taken], next, &found);
                    (!allowed).then(|| format!("it holds {} things: {found:?}", found.len()))
                }
            };
            if let Some(wrong) = wrong {
                violations.push((format!("{at}, step {taken}"), wrong));
                break;
            }
        }
        let taken = read_taken(dir.path());
        let checked = {
            let _reading = reading();
            world::check(world, states, taken, dir.path())
        };
        if let Err(error) = checked {
            violations.push((format!("run, step {taken}"), error));
        }
    }
    violations
}

/// Starts a worker, and kills it within its next few steps, whose lengths `left` has.
fn killed(
    world: &dyn World,
    shim: &Shim,
    control: &Control,
    random: &mut Random,
    left: &[Span],
    dir: &Path,
) -> (ExitStatus, String) {
    control.forget_changes();
    // At most three steps ahead, so that several workers share the steps.
    let next = &left[..left.len().min(3)];
    if random.per_mille(500) {
        let changes: usize = next.iter().map(|span| span.changes).sum();
        let at = 1 + random.below(changes.max(1));
        control.order(Order {
            strike: Strike::Kill,
            at: at as i64,
            lasting: false,
            kinds: kinds::CHANGES,
        });
        let status = spawn(&mut command(world, shim, dir))
            .wait()
            .expect("the worker");
        control.lift();
        (status, format!("killed at change {at}: {}", control.last()))
    } else {
        let mut child = spawn(&mut command(world, shim, dir));
        await_change(control, &mut child);
        let time: Duration = next.iter().map(|span| span.time).sum();
        let wait = Duration::from_micros(random.below(time.as_micros() as usize + 1) as u64);
        std::thread::sleep(wait);
        let _ = child.kill();
        let status = child.wait().expect("the worker");
        (status, format!("killed {wait:?} after its first change"))
    }
}
