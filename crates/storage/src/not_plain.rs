//! What is neither a file nor a folder, or a file with a second name, as an error.

use std::error::Error;
use std::fs::FileType;
use std::io;

/// What stands in the place of a plain file or folder.
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
    /// What a type of file is, if it is neither a file nor a folder.
    pub(crate) fn of(found: FileType) -> Option<Self> {
        if found.is_file() || found.is_dir() {
            return None;
        }
        if found.is_symlink() {
            return Some(Self::Link);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt;
            if found.is_fifo() {
                return Some(Self::Pipe);
            }
            if found.is_socket() {
                return Some(Self::Socket);
            }
        }
        Some(Self::Device)
    }

    /// The one that an error reports, itself or as its cause.
    pub(crate) fn in_error(error: &io::Error) -> Option<Self> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(*found);
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
    fn from(found: NotPlain) -> Self {
        Self::other(found)
    }
}
