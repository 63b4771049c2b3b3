//! When an answer counts as right, in words, and by which answers that is decided: `Record::is_right` decides it of one.

use ken_answer::Style;

use crate::record::Record;

/// The style of some answers: full where one of them is. Multiple choice is answered short in either style.
pub fn style_of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Style {
    if records.into_iter().any(|record| record.full) {
        Style::Full
    } else {
        Style::Short
    }
}

/// When an answer in a style is right, as the end of a sentence.
#[must_use]
pub fn right_if(style: Style) -> &'static str {
    match style {
        Style::Short => "right if it is a golden answer",
        Style::Full | Style::AsSent => "right if it contains a golden answer",
    }
}

/// What the share of right answers in a style is called.
#[must_use]
pub fn measure(style: Style) -> &'static str {
    match style {
        Style::Short => "exact match",
        Style::Full | Style::AsSent => "right answers",
    }
}

/// The same at the head of a column.
#[must_use]
pub fn column(style: Style) -> &'static str {
    match style {
        Style::Short => "EM",
        Style::Full | Style::AsSent => "right",
    }
}
