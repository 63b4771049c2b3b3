//! Checks that the links of a site lead somewhere: every relative address in its pages is a file, and every anchor an
//! id on the page that it names. It does not follow links to other sites, and does not see addresses in scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tidy::{Finding, files_below, leads_elsewhere, resolve};

/// The ids and links of a page.
#[derive(Default)]
struct Html {
    ids: BTreeSet<String>,
    /// The values of `href` and `src`.
    targets: Vec<String>,
}

/// A site's files, with the content of those that are pages.
type Files = BTreeMap<String, Option<Html>>;

/// Every link that leads nowhere, by page.
pub(super) fn findings(site: &Path) -> Result<Vec<Finding>> {
    let mut files = Files::new();
    for path in files_below(site, |_| false)? {
        let text = path.ends_with(".html").then(|| {
            fs::read_to_string(site.join(&path)).with_context(|| format!("cannot read {path}"))
        });
        let html = text.transpose()?.map(|text| read(&text));
        files.insert(path, html);
    }
    let mut findings = Vec::new();
    for (path, html) in &files {
        for target in html.iter().flat_map(|html| &html.targets) {
            if !leads_elsewhere(target) && !is_there(&files, path, target) {
                let message = format!("links to {target}, which does not exist");
                findings.push(Finding::of_file(path, message));
            }
        }
    }
    Ok(findings)
}

fn is_there(files: &Files, page: &str, target: &str) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => Some(page.to_owned()),
        path => resolve(page, path),
    };
    let Some(file) = path.and_then(|path| files.get(&path)) else {
        return false;
    };
    anchor.is_empty() || file.as_ref().is_some_and(|html| html.ids.contains(anchor))
}

/// Reads the tags of a page, skipping scripts.
fn read(text: &str) -> Html {
    let mut html = Html::default();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, content) = after.split_once('>').unwrap_or((after, ""));
        html.ids.extend(attribute(tag, "id"));
        html.targets.extend(attribute(tag, "href"));
        html.targets.extend(attribute(tag, "src"));
        rest = match tag.starts_with("script") {
            true => content.split_once("</script>").map_or("", |(_, end)| end),
            false => content,
        };
    }
    html
}

/// The value of a tag's attribute.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let opening = format!("{name}=\"");
    let (offset, _) = tag
        .match_indices(&opening)
        .find(|(offset, _)| tag[..*offset].ends_with(char::is_whitespace))?;
    let value = tag[offset + opening.len()..].split('"').next()?;
    Some(value.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings on a page of a site that has another page and a picture.
    fn findings_on(page: &str) -> Vec<String> {
        let site = tempfile::tempdir().unwrap();
        fs::create_dir(site.path().join("how")).unwrap();
        let other = "<h2 class=\"x\"\n id=\"part\">Part</h2>";
        for (path, text) in [("how/a.html", page), ("b.html", other), ("c.png", "")] {
            fs::write(site.path().join(path), text).unwrap();
        }
        let findings = findings(site.path()).unwrap();
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_hold_are_not_found() {
        let page = "<p id=\"here\"><a href=\"../b.html#part\">b</a> <img src=\"../c.png\"> <a href=\"#here\">h</a> \
            <a href=\"https://x.org/y\">y</a> <code>&lt;a href=\"gone\"&gt;</code> \
            <script src=\"../c.png\">'<a href=\"gone\">'</script>";
        assert_eq!(findings_on(page), [""; 0]);
    }

    #[test]
    fn a_dead_link_names_its_page() {
        assert_eq!(
            findings_on("<a class=\"x\" href=\"b.html\">b</a>"),
            ["how/a.html: links to b.html, which does not exist"]
        );
        assert_eq!(findings_on("<a href=\"../b.html#gone\">b</a>").len(), 1);
        assert_eq!(findings_on("<a href=\"#gone\">b</a>").len(), 1);
        assert_eq!(findings_on("<img src=\"../../c.png\">").len(), 1);
        assert_eq!(
            findings_on("<script></script><a href=\"../c.png#x\">c</a>").len(),
            1
        );
    }
}
