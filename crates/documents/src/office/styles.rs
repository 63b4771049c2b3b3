//! The styles of a Word file, which tell headings and their levels.

use std::collections::HashMap;

use super::numbering::short;
use crate::error::ReadError;
use crate::package::Package;
use crate::watch::Watch;
use crate::xml::{Node, Xml};

/// The longest chain of styles, each based on the next.
const LONGEST_CHAIN: usize = 20;

/// The role that a style gives a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Title,
    /// The level counts from 1.
    Heading(usize),
    /// A line of the table of contents.
    Contents,
}

/// The styles of a file by their ids.
#[derive(Debug, Default)]
pub(super) struct Styles(HashMap<String, Style>);

#[derive(Debug, Default)]
struct Style {
    role: Option<Role>,
    /// The list of its paragraphs, `0` for none; `None` if the style that it is based on decides.
    list: Option<String>,
    /// Their level in the list, from 0.
    list_level: Option<usize>,
    based_on: Option<String>,
}

impl Styles {
    pub(super) fn read(
        part: &str,
        package: &mut Package,
        watch: &Watch,
    ) -> Result<Self, ReadError> {
        let mut styles = Self::default();
        let Some(text) = package.text(part)? else {
            return Ok(styles);
        };
        let place = package.place.clone();
        let mut xml = Xml::new(&text, package.format(), &place, watch);
        let mut open: Option<(String, Style)> = None;
        while let Some(node) = xml.next()? {
            match node {
                Node::Start(element) => {
                    let value = || element.attribute("val").unwrap_or_default();
                    match (element.name(), &mut open) {
                        ("style", _) => {
                            let id = element.attribute("styleId").unwrap_or_default();
                            open = Some((id, Style::default()));
                        }
                        ("name", Some((_, style))) => style.role = role_of(&value()).or(style.role),
                        ("basedOn", Some((_, style))) => style.based_on = Some(value()),
                        ("numId", Some((_, style))) => style.list = Some(short(value())),
                        ("ilvl", Some((_, style))) => style.list_level = value().parse().ok(),
                        ("outlineLvl", Some((_, style))) if style.role.is_none() => {
                            style.role = level(&value());
                        }
                        _ => {}
                    }
                }
                Node::End(end) if end.name() == "style" => {
                    if let Some((id, style)) = open.take() {
                        styles.0.insert(id, style);
                    }
                }
                _ => {}
            }
        }
        Ok(styles)
    }

    /// The role that the style with this id, or one that it is based on, gives a paragraph.
    pub(super) fn role(&self, id: &str) -> Option<Role> {
        // Files without styles name the usual ones.
        match self.0.contains_key(id) {
            true => self.chain(id).find_map(|style| style.role),
            false => role_of(id),
        }
    }

    /// The list of paragraphs in the style of this id, `0` for none, and their level in it.
    pub(super) fn list(&self, id: &str) -> Option<(&str, usize)> {
        let list = self.chain(id).find_map(|style| style.list.as_deref())?;
        let level = self.chain(id).find_map(|style| style.list_level);
        Some((list, level.unwrap_or(0)))
    }

    /// A style, and those that it is based on.
    fn chain(&self, id: &str) -> impl Iterator<Item = &Style> {
        let first = self.0.get(id);
        let next = |style: &&Style| self.0.get(style.based_on.as_deref()?);
        std::iter::successors(first, next).take(LONGEST_CHAIN)
    }
}

/// The role of a style by its name, e.g. "heading 2".
fn role_of(name: &str) -> Option<Role> {
    let name = name.to_lowercase();
    if name == "title" {
        return Some(Role::Title);
    }
    if let Some(number) = name.strip_prefix("heading") {
        let number: usize = number.trim().parse().ok()?;
        return (1..=9).contains(&number).then_some(Role::Heading(number));
    }
    let number = name.strip_prefix("toc")?.trim();
    number
        .chars()
        .all(|c| c.is_ascii_digit())
        .then_some(Role::Contents)
}

/// The role of an outline level, which counts from 0; 9 is body text.
pub(super) fn level(value: &str) -> Option<Role> {
    let level: usize = value.parse().ok()?;
    (level < 9).then_some(Role::Heading(level + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_by_name() {
        assert_eq!(role_of("heading 2"), Some(Role::Heading(2)));
        assert_eq!(role_of("Heading1"), Some(Role::Heading(1)));
        assert_eq!(role_of("Title"), Some(Role::Title));
        assert_eq!(role_of("toc 1"), Some(Role::Contents));
        assert_eq!(role_of("heading"), None);
        assert_eq!(role_of("Normal"), None);
        assert_eq!(level("0"), Some(Role::Heading(1)));
        assert_eq!(level("9"), None);
    }
}
