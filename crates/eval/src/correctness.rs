//! Names of correctness in reports, by the style of the answers. `Record::is_right` decides whether an answer is right.

use ken_answer::Style;

use crate::record::Record;

/// The style of answers: full if one of them is. Multiple choice is answered short in either style.
pub fn style_of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Style {
    if records.into_iter().any(|record| record.full) {
        Style::Full
    } else {
        Style::Short
    }
}

/// When an answer in a style is right, as the end of a sentence.
pub fn right_if(style: Style) -> &'static str {
    match style {
        Style::Short => "right if it is a golden answer",
        Style::Full | Style::AsSent => "right if it contains a golden answer",
    }
}

/// The name of the share of right answers in a style.
pub fn measure(style: Style) -> &'static str {
    match style {
        Style::Short => "exact match",
        Style::Full | Style::AsSent => "right answers",
    }
}

/// The short name, for column heads.
pub fn column(style: Style) -> &'static str {
    match style {
        Style::Short => "EM",
        Style::Full | Style::AsSent => "right",
    }
}
