//! Draws the progress that the libraries report as data: on stderr, with rate
//! and remaining time, and not at all where stderr is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ken_hub as hub;

use crate::terminal;

const BYTES: &str = "{prefix} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
const BYTES_OPEN: &str = "{prefix} {spinner} {bytes} {bytes_per_sec}";
const ITEMS: &str = "{prefix} {bar:30} {human_pos}/{human_len} {per_sec} {eta} left";
const ITEMS_OPEN: &str = "{prefix} {spinner} {human_pos} {per_sec}";

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Items,
}

/// One line of progress at a time; a new label starts a new line. It clears
/// itself when dropped.
pub(crate) struct Display {
    bar: ProgressBar,
    label: String,
    total: Option<u64>,
}

impl Display {
    /// Draws nothing before the first report.
    pub(crate) fn new() -> Self {
        Self {
            bar: ProgressBar::hidden(),
            label: String::new(),
            total: None,
        }
    }

    /// Shows that `done` of `total` units of the work named `label` are done.
    pub(crate) fn show(&mut self, label: &str, unit: Unit, done: u64, total: Option<u64>) {
        if self.label != label || self.total != total {
            self.bar.finish_and_clear();
            self.bar = bar(label, unit, done, total);
            label.clone_into(&mut self.label);
            self.total = total;
        }
        self.bar.set_position(done);
    }

    /// As [`Display::show`], for items of which the number is known.
    pub(crate) fn show_items(&mut self, label: &str, done: usize, total: usize) {
        self.show(label, Unit::Items, done as u64, Some(total as u64));
    }

    /// As [`Display::show`], with what is known so far beside the label.
    pub(crate) fn show_beside(&mut self, label: &str, known: &str, done: u64, total: u64) {
        self.show(label, Unit::Items, done, Some(total));
        let known = format!("{label}: {known}");
        self.bar.set_prefix(terminal::line(&known).into_owned());
    }

    /// Shows how far documents are taken in, by the bytes of their files.
    pub(crate) fn show_ingest(&mut self, step: &ken_ingest::Progress) {
        self.show(
            "ingest",
            Unit::Bytes,
            step.read.bytes_read,
            step.read.bytes_total,
        );
        self.bar.set_prefix(format!(
            "{} documents, {} passages",
            step.documents, step.passages
        ));
    }

    /// Shows one step of the model hub.
    pub(crate) fn show_hub(&mut self, step: &hub::Progress) {
        let doing = match step.stage {
            hub::Stage::Waiting => "waiting for",
            hub::Stage::Downloading => "fetching",
            hub::Stage::Verifying => "checking",
            hub::Stage::Unpacking => "unpacking",
        };
        let label = format!("{doing} {}", step.file);
        self.show(&label, Unit::Bytes, step.bytes_done, step.bytes_total);
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Draws how many items of all are done, until it is dropped.
pub(crate) fn counting(label: &str) -> impl FnMut(usize, usize) + use<> {
    let (mut display, label) = (Display::new(), label.to_owned());
    move |done, total| display.show_items(&label, done, total)
}

fn bar(label: &str, unit: Unit, done: u64, total: Option<u64>) -> ProgressBar {
    let template = match (unit, total) {
        (Unit::Bytes, Some(_)) => BYTES,
        (Unit::Bytes, None) => BYTES_OPEN,
        (Unit::Items, Some(_)) => ITEMS,
        (Unit::Items, None) => ITEMS_OPEN,
    };
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::no_length(),
    };
    let bar = bar
        .with_style(style)
        .with_prefix(terminal::line(label).into_owned());
    // Work that was taken up again starts above zero, which is no speed.
    bar.set_position(done);
    bar.reset_eta();
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_valid() {
        for template in [BYTES, BYTES_OPEN, ITEMS, ITEMS_OPEN] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn a_new_label_starts_a_new_line_that_stands_where_the_work_stands() {
        let mut display = Display::new();
        display.show("a", Unit::Items, 3, Some(10));
        assert_eq!(
            (display.bar.position(), display.bar.length()),
            (3, Some(10))
        );
        display.show("b", Unit::Bytes, 0, None);
        assert_eq!((display.bar.position(), display.bar.length()), (0, None));
    }
}
