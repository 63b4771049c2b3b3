//! The list of chapters: the path of a page decides its part, and pages are ordered by title.

use anyhow::{Context, Result, ensure};

use crate::tidy::{SourceFile, Tree};

pub(super) const FIRST_PAGE: &str = "README.md";

/// The parts of the list and how the paths of their pages begin. A page belongs to the first part that fits.
const PARTS: &[(&str, &[&str])] = &[
    ("Start here", &["docs/for-", "docs/limits"]),
    ("Tutorials", &["docs/tutorial"]),
    ("How to", &["docs/how-to/"]),
    ("Reference", &["docs/reference/"]),
    ("Background", &["docs/"]),
    ("The project", &[""]),
];

/// The list in the form of mdBook's `SUMMARY.md`.
pub(super) fn summary(pages: &Tree) -> Result<String> {
    let mut parts = vec![Vec::new(); PARTS.len()];
    for page in pages.files.iter().filter(|page| page.path != FIRST_PAGE) {
        parts[part(&page.path)?].push((title(page)?, page.path.as_str()));
    }
    let first_page = pages.files.iter().find(|page| page.path == FIRST_PAGE);
    let first_title = title(first_page.context("no README.md")?)?;
    let mut text = format!("# Chapters\n\n[{first_title}]({FIRST_PAGE})\n");
    for ((name, _), mut chapters) in PARTS.iter().zip(parts) {
        ensure!(!chapters.is_empty(), "no page for the part \"{name}\"");
        chapters.sort_unstable();
        text.push_str(&format!("\n# {name}\n\n"));
        for (title, path) in chapters {
            text.push_str(&format!("- [{title}]({path})\n"));
        }
    }
    Ok(text)
}

/// The index of a page's part.
fn part(path: &str) -> Result<usize> {
    PARTS
        .iter()
        .position(|(_, beginnings)| beginnings.iter().any(|start| path.starts_with(start)))
        .with_context(|| format!("{path} is in no part"))
}

/// The first heading of a page.
fn title(page: &SourceFile) -> Result<&str> {
    page.text
        .lines()
        .find_map(|line| line.strip_prefix("# "))
        .with_context(|| format!("{} has no title", page.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_stand_in_their_parts_by_title() {
        let pages = Tree::of(&[
            ("CHANGELOG.md", "# Changelog"),
            ("README.md", "# ken\n"),
            ("docs/decisions.md", "# Decisions"),
            ("docs/for-agents.md", "# For agents"),
            ("docs/how-to/a.md", "text\n# Serve\n# Not this"),
            ("docs/how-to/b.md", "# Install"),
            ("docs/reference/cli.md", "# The command line"),
            ("docs/tutorial.md", "# Tutorial"),
        ]);
        let expected = "# Chapters\n\n[ken](README.md)\n\n\
            # Start here\n\n- [For agents](docs/for-agents.md)\n\n\
            # Tutorials\n\n- [Tutorial](docs/tutorial.md)\n\n\
            # How to\n\n- [Install](docs/how-to/b.md)\n- [Serve](docs/how-to/a.md)\n\n\
            # Reference\n\n- [The command line](docs/reference/cli.md)\n\n\
            # Background\n\n- [Decisions](docs/decisions.md)\n\n\
            # The project\n\n- [Changelog](CHANGELOG.md)\n";
        assert_eq!(summary(&pages).unwrap(), expected);
    }

    #[test]
    fn a_page_without_a_title_is_an_error() {
        let pages = Tree::of(&[("README.md", "no heading")]);
        assert!(summary(&pages).is_err());
    }
}
