//! The sources for mdBook, in a temporary folder: the pages where they are in the repository, so that links between
//! them hold, pictures, and the list of chapters. A link to a file that is not a page becomes its text.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::chapters;
use crate::tidy::{Tree, leads_elsewhere, resolve};

const PICTURES: &str = "docs/images";

/// Writes everything into `staged/src`.
pub(super) fn stage(root: &Path, pages: &Tree, staged: &Path) -> Result<()> {
    let folder = staged.join("src");
    let is_on_site =
        |path: &str| pages.text(path).is_some() || path.starts_with(&format!("{PICTURES}/"));
    for page in &pages.files {
        let text = with_links_of_site(&page.path, &page.text, is_on_site);
        write(&folder.join(&page.path), text.as_bytes())?;
    }
    for entry in fs::read_dir(root.join(PICTURES)).context("cannot list the pictures")? {
        let picture = entry?;
        let content = fs::read(picture.path()).context("cannot read a picture")?;
        write(&folder.join(PICTURES).join(picture.file_name()), &content)?;
    }
    write(
        &folder.join("SUMMARY.md"),
        chapters::summary(pages)?.as_bytes(),
    )
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().context("a file has a folder")?;
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, content))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A page in which links to other files of the repository become their text, with the file as a tooltip.
fn with_links_of_site(page: &str, text: &str, is_on_site: impl Fn(&str) -> bool) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](")
        && let Some((target, following)) = after.split_once(')')
    {
        let file = file(page, target);
        let outside = file.as_ref().filter(|path| !is_on_site(path));
        match (outside, opening_bracket(before)) {
            (Some(path), Some(opening)) => {
                let label = &before[opening + 1..];
                written.push_str(&before[..opening]);
                written.push_str(&format!(
                    "<span title=\"{path} in the repository\">{label}</span>"
                ));
            }
            _ if file.as_deref() == Some(chapters::FIRST_PAGE) => {
                // mdBook calls this page index.html, and does not adapt links to it.
                let target = target.replacen(chapters::FIRST_PAGE, "index.html", 1);
                written.push_str(&format!("{before}]({target})"));
            }
            _ => written.push_str(&format!("{before}]({target})")),
        }
        rest = following;
    }
    written.push_str(rest);
    written
}

/// The file that a link leads to, unless it stays on its page or leaves the repository.
fn file(page: &str, target: &str) -> Option<String> {
    let path = target.split('#').next().filter(|path| !path.is_empty())?;
    (!leads_elsewhere(target)).then(|| resolve(page, path))?
}

/// The offset of the bracket that opens the label at the end of a text.
fn opening_bracket(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().rev().find_map(|(offset, sign)| {
        match sign {
            ']' => depth += 1,
            '[' if depth == 0 => return Some(offset),
            '[' => depth -= 1,
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_other_files_become_text() {
        let is_on_site = |path: &str| ["README.md", "docs/a.md"].contains(&path);
        let of = |text: &str| with_links_of_site("docs/how-to/b.md", text, is_on_site);
        let kept = "[a](../a.md#x), [here](#b), [web](https://x.org/y) and f(x)[0](";
        assert_eq!(of(kept), kept);
        assert_eq!(
            of("see [the `x[0]`\nfile](../../results/r/README.md), [a](../a.md)."),
            "see <span title=\"results/r/README.md in the repository\">the `x[0]`\nfile</span>, [a](../a.md)."
        );
    }

    #[test]
    fn links_to_the_first_page_have_its_name_on_the_site() {
        let text = "[start](../README.md#two-commands)";
        let written = with_links_of_site("docs/tutorial.md", text, |_| true);
        assert_eq!(written, "[start](../index.html#two-commands)");
    }
}
