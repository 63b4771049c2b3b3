//! What the cache writes down about a pulled model: `model.json`.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::error::{HubError, io_error};
use super::reference::ModelReference;

/// The name of the record inside a model's folder.
pub(super) const RECORD_NAME: &str = "model.json";

/// One file of a cached model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Relative to the model's folder, with `/` between its parts.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 in lower-case hexadecimal, taken when the file landed.
    pub sha256: String,
}

/// A model in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// The name under which it was pulled.
    pub reference: ModelReference,
    /// The one file that the reference names; `None` where the model is a folder.
    pub file: Option<String>,
    /// Its files.
    pub files: Vec<FileRecord>,
    /// The commit of the hub's repository, where the model came from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// When it was pulled: UTC, `YYYY-MM-DDThh:mm:ssZ`.
    pub pulled_at: String,
}

impl ModelRecord {
    /// The size of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }
}

/// Reads the record in `folder`; `None` where there is none.
pub(super) fn read(folder: &Path) -> Result<Option<ModelRecord>, HubError> {
    let path = folder.join(RECORD_NAME);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io_error("read", &path, e)),
    };
    match serde_json::from_str(&text) {
        Ok(record) => Ok(Some(record)),
        Err(e) => Err(HubError::BadRecord {
            path,
            detail: e.to_string(),
        }),
    }
}

/// Now, as `YYYY-MM-DDThh:mm:ssZ`.
pub(super) fn now_utc() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    format_utc(seconds)
}

/// Seconds since 1970 as a date and time of the Gregorian calendar.
fn format_utc(seconds: u64) -> String {
    let (mut days, clock) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!(
        "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z",
        days + 1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(format_utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(format_utc(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(format_utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(format_utc(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(format_utc(1_767_225_600), "2026-01-01T00:00:00Z");
    }
}
