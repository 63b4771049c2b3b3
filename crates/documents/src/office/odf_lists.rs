//! The lists of an OpenDocument file, and the numbers of their items, which the file does not hold as text.

use std::collections::HashMap;

use super::numbering::{Style, short, shown};
use crate::xml::Element;

/// The most levels of a list.
const LEVELS: usize = 10;
/// The most open lists.
const MOST_OPEN: usize = 100;

/// The styles of lists, and the open lists.
#[derive(Debug, Default)]
pub(super) struct Lists {
    styles: HashMap<String, [Level; LEVELS]>,
    /// The name of the style that is being read.
    style: String,
    open: Vec<List>,
    /// The counts of the lists that ended, by style.
    ended: HashMap<String, u32>,
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
            "list-level-style-number" => {
                let level = text("level").parse::<usize>().unwrap_or(1);
                let levels = self.styles.entry(self.style.clone()).or_default();
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
        level.style?;
        let first = depth - level.levels.clamp(1, depth);
        let numbers = self.open.iter().zip(levels).skip(first);
        let numbers: Vec<String> = numbers
            .filter_map(|(list, level)| {
                Some(shown(list.count.unwrap_or(level.start), level.style?))
            })
            .collect();
        Some(format!(
            "{}{}{}",
            level.before,
            numbers.join("."),
            level.after
        ))
    }
}
