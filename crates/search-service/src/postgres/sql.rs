//! Statements of SQL. The names of tables and columns are quoted, and all else is sent as parameters.

/// A statement and its parameters, all of them texts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) parameters: Vec<String>,
}

impl Statement {
    /// Adds a parameter, and gives the sign that stands for it.
    pub(super) fn parameter(&mut self, value: String) -> String {
        self.parameters.push(value);
        format!("${}", self.parameters.len())
    }
}

/// A name of a table or a column, whatever is in it; of a table perhaps after its schema's.
pub(super) fn quoted(name: &str) -> String {
    let parts = name
        .split('.')
        .map(|part| format!("\"{}\"", part.replace('"', "\"\"")));
    parts.collect::<Vec<_>>().join(".")
}
