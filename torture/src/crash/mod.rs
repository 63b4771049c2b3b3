//! The states that a power loss may leave of the steps of a world, drawn by a seed, opened and resumed.

pub mod disk;
pub mod log;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

use self::disk::{Disk, Draw, Tree};
use self::log::Call;
use crate::outcome::{Outcome, Violation};
use crate::process;
use crate::random::Random;
use crate::shim::{Shim, folder};
use crate::world::{self, Contents, KEPT, World, make_kept};

/// At how many of a moment's changes each single one is lost, or kept alone.
const SINGLE: usize = 6;
/// Random draws a moment, in each pass.
const RANDOM: usize = 4;
/// After this many passes there is hardly anything new to draw.
const PASSES: u64 = 40;

/// The states to draw.
#[derive(Debug, Clone, Default)]
pub struct Drawing {
    /// The most distinct states to check.
    pub count: usize,
    /// The seed.
    pub seed: u64,
    /// Syncs that are left out: those of paths that end so.
    pub dropped_syncs: Vec<String>,
    /// Whether to end at the first wrong state.
    pub until_wrong: bool,
    /// The folder for wrong states.
    pub keep: Option<PathBuf>,
}

/// A state to check.
struct State {
    tree: Tree,
    acknowledged: usize,
    what: String,
}

/// Records the calls of a world's steps.
///
/// # Panics
/// If the steps fail.
#[must_use]
pub fn record(world: &dyn World, shim: &Shim) -> Vec<Call> {
    let dir = folder();
    make_kept(dir.path());
    let log = dir.path().join("log");
    let mut command = process::command(world.name(), "steps", dir.path());
    shim.watch(&mut command, &dir.path().join(KEPT));
    let status = command.env("TORTURE_LOG", &log).status();
    let status = status.expect("the worker");
    assert!(
        status.success(),
        "the steps of {} end with {status}",
        world.name()
    );
    log::read(&log)
}

/// Draws states of a world and checks each.
///
/// # Panics
/// If the steps cannot be recorded.
#[must_use]
pub fn run(world: &dyn World, shim: &Shim, drawing: &Drawing) -> Outcome {
    let mut outcome = Outcome::begin("crash-states", world.name());
    let states = world::states(world);
    let calls = record(world, shim);
    let (sender, receiver) = sync_channel::<State>(16);
    let receiver = Mutex::new(receiver);
    let violations = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let (drawn, distinct) = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| look_at(world, &states, &receiver, &violations, drawing));
        }
        let drawn = draw(&calls, drawing, &mut |state| {
            sender.send(state).expect("someone looks at states");
            let wrong = violations.lock().is_ok_and(|all| !all.is_empty());
            !(wrong && drawing.until_wrong)
        });
        drop(sender);
        drawn
    });
    outcome.number("calls", calls.len());
    outcome.number("drawn", drawn);
    outcome.number("states", distinct);
    outcome.violations = violations.into_inner().unwrap_or_default();
    outcome.end()
}

/// Draws states, of which none is given twice, as long as `each` says so. Returns how many were drawn
/// and given.
fn draw(calls: &[Call], drawing: &Drawing, each: &mut dyn FnMut(State) -> bool) -> (usize, usize) {
    let mut seen = HashSet::new();
    let mut drawn = 0;
    for pass in 0..PASSES {
        let mut random = Random::new(drawing.seed ^ (pass << 32));
        // Each moment gives some new states; where few are requested, moments are skipped evenly.
        let left = drawing.count.saturating_sub(seen.len());
        let moments: HashSet<usize> = match pass {
            0 => random
                .sample(calls.len(), left.div_ceil(3))
                .into_iter()
                .collect(),
            _ => (0..calls.len()).collect(),
        };
        let mut disk = Disk::new(&drawing.dropped_syncs);
        let mut acknowledged = 0;
        for (moment, call) in calls.iter().enumerate() {
            disk.apply(call);
            if let Call::Acknowledged(steps) = call {
                acknowledged = *steps;
            }
            if !moments.contains(&moment) {
                continue;
            }
            let mut draws = vec![
                Draw::Nothing,
                Draw::Everything,
                Draw::NamesOnly,
                Draw::NamesAndLengths,
                Draw::ContentsOnly,
            ];
            let single = random.sample(disk.pending(), SINGLE);
            draws.extend(single.iter().map(|&one| Draw::Without(one)));
            draws.extend(single.iter().map(|&one| Draw::Only(one)));
            draws.extend((0..RANDOM).map(|_| Draw::Random(random.number())));
            for draw in draws {
                if seen.len() >= drawing.count {
                    return (drawn, seen.len());
                }
                drawn += 1;
                let tree = disk.draw(&draw);
                let is_new = seen.insert(hash(&tree, acknowledged));
                let state = || State {
                    tree,
                    acknowledged,
                    what: format!("call {moment} ({}), {draw:?}", short(call)),
                };
                if is_new && !each(state()) {
                    return (drawn, seen.len());
                }
            }
        }
    }
    (drawn, seen.len())
}

fn short(call: &Call) -> String {
    match call {
        Call::Write { inode, at, data } => {
            format!("{} bytes at {at} of file {inode}", data.len())
        }
        other => format!("{other:?}"),
    }
}

fn hash(tree: &Tree, acknowledged: usize) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(&acknowledged.to_le_bytes());
    for (path, contents) in tree {
        add(path.as_bytes());
        add(&[u8::from(contents.is_some())]);
        add(contents.as_ref().map_or(&[], |contents| contents));
    }
    hasher.finalize()
}

fn look_at(
    world: &dyn World,
    states: &[Contents],
    receiver: &Mutex<Receiver<State>>,
    violations: &Mutex<Vec<Violation>>,
    drawing: &Drawing,
) {
    loop {
        let next = match receiver.lock() {
            Ok(receiver) => receiver.recv(),
            Err(_) => return,
        };
        let Ok(state) = next else { return };
        let dir = folder();
        lay_out(&state.tree, &dir.path().join(KEPT));
        if let Err(error) = world::check(world, states, state.acknowledged, dir.path()) {
            let mut violations = violations.lock().expect("the list of violations");
            if let Some(keep) = &drawing.keep {
                let place = keep.join(format!("{}-{}", world.name(), violations.len()));
                if violations.len() < 20 {
                    lay_out(&state.tree, &place);
                }
            }
            violations.push(Violation {
                at: state.what,
                what: error,
            });
        }
    }
}

/// Writes a tree below a folder.
fn lay_out(tree: &Tree, to: &Path) {
    fs::create_dir_all(to).expect("a folder for a state");
    for (path, contents) in tree {
        let path = to.join(path);
        match contents {
            None => fs::create_dir_all(&path).expect("a folder of a state"),
            Some(contents) => {
                let parent = path.parent().expect("it is below a folder");
                fs::create_dir_all(parent).expect("a folder of a state");
                let file = File::create(&path).and_then(|mut file| file.write_all(contents));
                file.expect("a file of a state");
            }
        }
    }
}
