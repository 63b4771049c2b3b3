//! What a person can do about a failed read or write.

use std::io::ErrorKind;
use std::path::Path;

use ken_diagnostic::{Remedy, remedy};

/// The remedy for an input/output error at `path`, where one is known.
#[must_use]
pub fn io_remedy(kind: ErrorKind, path: &Path) -> Option<Remedy> {
    let path = path.display();
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(remedy!(
            "free some disk space, or choose a folder on another disk than {path}; nothing that was published is lost"
        )),
        ErrorKind::FileTooLarge => Some(remedy!(
            "raise the limit on the size of files, which `ulimit -f` shows, or choose a folder on another disk than {path}; nothing that was published is lost"
        )),
        ErrorKind::PermissionDenied => Some(remedy!("check who owns {path} and its permissions")),
        ErrorKind::ReadOnlyFilesystem => Some(remedy!(
            "{path} is on a read-only file system: choose another folder"
        )),
        ErrorKind::NotFound => Some(remedy!(
            "check the path: {path}, or its folder, does not exist"
        )),
        _ => None,
    }
}

/// The snake_case name of an input/output error's cause.
#[must_use]
pub fn io_kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "no_disk_space",
        ErrorKind::FileTooLarge => "file_too_large",
        ErrorKind::PermissionDenied => "permission_denied",
        ErrorKind::ReadOnlyFilesystem => "read_only",
        _ => "io",
    }
}
