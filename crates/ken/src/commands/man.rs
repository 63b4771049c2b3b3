//! `ken man`: writes manual pages. It installs nothing.

use clap::CommandFactory;
use ken_storage::StorageError;

use crate::arguments::{Arguments, ManArguments};
use crate::failure::Result;

pub(crate) fn run(arguments: &ManArguments) -> Result<()> {
    let folder = &arguments.folder;
    ken_storage::create_dir_all(folder)?;
    let pages = Arguments::command().disable_help_subcommand(true);
    let written = clap_mangen::generate_to(pages, folder);
    Ok(written.map_err(StorageError::new("write manual pages to", folder))?)
}
