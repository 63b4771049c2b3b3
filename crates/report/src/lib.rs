//! Reports as data: sections of text, tables and figures, built once and rendered for a terminal, as a page of HTML
//! and as CSV. Other programs, such as the server's console, draw the same data from JSON. This crate measures nothing.
//!
//! A table is made of columns, each with the function that reads its value from a row:
//!
//! ```
//! use ken_report::{Measure, Report, Table, measures};
//!
//! struct Policy {
//!     name: &'static str,
//!     em: Option<f64>,
//! }
//! const COLUMNS: &[Measure<Policy>] = measures![policy =>
//!     plain "policy" "policy" = policy.name;
//!     share "em" "EM" = policy.em;
//! ];
//!
//! let rows = [Policy { name: "always", em: Some(0.25) }];
//! let table = Table::of("Policies", COLUMNS, &rows);
//! assert_eq!(table.csv(), "policy,em\nalways,0.25\n");
//! let report = Report::new("Compared", [table.into()]);
//! assert_eq!(report.text(str::to_owned, 80), "policy  EM\nalways  0.250\n");
//! ```

mod csv;
mod figure;
mod html;
mod model;
mod table;
mod text;

pub use figure::{Axis, FIGURE_SCRIPT, Figure, Mark, Point, Series};
pub use model::{Provenance, Report, Section};
pub use table::{Cell, Column, MISSING, Measure, Table, bracketed, number};
pub use text::aligned;
