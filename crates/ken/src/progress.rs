//! Draws the progress that the libraries report as data: on stderr, in one line of any terminal, with the mean rate
//! and the remaining time once these are known, and not at all if stderr is no terminal.

use std::fmt::Write;
use std::sync::LazyLock;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::{output, terminal};

const BYTES: &str = "{prefix} {wide_bar} {percent}%{rate}{left}";
const BYTES_OPEN: &str = "{prefix} {spinner} {bytes}{rate}";
const ITEMS: &str = "{prefix} {wide_bar} {pos}/{len}{rate}{left}";
const ITEMS_OPEN: &str = "{prefix} {spinner}{rate}";

/// Columns for everything but the label: counts, a rate, the remaining time.
const BESIDE_LABEL: usize = 36;

/// All lines that are drawn.
static LINES: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Draws nothing from now on.
pub(crate) fn hide() {
    LINES.set_draw_target(ProgressDrawTarget::hidden());
}

/// The unit of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Items,
}

/// One line of progress; a new label starts a new line. Dropping it clears the line.
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

    /// As [`Display::show`], for items whose number is known.
    pub(crate) fn show_items(&mut self, label: &str, done: usize, total: usize) {
        self.show(label, Unit::Items, done as u64, Some(total as u64));
    }

    /// As [`Display::show`], with what is known so far beside the label.
    pub(crate) fn show_beside(&mut self, label: &str, known: &str, done: u64, total: u64) {
        self.show(label, Unit::Items, done, Some(total));
        self.bar.set_prefix(fitted(&format!("{label}: {known}")));
    }

    /// Shows the progress of an ingest, by the bytes of its files.
    pub(crate) fn show_ingest(&mut self, step: &ken_ingest::Progress) {
        self.show(
            "ingest",
            Unit::Bytes,
            step.read.bytes_read,
            step.read.bytes_total,
        );
        let counts = [(step.documents, "document"), (step.passages, "passage")];
        let [documents, passages] = counts.map(|(count, what)| output::counted(count, what));
        self.bar
            .set_prefix(fitted(&format!("{documents}, {passages}")));
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Draws how many of all items are done, until it is dropped.
pub(crate) fn counting(label: &str) -> impl FnMut(usize, usize) + use<> {
    let (mut display, label) = (begun(label), label.to_owned());
    move |done, total| display.show_items(&label, done, total)
}

/// Shows that work has begun, before anything else is known.
pub(crate) fn begun(label: &str) -> Display {
    let mut display = Display::new();
    display.show(label, Unit::Items, 0, None);
    display
}

fn bar(label: &str, unit: Unit, done: u64, total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
    let bar = LINES.add(bar.with_style(style(unit, done, total)));
    bar.set_prefix(fitted(label));
    bar.set_position(done);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Resumed work begins at `start`, which does not count for the rate.
fn style(unit: Unit, start: u64, total: Option<u64>) -> ProgressStyle {
    let template = match (unit, total) {
        (Unit::Bytes, Some(_)) => BYTES,
        (Unit::Bytes, None) => BYTES_OPEN,
        (Unit::Items, Some(_)) => ITEMS,
        (Unit::Items, None) => ITEMS_OPEN,
    };
    let each_s = move |state: &ProgressState| {
        let done = state.pos().saturating_sub(start) as f64;
        (done > 0.0).then(|| state.elapsed().as_secs_f64() / done)
    };
    let rate = move |state: &ProgressState, out: &mut dyn Write| {
        if let Some(each_s) = each_s(state) {
            // Writing to a line in memory never fails.
            let _ = write!(out, " {}", worded_rate(unit, each_s));
        }
    };
    let left = move |state: &ProgressState, out: &mut dyn Write| {
        let todo = state.len().map(|all| all.saturating_sub(state.pos()));
        if let Some((todo, each_s)) = todo.zip(each_s(state)) {
            let _ = write!(out, " {} left", worded_time(todo as f64 * each_s));
        }
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", rate)
        .with_key("left", left)
        .progress_chars("=> ")
}

/// The rate of work that takes `each_s` seconds an item; never 0.
fn worded_rate(unit: Unit, each_s: f64) -> String {
    let rate = 1.0 / each_s.max(1e-9);
    match unit {
        Unit::Bytes => format!("{}/s", output::size(rate.ceil() as u64)),
        Unit::Items if each_s > 1.0 => format!("{} each", worded_time(each_s)),
        Unit::Items if rate < 10.0 => format!("{rate:.1}/s"),
        Unit::Items if rate < 1e4 => format!("{rate:.0}/s"),
        Unit::Items => format!("{:.0}k/s", (rate / 1e3).min(99_999.0)),
    }
}

/// Seconds as people read them.
fn worded_time(seconds: f64) -> String {
    match seconds {
        short if short < 9.95 => format!("{short:.1}s"),
        seconds if seconds < 99.5 => format!("{seconds:.0}s"),
        minutes if minutes < 99.5 * 60.0 => format!("{:.0}m", minutes / 60.0),
        hours => format!("{:.0}h", hours / 3600.0),
    }
}

/// A label cut to the room on the line.
fn fitted(label: &str) -> String {
    let columns = terminal_size::terminal_size_of(std::io::stderr());
    let columns = columns.map_or(80, |(width, _)| usize::from(width.0));
    let label = output::shortened(label, columns.saturating_sub(BESIDE_LABEL).max(8));
    terminal::line(&label).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal of 60 columns that keeps what is written to it.
    #[derive(Debug, Clone, Default)]
    struct Narrow(Arc<Mutex<Vec<String>>>);

    impl TermLike for Narrow {
        fn width(&self) -> u16 {
            60
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push(text.to_owned());
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_template_is_valid() {
        for template in [BYTES, BYTES_OPEN, ITEMS, ITEMS_OPEN] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn rates_are_never_zero() {
        let items = |each_s| worded_rate(Unit::Items, each_s);
        assert_eq!(
            [1e-6, 0.001, 0.4, 30.0, 4000.0].map(items),
            ["1000k/s", "1000/s", "2.5/s", "30s each", "67m each"]
        );
        let bytes = |each_s| worded_rate(Unit::Bytes, each_s);
        assert_eq!([1e-6, 40.0].map(bytes), ["1.0 MB/s", "1 B/s"]);
        let times = [0.04, 42.0, 360.0, 1e6].map(worded_time);
        assert_eq!(times, ["0.0s", "42s", "6m", "278h"]);
    }

    #[test]
    fn no_line_is_longer_than_60_columns() {
        for (unit, label, most) in [
            (
                Unit::Bytes,
                "123,456 documents, 1,234,567 passages",
                1 << 40,
            ),
            (Unit::Items, "questions of the set: 12 right", 1_000_000),
        ] {
            let terminal = Narrow::default();
            let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
            let bar = ProgressBar::with_draw_target(Some(most), target);
            bar.set_style(style(unit, 0, Some(most)));
            bar.set_prefix(output::shortened(label, 60 - BESIDE_LABEL));
            for done in [0, 1, most / 3, most - 1] {
                bar.set_position(done);
                bar.force_draw();
            }
            let drawn = terminal.0.lock().unwrap();
            assert!(drawn.iter().any(|line| line.contains("left")), "{drawn:?}");
            for line in drawn.iter() {
                assert!(line.chars().count() <= 60, "{line}");
                assert!(!line.contains(" 0/s") && !line.contains(" 0 B/s"), "{line}");
            }
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
