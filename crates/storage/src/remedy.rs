//! What a person can do about a failed read or write.

use std::io::{Error, ErrorKind};
use std::path::Path;

use ken_diagnostic::{Remedy, remedy};

use crate::not_plain::NotPlain;

/// The kind of error of a link, a pipe, a socket or a device in the place of a file or folder.
pub(crate) const NOT_PLAIN: &str = "not_a_plain_file";

/// The remedy for an input/output error at `path`, if one is known.
pub fn io_remedy(error: &Error, path: &Path) -> Option<Remedy> {
    if let Some(remedy) = not_plain_remedy(error, path) {
        return Some(remedy);
    }
    let path = path.display();
    match error.kind() {
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
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => Some(remedy!(
            "{path}, or a folder above it, is a file: choose another path"
        )),
        _ => None,
    }
}

/// The remedy for a link, a pipe, a socket or a device in the place of a file or folder.
pub fn not_plain_remedy(error: &Error, path: &Path) -> Option<Remedy> {
    NotPlain::in_error(error).map(|_| {
        let path = path.display();
        remedy!(
            "remove {path}, or put a plain file or folder in its place, such as a copy of what it stands for; nothing that it leads to was changed"
        )
    })
}

/// The snake_case name of an input/output error's cause.
pub fn io_kind(error: &Error) -> &'static str {
    if NotPlain::in_error(error).is_some() {
        return NOT_PLAIN;
    }
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "no_disk_space",
        ErrorKind::FileTooLarge => "file_too_large",
        ErrorKind::PermissionDenied => "permission_denied",
        ErrorKind::ReadOnlyFilesystem => "read_only",
        _ => "io",
    }
}
