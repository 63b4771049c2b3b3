//! `ken man`: writes manual pages. It installs nothing.

use clap::CommandFactory;
use ken_storage::StorageError;

use crate::arguments::{Arguments, ManArguments};
use crate::failure::Result;

pub(crate) fn run(arguments: &ManArguments) -> Result<()> {
    let folder = &arguments.folder;
    ken_storage::create_dir_all(folder)?;
    let pages = Arguments::command().disable_help_subcommand(true);
    clap_mangen::generate_to(pages, folder).map_err(|source| StorageError {
        action: "write manual pages to",
        path: folder.clone(),
        source,
    })?;
    Ok(())
}
