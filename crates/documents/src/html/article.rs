//! The main content of a page: its article without menus, margins and footers, if it has one.
//!
//! A page has an article if its paragraphs look like one and nearly all prose is in it. Manuals with tables, lists of
//! links and applications keep all text: a search never finds text that was left out in error.

use std::collections::HashSet;

use dom_smoothie::{Config, Readability};

use super::elements::is_void;
use ken_storage::contained;

/// Larger pages, and those with more or deeper tags, are read as a whole: their tree takes many times their size,
/// and the search for an article cannot be stopped.
const MOST_BYTES: usize = 4 << 20;
const MOST_TAGS: usize = 50_000;
const DEEPEST: usize = 256;

/// The least bytes of an article.
const LEAST_TEXT: usize = 500;
/// The least bytes of a line of an article's prose.
const PROSE: usize = 120;
/// The least bytes of a line outside of the article that counts as prose: shorter ones announce other pages.
const PROSE_LEFT_OUT: usize = 200;
/// The ratio of an article's prose to the most prose that may be outside of it.
const PROSE_TO_ONE_LEFT_OUT: usize = 3;

/// The HTML of the article of a page whose text is `all`.
pub(super) fn article_of(html: &str, all: &str) -> Option<String> {
    if all.len() < LEAST_TEXT || !is_small(html) {
        return None;
    }
    let config = Config {
        disable_json_ld: true,
        max_elements_to_parse: MOST_TAGS,
        ..Config::default()
    };
    let article = || {
        let mut page = Readability::new(html, None, Some(config)).ok()?;
        if !page.is_probably_readable() {
            return None;
        }
        let article = page.parse().ok()?;
        Some(article.content.to_string())
    };
    // The library may panic on trees of broken pages.
    contained(article).ok().flatten()
}

/// Whether `main` is the article of a page whose text is `all`: it has nearly all of its prose.
pub(super) fn is_article(main: &str, all: &str) -> bool {
    let lines = |text: &str| -> HashSet<String> {
        let lines = text
            .lines()
            .map(|line| line.split_whitespace().collect::<String>());
        lines.collect()
    };
    let kept = lines(main);
    let long = main
        .lines()
        .map(str::trim)
        .filter(|line| line.len() >= PROSE);
    let prose: usize = long.map(str::len).sum();
    // Rows of tables count as well.
    let counts = |line: &&str| line.len() >= PROSE_LEFT_OUT || line.contains('\t');
    let left_out = all.lines().map(str::trim).filter(counts).filter(|line| {
        let bare: String = line.split_whitespace().collect();
        !kept.contains(&bare)
    });
    let left_out: usize = left_out.map(str::len).sum();
    main.len() >= LEAST_TEXT && prose > 0 && left_out <= prose / PROSE_TO_ONE_LEFT_OUT
}

/// Whether a tree of the page is affordable.
fn is_small(html: &str) -> bool {
    let (mut tags, mut depth) = (0_usize, 0_usize);
    let mut rest = html;
    if html.len() > MOST_BYTES {
        return false;
    }
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, next) = after.split_once('>').unwrap_or((after, ""));
        rest = next;
        if tag.starts_with('/') {
            depth = depth.saturating_sub(1);
        } else if tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
            tags += 1;
            let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next();
            let name = name.unwrap_or_default().to_ascii_lowercase();
            // Elements whose end tags are usually omitted nest no deeper than those around them.
            let ends = matches!(
                name.as_str(),
                "p" | "li" | "dt" | "dd" | "tr" | "td" | "th" | "option" | "tbody" | "thead"
            );
            if !ends && !tag.ends_with('/') && !is_void(name.as_bytes()) {
                depth += 1;
            }
        }
        if tags > MOST_TAGS || depth > DEEPEST {
            return false;
        }
    }
    true
}
