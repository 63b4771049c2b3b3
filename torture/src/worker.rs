//! Worker processes, which take steps under the preloaded library.

use std::io::Write;
use std::path::Path;

use crate::company;
use crate::crash::log::acknowledged;
use crate::damage;
use crate::faults;
use crate::process::REFUSED;
use crate::shim::Control;
use crate::world::Taken;
use crate::worlds;

/// Takes the remaining steps in order, and records each that returns.
fn steps(world: &str, dir: &Path) {
    let world = worlds::named(world);
    let mut log = std::env::var_os("TORTURE_LOG").map(|path| {
        let file = std::fs::File::options().append(true).open(path);
        file.expect("the log")
    });
    let control = std::env::var_os("TORTURE_CONTROL").map(|page| Control::open(Path::new(&page)));
    let mut taken = Taken::open(dir);
    let most =
        std::env::var("TORTURE_STEPS").map_or(usize::MAX, |most| most.parse().expect("a number"));
    for step in (taken.count()..world.steps()).take(most) {
        if let Some(control) = &control {
            control.forget_changes();
        }
        if let Err(refusal) = world.take(dir, step) {
            eprintln!("step {step}: {refusal:?}");
            std::process::exit(REFUSED);
        }
        taken.one_more();
        if let Some(log) = &mut log {
            log.write_all(&acknowledged(step + 1)).expect("the log");
        }
    }
}

/// Runs a worker of a kind.
///
/// # Panics
/// If there is no such kind.
pub fn run(kind: &str, world: &str, dir: &Path) {
    match kind {
        "steps" => steps(world, dir),
        "count" => faults::count(world, dir),
        "faults" => faults::strike(world, dir),
        "damage" => damage::work(world, dir),
        "writer" => company::write(dir),
        "readers" => company::read(dir),
        other => panic!("there is no worker {other:?}"),
    }
}
