//! The numbers of paragraphs in Word files, which the files do not hold as text: those of list items and headings.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::error::ReadError;
use crate::numerals::{Style, shown};
use crate::package::Package;
use crate::watch::Watch;
use crate::xml::{Node, Xml};

/// The most levels of a list.
const LEVELS: usize = 9;
/// The longest number, in bytes.
const LONGEST: usize = 64;
/// The longest id of a list, and the longest text around counts, in bytes.
const LONGEST_PART: usize = 256;

/// The lists of a file, and how far each has been counted.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// The lists by the ids that paragraphs name.
    lists: HashMap<String, List>,
    /// What lists look like; lists that share a look go on counting one another.
    looks: HashMap<String, [Level; LEVELS]>,
    counts: HashMap<String, [Option<u32>; LEVELS]>,
}

#[derive(Debug, Default)]
struct List {
    look: String,
    /// Where its levels start again, if they do; cleared once they have.
    starts: [Option<u32>; LEVELS],
}

#[derive(Debug, Default, Clone)]
struct Level {
    start: Option<u32>,
    style: Style,
    /// The text of a number, in which `%1` is the count of the first level.
    text: String,
    /// Whether the counts of all levels in it are decimal.
    is_legal: bool,
}

impl Numbering {
    pub(super) fn read(
        part: &str,
        package: &mut Package,
        watch: &Watch,
    ) -> Result<Self, ReadError> {
        let mut numbering = Self::default();
        let Some(text) = package.text(part)? else {
            return Ok(numbering);
        };
        let place = package.place.clone();
        let mut xml = Xml::new(&text, package.format(), &place, watch);
        let (mut look, mut list, mut level) = (String::new(), None, 0);
        while let Some(node) = xml.next()? {
            let Node::Start(element) = node else { continue };
            let value = || element.attribute("val").unwrap_or_default();
            let count = || value().parse::<u32>().ok();
            match element.name() {
                "abstractNum" => {
                    look = short(element.attribute("abstractNumId").unwrap_or_default());
                    list = None;
                    numbering.looks.entry(look.clone()).or_default();
                }
                "num" => list = element.attribute("numId"),
                "lvl" | "lvlOverride" => {
                    let index = element
                        .attribute("ilvl")
                        .and_then(|index| index.parse().ok());
                    level = index.unwrap_or(LEVELS);
                }
                name => match &list {
                    Some(list) => {
                        let list = numbering.lists.entry(list.clone()).or_default();
                        match name {
                            "abstractNumId" => list.look = short(value()),
                            "startOverride" => {
                                if let Some(start) = list.starts.get_mut(level) {
                                    *start = count();
                                }
                            }
                            _ => {}
                        }
                    }
                    None => {
                        let look = numbering.looks.get_mut(&look);
                        if let Some(level) = look.and_then(|levels| levels.get_mut(level)) {
                            match name {
                                "start" => level.start = count(),
                                "numFmt" => level.style = style(&value()),
                                "isLgl" => {
                                    level.is_legal = !matches!(value().as_str(), "0" | "false");
                                }
                                "lvlText" => level.text = short(value()),
                                _ => {}
                            }
                        }
                    }
                },
            }
        }
        Ok(numbering)
    }

    /// The number of the next paragraph of a list; `None` for a bullet.
    pub(super) fn count(&mut self, list: &str, level: usize) -> Option<String> {
        let list = self.lists.get_mut(list)?;
        let look = self.looks.get(&list.look)?;
        let own = look.get(level)?;
        let counts = self.counts.entry(list.look.clone()).or_default();
        let start = list.starts.get_mut(level)?.take();
        let first = |level: &Level| level.start.unwrap_or(1);
        for (index, (count, level_of)) in counts.iter_mut().zip(look).enumerate() {
            match index.cmp(&level) {
                Ordering::Less => *count = Some(count.unwrap_or(first(level_of))),
                Ordering::Equal => {
                    let next = count.map_or(first(own), |count| count.saturating_add(1));
                    *count = Some(start.unwrap_or(next));
                }
                Ordering::Greater => *count = None,
            }
        }
        if matches!(own.style, Style::Unnumbered) {
            return None;
        }
        let mut number = own.text.clone();
        for (index, (count, level)) in counts.iter().zip(look).enumerate() {
            let mark = format!("%{}", index + 1);
            if number.contains(&mark) && number.len() <= LONGEST {
                let style = match own.is_legal {
                    true => Style::Decimal,
                    false => level.style,
                };
                number = number.replace(&mark, &shown(count.unwrap_or(0), style));
            }
        }
        let number = number.trim();
        (!number.is_empty() && number.len() <= LONGEST).then(|| number.to_owned())
    }
}

/// A part of a list's definition, which each of its items takes; empty if it is too long for that.
pub(super) fn short(part: String) -> String {
    Some(part)
        .filter(|part| part.len() <= LONGEST_PART)
        .unwrap_or_default()
}

fn style(name: &str) -> Style {
    match name {
        "decimalZero" => Style::Padded,
        "lowerLetter" => Style::Letter,
        "upperLetter" => Style::CapitalLetter,
        "lowerRoman" => Style::Roman,
        "upperRoman" => Style::CapitalRoman,
        "bullet" | "none" => Style::Unnumbered,
        _ => Style::Decimal,
    }
}
