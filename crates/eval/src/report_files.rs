//! Report files: a page for people, and its data for programs.

use std::path::Path;

use ken_report::Report;
use ken_storage::{StorageError, replace};

/// Writes `report.html` and `page.json` into a folder.
///
/// # Errors
/// A file that cannot be written.
pub fn write_report(report: &Report, folder: &Path) -> Result<(), StorageError> {
    let json = serde_json::to_string(report).map_err(std::io::Error::from);
    let json = json.map_err(StorageError::new("write", folder))?;
    for (name, text) in [("report.html", report.html()), ("page.json", json)] {
        replace(&folder.join(name), text.as_bytes())?;
    }
    Ok(())
}
