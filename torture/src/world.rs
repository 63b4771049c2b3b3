//! Worlds: lists of steps on some files, the contents that can be read after each, and the comparison with the contents
//! that have to be there.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The readable contents, by name.
pub type Contents = BTreeMap<String, String>;

/// Why a step was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The short name of the kind of error.
    pub kind: String,
    /// Its message.
    pub message: String,
}

impl Refusal {
    /// An error with its kind.
    pub fn new(kind: &str, error: &dyn std::fmt::Display) -> Self {
        Self {
            kind: kind.to_owned(),
            message: error.to_string(),
        }
    }
}

/// The folder below a run's folder whose files are tested; its siblings are inputs.
pub const KEPT: &str = "kept";

/// Files with steps that change them.
pub trait World: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The number of steps.
    fn steps(&self) -> usize;

    /// Takes a step on the files below `dir`/[`KEPT`]. Taking it once more changes nothing.
    ///
    /// # Errors
    /// What the step returns.
    fn take(&self, dir: &Path, step: usize) -> Result<(), Refusal>;

    /// The readable contents below `dir`/[`KEPT`]; empty if no step was ever completed there.
    ///
    /// # Errors
    /// Files that cannot be opened or are damaged.
    fn contents(&self, dir: &Path) -> Result<Contents, String>;

    /// Whether `found` may be there after a step was started on `before`, which leads to `after`.
    fn allows(&self, before: &Contents, after: Option<&Contents>, found: &Contents) -> bool {
        found == before || Some(found) == after
    }
}

/// Runs `work`; a panic is an error.
///
/// # Errors
/// What `work` returns, and that it panicked.
pub fn without_panic<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", message.unwrap_or("for no reason")))
    })
}

/// The contents before the first step, and after each.
///
/// # Panics
/// If a step fails although nothing is wrong.
#[must_use]
pub fn states(world: &dyn World) -> Vec<Contents> {
    let dir = crate::shim::folder();
    make_kept(dir.path());
    let mut states = vec![Contents::new()];
    for step in 0..world.steps() {
        if let Err(refusal) = world.take(dir.path(), step) {
            panic!("{}, step {step}: {refusal:?}", world.name());
        }
        let found = world.contents(dir.path());
        states.push(found.unwrap_or_else(|error| panic!("{}, step {step}: {error}", world.name())));
    }
    states
}

/// Makes the folder whose files count.
///
/// # Panics
/// If it cannot be made.
pub fn make_kept(dir: &Path) {
    fs::create_dir_all(dir.join(KEPT)).expect("a folder for the files");
}

/// Checks what is found below `dir` after `taken` steps were acknowledged and the next perhaps started, and
/// takes the steps that are left.
///
/// # Errors
/// What is lost, cannot be opened, or does not go on.
pub fn check(
    world: &dyn World,
    states: &[Contents],
    taken: usize,
    dir: &Path,
) -> Result<(), String> {
    let found = without_panic(|| world.contents(dir))
        .map_err(|error| format!("cannot be read after step {taken}: {error}"))?;
    if !world.allows(&states[taken], states.get(taken + 1), &found) {
        return Err(format!(
            "after step {taken} it holds {}",
            difference(&states[taken], &found)
        ));
    }
    complete(world, states, taken, dir)
}

/// Takes the steps from `taken` on and checks what is there then.
///
/// # Errors
/// What does not go on.
pub fn complete(
    world: &dyn World,
    states: &[Contents],
    taken: usize,
    dir: &Path,
) -> Result<(), String> {
    for step in taken..world.steps() {
        without_panic(|| {
            let done = world.take(dir, step);
            done.map_err(|refusal| format!("{}: {}", refusal.kind, refusal.message))
        })
        .map_err(|error| format!("does not go on from step {taken} by step {step}: {error}"))?;
    }
    let found = without_panic(|| world.contents(dir))
        .map_err(|error| format!("cannot be read after all, from step {taken}: {error}"))?;
    match states.last() {
        Some(last) if *last != found => Err(format!(
            "after all steps, from step {taken}, it holds {}",
            difference(last, &found)
        )),
        _ => Ok(()),
    }
}

/// What is missing and what is too much, in short.
fn difference(expected: &Contents, found: &Contents) -> String {
    let names = |one: &Contents, other: &Contents| {
        let names: Vec<&str> = one
            .iter()
            .filter(|(name, text)| other.get(*name) != Some(text))
            .map(|(name, _)| name.as_str())
            .collect();
        match names.len() {
            0..4 => format!("{names:?}"),
            more => format!("{:?} and {} more", &names[..3], more - 3),
        }
    };
    format!(
        "{} things for {}; lost or changed: {}; instead: {}",
        found.len(),
        expected.len(),
        names(expected, found),
        names(found, expected)
    )
}

/// Notes below `dir` how many steps were taken.
pub struct Taken(File, usize);

impl Taken {
    /// Goes on from what is noted.
    ///
    /// # Panics
    /// If the note cannot be written.
    #[must_use]
    pub fn open(dir: &Path) -> Self {
        let mut options = File::options();
        let file = options.create(true).append(true).open(note(dir));
        Self(file.expect("the note"), read_taken(dir))
    }

    /// How many steps were taken.
    #[must_use]
    pub fn count(&self) -> usize {
        self.1
    }

    /// One more was taken.
    ///
    /// # Panics
    /// If it cannot be noted.
    pub fn one_more(&mut self) {
        self.0.write_all(b".").expect("the note");
        self.1 += 1;
    }
}

fn note(dir: &Path) -> PathBuf {
    dir.join("taken")
}

/// How many steps were noted below `dir`.
#[must_use]
pub fn read_taken(dir: &Path) -> usize {
    fs::read(note(dir)).map_or(0, |note| note.len())
}

/// Checks what is found below `dir` after `taken` steps of which none failed, and takes those that are left.
///
/// # Errors
/// What is lost, cannot be opened, or does not go on.
pub fn check_done(
    world: &dyn World,
    states: &[Contents],
    taken: usize,
    dir: &Path,
) -> Result<(), String> {
    let found = without_panic(|| world.contents(dir))
        .map_err(|error| format!("cannot be read after step {taken}: {error}"))?;
    if found != states[taken] {
        return Err(format!(
            "after step {taken}, which succeeded, it holds {}",
            difference(&states[taken], &found)
        ));
    }
    complete(world, states, taken, dir)
}
