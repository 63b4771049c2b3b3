//! The error for links, pipes, sockets, devices, and files with a second name.

use std::error::Error;
use std::fs::FileType;
use std::io;

/// What is in the place of a plain file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotPlain {
    #[error("it is a link, which is not followed here")]
    Link,
    #[error("it is a link that leads out of its folder")]
    LinkOutside,
    #[error("it is a file with another name (a hard link), which would be changed with it")]
    HardLink,
    #[error("it is a pipe, not a file")]
    Pipe,
    #[error("it is a socket, not a file")]
    Socket,
    #[error("it is a device, not a file")]
    Device,
}

impl NotPlain {
    /// What `file_type` is, if neither a file nor a folder.
    pub(crate) fn of(file_type: FileType) -> Option<Self> {
        if file_type.is_file() || file_type.is_dir() {
            return None;
        }
        if file_type.is_symlink() {
            return Some(Self::Link);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt;
            if file_type.is_fifo() {
                return Some(Self::Pipe);
            }
            if file_type.is_socket() {
                return Some(Self::Socket);
            }
        }
        Some(Self::Device)
    }

    /// The `NotPlain` that `error` holds, directly or as a cause.
    pub(crate) fn in_error(error: &io::Error) -> Option<Self> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(not_plain) = error.downcast_ref() {
                return Some(*not_plain);
            }
            // An error of the system skips the error that it holds.
            cause = match error.downcast_ref::<io::Error>() {
                Some(error) => error.get_ref().map(|held| held as &(dyn Error + 'static)),
                None => error.source(),
            };
        }
        None
    }
}

impl From<NotPlain> for io::Error {
    fn from(not_plain: NotPlain) -> Self {
        Self::other(not_plain)
    }
}
