//! Writers that are killed: at a call that changes something, or at any moment. The next one goes on where
//! they stopped.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::outcome::Outcome;
use crate::random::Random;
use crate::shim::{Control, Order, Shim, Strike, folder, kinds};
use crate::world::{self, Contents, KEPT, World, make_kept, read_taken, without_panic};

/// What is counted.
#[derive(Debug, Default)]
struct Counts {
    kills: AtomicUsize,
    /// Kills of a step that had changed something and was not done.
    while_writing: AtomicUsize,
    /// Workers that were done before they were to be killed.
    too_late: AtomicUsize,
    runs: AtomicUsize,
}

/// Kills workers of a world `count` times: half of them at a call, half at a moment.
///
/// # Panics
/// Where the steps fail without a kill.
#[must_use]
pub fn run(world: &dyn World, shim: &Shim, count: usize, seed: u64) -> Outcome {
    let mut outcome = Outcome::begin("kills", world.name());
    let states = world::states(world);
    let (calls, span) = measured(world, shim);
    let counts = Counts::default();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let violations: Vec<(String, String)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number| {
                let random = Random::new(seed ^ (number as u64) << 40);
                let (states, counts) = (&states, &counts);
                scope.spawn(move || one(world, shim, states, random, count, calls, span, counts))
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
    outcome.number("calls", calls);
    outcome.number("kills", of(&counts.kills));
    outcome.number("while_writing", of(&counts.while_writing));
    outcome.number("too_late", of(&counts.too_late));
    outcome.number("runs", of(&counts.runs));
    outcome.end()
}

/// Calls that change something in all steps, and the time from a worker's start to the end of its steps.
fn measured(world: &dyn World, shim: &Shim) -> (usize, Duration) {
    let dir = folder();
    make_kept(dir.path());
    let control = Control::create(&dir.path().join("control"));
    control.order(Order::count(kinds::CHANGES));
    let begun = Instant::now();
    let status = spawn(world, shim, dir.path()).wait().expect("the worker");
    assert!(
        status.success(),
        "the steps of {} end with {status}",
        world.name()
    );
    (control.calls(), begun.elapsed())
}

fn spawn(world: &dyn World, shim: &Shim, dir: &std::path::Path) -> Child {
    let mut command = crate::worker::command(world.name(), "steps", dir);
    shim.watch(&mut command, &dir.join(KEPT));
    command
        .env("TORTURE_CONTROL", dir.join("control"))
        .stderr(Stdio::null());
    command.spawn().expect("the worker")
}

#[allow(clippy::too_many_arguments)]
fn one(
    world: &dyn World,
    shim: &Shim,
    states: &[Contents],
    mut random: Random,
    count: usize,
    calls: usize,
    span: Duration,
    counts: &Counts,
) -> Vec<(String, String)> {
    let mut violations = Vec::new();
    let done = || counts.kills.load(Ordering::Relaxed) >= count;
    while !done() {
        let dir = folder();
        make_kept(dir.path());
        let control = Control::create(&dir.path().join("control"));
        counts.runs.fetch_add(1, Ordering::Relaxed);
        // Until the steps are done, of which every worker takes some.
        while !done() {
            let steps_left = world.steps() - read_taken(dir.path());
            if steps_left == 0 {
                break;
            }
            let (status, at) = killed(
                world,
                shim,
                &control,
                &mut random,
                (calls, span),
                steps_left,
                dir.path(),
            );
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
            let found = without_panic(|| world.contents(dir.path()));
            let wrong = match found {
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
        // Each time one worker is let through to the end.
        let taken = read_taken(dir.path());
        if let Err(error) = world::check(world, states, taken, dir.path()) {
            violations.push((format!("run, step {taken}"), error));
        }
    }
    violations
}

/// Starts a worker and kills it.
fn killed(
    world: &dyn World,
    shim: &Shim,
    control: &Control,
    random: &mut Random,
    (calls, span): (usize, Duration),
    steps_left: usize,
    dir: &std::path::Path,
) -> (ExitStatus, String) {
    control.forget_changes();
    // Soon enough that several workers share the steps.
    let share = (steps_left / 3).max(1);
    if random.per_mille(500) {
        let at = 1 + random.below((calls * share / world.steps()).max(1));
        control.order(Order {
            strike: Strike::Kill,
            at: at as i64,
            lasting: false,
            kinds: kinds::CHANGES,
        });
        let status = spawn(world, shim, dir).wait().expect("the worker");
        (status, format!("killed at change {at}: {}", control.last()))
    } else {
        control.order(Order::count(kinds::CHANGES));
        let mut child = spawn(world, shim, dir);
        let begun = Instant::now();
        // From the first change on, so that hardly any is killed before it begins.
        while control.changes() == 0 && begun.elapsed() < Duration::from_secs(5) {
            if matches!(child.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        let most = (span.as_micros() as usize * share / world.steps()).max(1);
        let wait = Duration::from_micros(random.below(most) as u64);
        std::thread::sleep(wait);
        let _ = child.kill();
        let status = child.wait().expect("the worker");
        (status, format!("killed {wait:?} after its first change"))
    }
}
