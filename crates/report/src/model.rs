//! A report and its sections.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Figure, Table};

/// The conditions of the measurements, by name: the model, the corpus, settings, seeds, the command, the version, the
/// date.
pub type Provenance = BTreeMap<String, String>;

/// A report.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Its title; not shown in a terminal.
    pub title: String,
    /// Not shown in a terminal.
    pub provenance: Provenance,
    /// In reading order.
    pub sections: Vec<Section>,
}

/// A part of a report. Its text is plain; renderers escape it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Begins a part.
    Heading(String),
    /// Begins a part below a heading.
    Subheading(String),
    /// A paragraph.
    Text(String),
    /// Explains the sections around it; not shown in a terminal.
    Note(String),
    /// Names with their values.
    Terms(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// A long table, folded until a reader opens it; not shown in a terminal.
    Details(Table),
    /// A figure; not shown in a terminal.
    Figure(Figure),
}

impl Section {
    /// A part under a heading; empty if none of its tables and figures has data.
    pub fn part(heading: impl Into<String>, sections: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let sections: Vec<Self> = sections.into_iter().collect();
        if !sections.iter().any(Self::has_data) {
            return Vec::new();
        }
        let heading = Self::Heading(heading.into());
        std::iter::once(heading).chain(sections).collect()
    }

    fn has_data(&self) -> bool {
        match self {
            Self::Table(table) | Self::Details(table) => !table.rows.is_empty(),
            Self::Figure(figure) => !figure.is_empty(),
            Self::Terms(_) => true,
            Self::Heading(_) | Self::Subheading(_) | Self::Text(_) | Self::Note(_) => false,
        }
    }
}

impl Report {
    /// A report without provenance.
    pub fn new(title: impl Into<String>, sections: impl IntoIterator<Item = Section>) -> Self {
        Self {
            title: title.into(),
            provenance: Provenance::new(),
            sections: sections.into_iter().collect(),
        }
    }

    /// Adds the conditions of the measurements.
    #[must_use]
    pub fn measured_with(self, provenance: Provenance) -> Self {
        Self { provenance, ..self }
    }
}

impl From<Table> for Section {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<Figure> for Section {
    fn from(figure: Figure) -> Self {
        Self::Figure(figure)
    }
}
