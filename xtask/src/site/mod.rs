//! `cargo xtask site`: builds the documentation as pages with a search into `target/site`. mdBook makes the pages and
//! the search index; this makes the list of chapters and the page of routes, and checks links.

mod book;
mod chapters;
mod dead_links;
mod routes;
mod schemas;
mod sources;

use std::path::Path;

use anyhow::{Context, Result};

use crate::stages::{report, stage};
use crate::tidy::Tree;

/// Builds the site and checks it.
pub(crate) fn make(root: &Path) -> Result<()> {
    let mdbook = stage("mdBook", book::ensure)?;
    let staged = tempfile::tempdir().context("no temporary folder")?;
    let site = root.join("target/site");
    stage("sources", || {
        sources::stage(root, &pages(root)?, staged.path())
    })?;
    stage("pages", || book::build(&mdbook, staged.path(), &site))?;
    stage("links", || report(&dead_links::findings(&site)?))?;
    println!("{}", site.join("index.html").display());
    Ok(())
}

/// The pages of the repository and the one of routes.
fn pages(root: &Path) -> Result<Tree> {
    let mut tree = Tree::read(root)?;
    let routes = routes::page(root, &tree)?;
    tree.files.retain(|file| is_page(&file.path));
    tree.files.push(routes);
    Ok(tree)
}

/// Documents beside the README, and everything below `docs`.
fn is_page(path: &str) -> bool {
    path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'))
}
