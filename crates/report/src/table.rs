//! Tables: typed columns, and cells that are formatted in one place.

use serde::Serialize;

/// The sign for a missing value.
pub const MISSING: &str = "–";

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Its title.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// # Shapes
    /// `[rows][columns]`
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Column {
    /// Its name for machines.
    pub key: String,
    /// Its name for people.
    pub name: String,
    /// The unit of its values, if they have one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unit: &'static str,
    /// The decimals shown of numbers; `None` for all.
    pub digits: Option<usize>,
    /// Whether its numbers may have intervals.
    pub has_interval: bool,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Not known, or not defined.
    Missing,
    /// A number.
    Number(f64),
    /// A number with its interval, low and high.
    Interval {
        /// The number.
        value: f64,
        /// At 95 %.
        interval: [f64; 2],
    },
    /// A text.
    Text(String),
}

/// A column, and the function that reads its value from a row.
pub struct Measure<R> {
    key: &'static str,
    name: &'static str,
    unit: &'static str,
    digits: Option<usize>,
    has_interval: bool,
    of: fn(&R) -> Cell,
}

/// The columns of a table, one per line: the kind of values, the name for machines, the name for people, and the value in
/// a row.
#[macro_export]
macro_rules! measures {
    ($row:pat => $($kind:ident $key:literal $name:literal = $value:expr;)*) => {
        &[$($crate::Measure::$kind($key, $name, |row| {
            #[allow(unused_variables, reason = "a column reads a part of the row")]
            let $row = row;
            $crate::Cell::from($value)
        })),*]
    };
}

/// The kinds of columns, one per line: the unit, the digits that people see, and whether values have intervals.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $unit:literal, $digits:expr, $has_interval:literal;)*) => {
        impl<R> Measure<R> {$(
            $(#[$doc])*
            pub const fn $kind(key: &'static str, name: &'static str, of: fn(&R) -> Cell) -> Self {
                Self { key, name, unit: $unit, digits: $digits, has_interval: $has_interval, of }
            }
        )*}
    };
}

kinds! {
    /// A column of texts, or of numbers with all their digits.
    plain: "", None, false;
    /// A column of shares, or of differences of shares.
    share: "", Some(3), false;
    /// A column of shares, or of differences of shares, with intervals.
    interval: "", Some(3), true;
    /// A column of p values.
    p_value: "", Some(4), false;
    /// A column of counts by question.
    mean: "", Some(1), false;
    /// A column of milliseconds.
    ms: "ms", Some(2), false;
    /// A column of megabytes.
    megabytes: "MB", Some(2), false;
}

impl<R> Measure<R> {
    fn column(&self) -> Column {
        Column {
            key: self.key.to_owned(),
            name: self.name.to_owned(),
            unit: self.unit,
            digits: self.digits,
            has_interval: self.has_interval,
        }
    }
}

impl Table {
    /// The table of `rows`.
    pub fn of<'m, 'r, R: 'm + 'r>(
        name: impl Into<String>,
        measures: impl IntoIterator<Item = &'m Measure<R>>,
        rows: impl IntoIterator<Item = &'r R>,
    ) -> Self {
        let measures: Vec<&Measure<R>> = measures.into_iter().collect();
        let cells = |row: &R| measures.iter().map(|measure| (measure.of)(row)).collect();
        Self {
            name: name.into(),
            columns: measures.iter().map(|measure| measure.column()).collect(),
            rows: rows.into_iter().map(cells).collect(),
        }
    }

    /// The names of the columns that have a value, with their units, and then the cells of each row in these columns; empty
    /// without rows.
    pub(crate) fn shown(&self) -> Vec<Vec<String>> {
        let empty = Cell::from("");
        let says = |cell: &Cell| !matches!(cell, Cell::Missing) && *cell != empty;
        let columns = self.columns.iter().enumerate();
        let columns = columns.filter(|&(index, _)| {
            let mut cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.any(says)
        });
        let columns: Vec<(usize, &Column)> = columns.collect();
        let head = columns.iter().map(|(_, column)| match column.unit {
            "" => column.name.clone(),
            unit => format!("{}, {unit}", column.name),
        });
        let rows = self.rows.iter().map(|row| {
            let cells = columns.iter();
            let cells = cells.filter_map(|(at, column)| Some(row.get(*at)?.shown(column.digits)));
            cells.collect()
        });
        match self.rows.is_empty() {
            true => Vec::new(),
            false => std::iter::once(head.collect()).chain(rows).collect(),
        }
    }
}

impl Column {
    /// A column of texts, or of numbers with all their digits.
    pub fn plain(key: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            name: name.into(),
            ..Self::default()
        }
    }
}

impl Cell {
    /// The cell as text for people.
    pub fn shown(&self, digits: Option<usize>) -> String {
        match (self, digits) {
            (Self::Missing, _) => MISSING.to_owned(),
            (Self::Text(text), _) => text.clone(),
            (Self::Number(value), Some(digits)) => number(Some(*value), digits),
            (Self::Interval { value, interval }, Some(digits)) => {
                number(Some(*value), digits) + &bracketed(Some(*interval), digits)
            }
            (Self::Number(value) | Self::Interval { value, .. }, None) => value.to_string(),
        }
    }
}

/// A number with this many decimals, or the sign for a missing value.
pub fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| format!("{value:.digits$}"))
}

/// An interval after its number, or nothing.
pub fn bracketed(interval: Option<[f64; 2]>, digits: usize) -> String {
    interval.map_or_else(String::new, |[low, high]| {
        format!(" [{low:.digits$}, {high:.digits$}]")
    })
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        if value.is_nan() {
            Self::Missing
        } else {
            Self::Number(value)
        }
    }
}

/// Counts are numbers.
macro_rules! from_counts {
    ($($count:ty)*) => {$(
        impl From<$count> for Cell {
            fn from(count: $count) -> Self {
                Self::Number(count as f64)
            }
        }
    )*};
}

from_counts!(usize u64 u32);

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

impl From<(Option<f64>, Option<[f64; 2]>)> for Cell {
    fn from((value, interval): (Option<f64>, Option<[f64; 2]>)) -> Self {
        match (value, interval) {
            (Some(value), Some(interval)) => Self::Interval { value, interval },
            (value, _) => value.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_read_as_their_column_says() {
        let shown = |cell: Cell, digits| cell.shown(digits);
        assert_eq!(shown(0.25.into(), Some(3)), "0.250");
        assert_eq!(shown(0.25.into(), None), "0.25");
        assert_eq!(shown(600_000_000_u64.into(), None), "600000000");
        let interval = (Some(0.5), Some([0.4, 0.6]));
        assert_eq!(shown(interval.into(), Some(2)), "0.50 [0.40, 0.60]");
        assert_eq!(shown((None, Some([0.4, 0.6])).into(), Some(3)), "–");
        assert_eq!(shown(f64::NAN.into(), Some(3)), "–");
        assert_eq!(shown(None::<f64>.into(), Some(3)), "–");
        assert_eq!(shown("a".into(), Some(3)), "a");
    }

    #[test]
    fn json_has_bare_values_where_there_is_no_interval() {
        let cells: [Cell; 4] = [
            "a".into(),
            1.5.into(),
            (Some(0.5), Some([0.0, 1.0])).into(),
            Cell::Missing,
        ];
        let json = serde_json::to_string(&cells).unwrap_or_default();
        assert_eq!(json, r#"["a",1.5,{"value":0.5,"interval":[0.0,1.0]},null]"#);
    }
}
