//! The log that the preloaded library keeps: every call that changed something, in order, with its data.

use std::path::Path;

/// A call that changed something. Paths are relative to the watched folder; the folder itself is the empty path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// An existing file was opened.
    Open {
        /// The file.
        path: String,
        /// Its number.
        inode: u64,
    },
    /// A file was made.
    Create {
        /// The file.
        path: String,
        /// Its number.
        inode: u64,
    },
    /// A folder was made.
    Folder {
        /// The folder.
        path: String,
        /// Its number.
        inode: u64,
    },
    /// A file was given another length.
    Truncate {
        /// The file's number.
        inode: u64,
        /// The length.
        length: u64,
    },
    /// Bytes were written.
    Write {
        /// The file's number.
        inode: u64,
        /// The offset.
        at: u64,
        /// The bytes.
        data: Vec<u8>,
    },
    /// A file or folder was synced.
    Sync {
        /// Its path.
        path: String,
        /// Its number.
        inode: u64,
    },
    /// A file or folder was renamed.
    Rename {
        /// Its path.
        from: String,
        /// Its new path.
        to: String,
    },
    /// A file was given a second name.
    Link {
        /// The name.
        path: String,
        /// The file's number.
        inode: u64,
    },
    /// A name was removed.
    Remove {
        /// The name.
        path: String,
    },
    /// This many steps were acknowledged.
    Acknowledged(usize),
}

const HEAD: usize = 40;

/// Reads a log.
///
/// # Panics
/// If the file is not a log.
#[must_use]
pub fn read(path: &Path) -> Vec<Call> {
    let bytes = std::fs::read(path).expect("the log");
    let mut rest = &bytes[..];
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let short = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("4 bytes"));
        let long = |at: usize| u64::from_le_bytes(rest[at..at + 8].try_into().expect("8 bytes"));
        let (op, first, second) = (short(0), short(4) as usize, short(8) as usize);
        let (inode, at, length) = (long(16), long(24), long(32) as usize);
        let text = |from: usize, length: usize| {
            let text = String::from_utf8_lossy(&rest[from..from + length]);
            text.trim_start_matches('/').to_owned()
        };
        let path = text(HEAD, first);
        let to = text(HEAD + first, second);
        let data = HEAD + first + second;
        let data = &rest[data..data + length];
        let end = HEAD + first + second + length;
        calls.push(match char::from_u32(op) {
            Some('o') => Call::Open { path, inode },
            Some('c') => Call::Create { path, inode },
            Some('m') => Call::Folder { path, inode },
            Some('t') => Call::Truncate { inode, length: at },
            Some('w') => Call::Write {
                inode,
                at,
                data: data.to_vec(),
            },
            Some('s') => Call::Sync { path, inode },
            Some('r') => Call::Rename { from: path, to },
            Some('l') => Call::Link { path, inode },
            Some('u') => Call::Remove { path },
            Some('M') => Call::Acknowledged(at as usize),
            other => panic!("a record of the unknown kind {other:?}"),
        });
        rest = &rest[end..];
    }
    calls
}

/// The entry that a worker appends when this many steps have returned.
#[must_use]
pub fn acknowledged(steps: usize) -> [u8; HEAD] {
    let mut record = [0; HEAD];
    record[0] = b'M';
    record[24..32].copy_from_slice(&(steps as u64).to_le_bytes());
    record
}
