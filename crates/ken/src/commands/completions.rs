//! `ken completions`: prints a shell's completions. It installs nothing.

use clap::CommandFactory;

use crate::arguments::{Arguments, CompletionsArguments};
use crate::failure::Result;
use crate::output;

pub(crate) fn run(arguments: &CompletionsArguments) -> Result<()> {
    let (mut command, mut script) = (Arguments::command(), Vec::new());
    clap_complete::generate(arguments.shell, &mut command, "ken", &mut script);
    output::text(&String::from_utf8_lossy(&script))
}
