//! The lists of an OpenDocument file, and the numbers of their items and of headings, which the file does not hold as text.

use std::collections::HashMap;

use super::numbering::short;
use crate::numerals::{Style, shown};
use crate::xml::Element;

/// The most levels of a list.
const LEVELS: usize = 10;
/// The most open lists.
const MOST_OPEN: usize = 100;

/// The styles of lists and headings, the open lists, and how far headings were counted.
#[derive(Debug, Default)]
pub(super) struct Lists {
    styles: HashMap<String, [Level; LEVELS]>,
    /// The name of the style that is being read.
    style: String,
    open: Vec<List>,
    /// The counts of the lists that ended, by style.
    ended: HashMap<String, u32>,
    /// The levels of headings, and the counts of the last heading of each.
    outline: [Level; LEVELS],
    headings: [Option<u32>; LEVELS],
}

/// How the items of a level are numbered; not at all without a style.
#[derive(Debug, Default, Clone)]
struct Level {
    style: Option<Style>,
    before: String,
    after: String,
    start: u32,
    /// How many levels the number shows.
    levels: usize,
}

#[derive(Debug, Default)]
struct List {
    style: String,
    /// The number of the last item.
    count: Option<u32>,
}

impl Lists {
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Reads a part of a style.
    pub(super) fn define(&mut self, element: &Element<'_>) {
        let text = |name| short(element.attribute(name).unwrap_or_default());
        match element.name() {
            "list-style" => self.style = text("name"),
            name @ ("list-level-style-number" | "outline-level-style") => {
                let level = text("level").parse::<usize>().unwrap_or(1);
                let levels = match name {
                    "outline-level-style" => &mut self.outline,
                    _ => self.styles.entry(self.style.clone()).or_default(),
                };
                if let Some(level) = levels.get_mut(level.saturating_sub(1)) {
                    *level = Level {
                        style: Style::of_sign(&text("num-format")),
                        before: text("num-prefix"),
                        after: text("num-suffix"),
                        start: text("start-value").parse().unwrap_or(1),
                        levels: text("display-levels").parse().unwrap_or(1),
                    };
                }
            }
            _ => {}
        }
    }

    /// Starts a list, which may go on counting the last one of its style. One within another has the style of that.
    pub(super) fn start(&mut self, element: &Element<'_>) {
        let around = self.open.last().map(|list| list.style.clone());
        let style = element.attribute("style-name").map(short).or(around);
        let style = style.unwrap_or_default();
        let goes_on = element.attribute("continue-numbering").as_deref() == Some("true")
            || element.attribute("continue-list").is_some();
        let before = self
            .ended
            .get(&style)
            .filter(|_| goes_on && self.open.is_empty());
        let count = before.copied();
        if self.open.len() < MOST_OPEN {
            self.open.push(List { style, count });
        }
    }

    pub(super) fn end(&mut self) {
        if let Some(list) = self.open.pop()
            && let (Some(count), true) = (list.count, self.open.is_empty())
        {
            self.ended.insert(list.style, count);
        }
    }

    /// Starts an item; its number, if it has one.
    pub(super) fn item(&mut self, element: &Element<'_>) -> Option<String> {
        let depth = self.open.len();
        let list = self.open.last_mut()?;
        let levels = self.styles.get(&list.style)?;
        let level = levels.get(depth - 1)?;
        let given = element.attribute("start-value");
        let next = list
            .count
            .map_or(level.start, |count| count.saturating_add(1));
        list.count = Some(given.and_then(|given| given.parse().ok()).unwrap_or(next));
        number(self.open.iter().map(|list| list.count), levels, depth)
    }

    /// Starts a heading, whose level counts from 1; its number, if it has one.
    pub(super) fn heading(&mut self, level: usize, element: &Element<'_>) -> Option<String> {
        let is_set = |name| element.attribute(name).as_deref() == Some("true");
        if is_set("is-list-header") {
            return None;
        }
        let (_, below) = self.headings.split_at_mut_checked(level)?;
        below.fill(None);
        let start = self.outline.get(level.checked_sub(1)?)?.start;
        let last = self.headings.get_mut(level - 1)?;
        let next = match *last {
            Some(count) if !is_set("restart-numbering") => count.saturating_add(1),
            _ => start,
        };
        let given = element.attribute("start-value");
        *last = Some(given.and_then(|given| given.parse().ok()).unwrap_or(next));
        number(self.headings.iter().copied(), &self.outline, level)
    }
}

/// The number at a depth, given the counts of the levels down to it; `None` if that level has none.
fn number(
    counts: impl Iterator<Item = Option<u32>>,
    levels: &[Level],
    depth: usize,
) -> Option<String> {
    let own = levels.get(depth.checked_sub(1)?)?;
    own.style?;
    let first = depth - own.levels.clamp(1, depth);
    let numbers = counts.take(depth).zip(levels).skip(first);
    let numbers: Vec<String> = numbers
        .filter_map(|(count, level)| Some(shown(count.unwrap_or(level.start), level.style?)))
        .collect();
    Some(format!("{}{}{}", own.before, numbers.join("."), own.after))
}
