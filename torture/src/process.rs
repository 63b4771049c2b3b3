//! Starting this program as a worker process.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The exit status of a worker whose step was refused.
pub(crate) const REFUSED: i32 = 3;

/// This program as a worker of this kind.
///
/// # Panics
/// If the program is not found.
pub(crate) fn command(world: &str, kind: &str, dir: &Path) -> Command {
    let mut command = Command::new(program());
    command.args(["worker", kind, world]).arg(dir);
    command
}

/// The program itself, also from its tests.
fn program() -> PathBuf {
    match std::env::var_os("TORTURE_PROGRAM") {
        Some(program) => program.into(),
        None => std::env::current_exe().expect("this program"),
    }
}
