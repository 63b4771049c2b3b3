//! SQL statements. Names of tables and columns are quoted; everything else is sent as parameters.

/// A statement and its parameters, all of which are texts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) parameters: Vec<String>,
}

impl Statement {
    /// Adds a parameter, and returns its placeholder.
    pub(super) fn parameter(&mut self, value: String) -> String {
        self.parameters.push(value);
        format!("${}", self.parameters.len())
    }
}

/// A name of a table or a column, quoted; a table's may follow that of its schema.
pub(super) fn quoted(name: &str) -> String {
    let parts = name
        .split('.')
        .map(|part| format!("\"{}\"", part.replace('"', "\"\"")));
    parts.collect::<Vec<_>>().join(".")
}
