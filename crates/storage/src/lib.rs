//! Files that survive a crash, and reads that survive a changed file.
//!
//! Every file that ken must not lose is written through this crate: whole files by [`AtomicFile`],
//! files that grow by [`AppendFile`], folders by [`create_dir_all`] and [`sync_tree`]; and read by
//! [`open`], which refuses links and pipes. It knows nothing of their contents.
//! `docs/explanation/durability.md` says what it guarantees, and what it cannot.
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("notes.txt");
//! // A crash leaves the old content or the new, never a mixture or an empty file.
//! ken_storage::replace(&path, b"first")?;
//! ken_storage::replace(&path, b"second")?;
//! assert_eq!(ken_storage::read(&path)?, b"second");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod append;
mod atomic;
mod blocks;
mod error;
mod file_bytes;
mod folder;
mod lock;
mod not_plain;
mod panics;
mod plain;
mod read_at;
mod remedy;
mod verified_folder;

pub use append::AppendFile;
pub use atomic::{AtomicFile, output, replace, replace_private};
pub use blocks::{BLOCK_BYTES, Blocks, Sums, block_sum};
pub use error::StorageError;
pub use file_bytes::{Mapped, Watch};
pub use folder::{
    create_dir_all, create_plain_dir_all, create_private_dir_all, is_dir, names, remove, rename,
    sync_dir, sync_tree,
};
pub use lock::try_lock;
pub use panics::contained;
pub use plain::{
    append, check_below, check_plain, check_tree, create, inside, open, open_linked, open_with,
    read, read_beside,
};
pub use read_at::ReadAt;
pub use remedy::{io_kind, io_remedy, not_plain_remedy};
pub use verified_folder::CheckedFolder;

/// Files up to this many bytes are read into memory as a whole; larger ones are mapped or read by
/// position.
pub const HEAP_BYTES: u64 = 1 << 20;
