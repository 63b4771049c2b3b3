//! The open lists of a page, and the numbers of their items.

use crate::numerals::{Style, shown};

/// How deep lists are counted.
const DEEPEST: usize = 64;

/// The ways to write a list, each with an end of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Ordered,
    Unordered,
    Menu,
    Markdown,
}

impl ListKind {
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"ol" => Some(Self::Ordered),
            b"ul" => Some(Self::Unordered),
            b"menu" => Some(Self::Menu),
            _ => None,
        }
    }
}

#[derive(Default)]
pub(super) struct Lists {
    open: Vec<List>,
}

struct List {
    kind: ListKind,
    /// The number of the next item; `None` for lists without numbers.
    next: Option<u64>,
    style: Style,
    /// How many tables are around it.
    tables: usize,
}

impl Lists {
    /// Starts a list within so many tables; `first` is the number of its first item, if its items have numbers.
    pub(super) fn start(
        &mut self,
        kind: ListKind,
        first: Option<u64>,
        style: Style,
        tables: usize,
    ) {
        if self.open.len() < DEEPEST {
            self.open.push(List {
                kind,
                next: first,
                style,
                tables,
            });
        }
    }

    /// The number of the item that starts, as it is written; `own` is that of its tag.
    pub(super) fn item(&mut self, own: Option<u64>) -> Option<String> {
        let list = self.open.last_mut()?;
        let number = own.unwrap_or(list.next?);
        list.next = Some(number.saturating_add(1));
        Some(match u32::try_from(number) {
            Ok(number) => shown(number, list.style),
            Err(_) => number.to_string(),
        })
    }

    /// Ends the last list of this kind, and the lists in it, if it is within the last of so many tables. Returns false if
    /// there is none.
    pub(super) fn end(&mut self, kind: ListKind, tables: usize) -> bool {
        let is_meant = |list: &List| list.kind == kind && list.tables >= tables;
        let Some(index) = self.open.iter().rposition(is_meant) else {
            return false;
        };
        self.open.truncate(index);
        true
    }

    /// Ends the lists within the last of so many tables. Returns false if there are none.
    pub(super) fn end_in_cell(&mut self, tables: usize) -> bool {
        let around = self.open.iter().take_while(|list| list.tables < tables);
        let kept = around.count();
        let ends = kept < self.open.len();
        self.open.truncate(kept);
        ends
    }
}
