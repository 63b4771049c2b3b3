//! Opening plain files, and nothing that poses as one. In a folder that came from somebody else, a link leads wherever
//! they want, and opening a pipe waits for its writer; so ken opens neither in the place of its files. Links may lead
//! to the folder that a person names.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::StorageError;
use crate::not_plain::NotPlain;

/// Whether links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    Followed,
    Refused,
}

fn opened(path: &Path, options: &mut OpenOptions, links: Links) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        use rustix::fs::OFlags;
        // A pipe may never get a writer, so opening one must not wait.
        let mut flags = OFlags::NONBLOCK;
        flags.set(OFlags::NOFOLLOW, links == Links::Refused);
        options.custom_flags(flags.bits().cast_signed());
    }
    let metadata = match links {
        Links::Followed => fs::metadata(path),
        Links::Refused => fs::symlink_metadata(path),
    };
    let metadata = metadata.ok();
    if let Some(not_plain) = metadata.and_then(|metadata| NotPlain::of(metadata.file_type())) {
        return Err(not_plain.into());
    }
    let file = options.open(path)?;
    // Another process may have replaced it meanwhile.
    match NotPlain::of(file.metadata()?.file_type()) {
        Some(not_plain) => Err(not_plain.into()),
        None => Ok(file),
    }
}

/// Opens a plain file with `options`.
///
/// # Errors
/// A link, a pipe, a socket or a device; and errors of the system.
pub fn open_with(path: &Path, options: &mut OpenOptions) -> Result<File, StorageError> {
    opened(path, options, Links::Refused).map_err(StorageError::new("open", path))
}

/// Opens a plain file for reading.
///
/// # Errors
/// As [`open_with`].
pub fn open(path: &Path) -> Result<File, StorageError> {
    open_with(path, File::options().read(true))
}

/// Opens a plain file for reading that links may lead to, such as one of a model that a person keeps
/// elsewhere.
///
/// # Errors
/// A pipe, a socket or a device; and errors of the system.
pub fn open_linked(path: &Path) -> Result<File, StorageError> {
    let file = opened(path, File::options().read(true), Links::Followed);
    file.map_err(StorageError::new("open", path))
}

/// The contents of a plain file.
///
/// # Errors
/// As [`open_with`].
pub fn read(path: &Path) -> Result<Vec<u8>, StorageError> {
    let mut bytes = Vec::new();
    let read = open(path)?.read_to_end(&mut bytes);
    read.map_err(StorageError::new("read", path))?;
    Ok(bytes)
}

/// Opens a plain file for writing at its end.
///
/// # Errors
/// As [`open_with`]; and a file with other names, which would change with it.
pub fn append(path: &Path) -> Result<File, StorageError> {
    let file = open_with(path, File::options().append(true))?;
    check_one_name(&file).map_err(StorageError::new("append to", path))?;
    Ok(file)
}

/// Creates a new file for writing, in the place of any file, link or pipe there.
///
/// # Errors
/// If the old one cannot be removed, or the file cannot be created.
pub fn create(path: &Path) -> Result<File, StorageError> {
    let new = || File::options().write(true).create_new(true).open(path);
    let file = match new() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path).map_err(StorageError::new("replace", path))?;
            new()
        }
        file => file,
    };
    file.map_err(StorageError::new("create", path))
}

/// Refuses a link, a pipe, a socket or a device; a missing file is fine.
///
/// # Errors
/// A link, a pipe, a socket or a device; and errors of the system.
pub fn check_plain(path: &Path) -> Result<(), StorageError> {
    is_plain_folder(path).map(|_| ())
}

/// As [`check_plain`], for everything below a folder as well. Files may vanish meanwhile.
///
/// # Errors
/// As [`check_plain`]; or a folder that cannot be listed.
pub fn check_tree(path: &Path) -> Result<(), StorageError> {
    match is_plain_folder(path)? {
        true => check_below(path),
        false => Ok(()),
    }
}

/// As [`check_tree`], for a folder that may itself be a link.
///
/// # Errors
/// As [`check_tree`].
pub fn check_below(folder: &Path) -> Result<(), StorageError> {
    let Some(entries) = if_any(fs::read_dir(folder), "list", folder)? else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry.map_err(StorageError::new("list", folder))?;
        let path = entry.path();
        match entry.file_type() {
            Ok(found) if found.is_dir() => check_below(&path)?,
            Ok(found) => refuse(&path, found)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StorageError::new("look at", &path)(error)),
        }
    }
    Ok(())
}

/// Whether there is a folder at `path`; a link to one is refused.
fn is_plain_folder(path: &Path) -> Result<bool, StorageError> {
    let Some(found) = if_any(fs::symlink_metadata(path), "look at", path)? else {
        return Ok(false);
    };
    refuse(path, found.file_type())?;
    Ok(found.is_dir())
}

/// What the system says of a path; `None` if there is nothing.
pub(crate) fn if_any<T>(
    said: io::Result<T>,
    action: &'static str,
    path: &Path,
) -> Result<Option<T>, StorageError> {
    match said {
        Ok(found) => Ok(Some(found)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(StorageError::new(action, path)(error)),
        },
    }
}

fn refuse(path: &Path, file_type: FileType) -> Result<(), StorageError> {
    match NotPlain::of(file_type) {
        Some(not_plain) => Err(StorageError::new("use", path)(not_plain.into())),
        None => Ok(()),
    }
}

/// The path that `path` leads to through links, if it lies in `folder`.
///
/// # Errors
/// A link out of the folder; a missing file; and errors of the system.
pub fn inside(folder: &Path, path: &Path) -> Result<PathBuf, StorageError> {
    let real = |path: &Path| fs::canonicalize(path).map_err(StorageError::new("open", path));
    let place = real(path)?;
    match place.starts_with(real(folder)?) {
        true => Ok(place),
        false => Err(StorageError::new("open", path)(
            NotPlain::LinkOutside.into(),
        )),
    }
}

/// The contents of a plain file. Links to it may lead within its folder.
///
/// # Errors
/// As [`inside`] and [`read`].
pub fn read_beside(path: &Path) -> Result<Vec<u8>, StorageError> {
    read(&inside(parent(path), path)?)
}

/// The parent folder of a path; `.` for a bare name.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Refuses an open file with other names, since writing to it would change files elsewhere.
pub(crate) fn check_one_name(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if file.metadata()?.nlink() > 1 {
            return Err(NotPlain::HardLink.into());
        }
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::{AppendFile, AtomicFile, Mapped, ReadAt};

    fn pipe(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }

    /// All that must not be opened as a file, by name, in a folder beside the file `secret`.
    fn posing(dir: &Path) -> Vec<(&'static str, NotPlain)> {
        fs::write(dir.join("secret"), "secret").unwrap();
        fs::create_dir(dir.join("in")).unwrap();
        let at = |name: &str| dir.join("in").join(name);
        symlink("../secret", at("link")).unwrap();
        symlink("..", at("folder")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        symlink("itself", at("itself")).unwrap();
        pipe(&at("pipe"));
        let _socket = UnixListener::bind(at("socket")).unwrap();
        vec![
            ("link", NotPlain::Link),
            ("folder", NotPlain::Link),
            ("dangling", NotPlain::Link),
            ("itself", NotPlain::Link),
            ("pipe", NotPlain::Pipe),
            ("socket", NotPlain::Socket),
        ]
    }

    #[test]
    fn what_poses_as_a_file_is_refused_by_name_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        for (name, kind) in posing(dir.path()) {
            let path = dir.path().join("in").join(name);
            let appended = AppendFile::open::<StorageError>(&path, |_| Ok(()));
            for error in [
                open(&path).unwrap_err(),
                read(&path).unwrap_err(),
                ReadAt::open(&path, None).unwrap_err(),
                Mapped::open(&path, None).unwrap_err(),
                crate::try_lock(&path).unwrap_err(),
                appended.unwrap_err(),
                check_plain(&path).unwrap_err(),
                check_tree(&path).unwrap_err(),
                check_below(&path.with_file_name(".")).unwrap_err(),
            ] {
                assert!(NotPlain::in_error(&error.source).is_some(), "{error}");
                assert!(error.path.starts_with(dir.path().join("in")), "{error}");
            }
            let error = open(&path).unwrap_err();
            assert_eq!(NotPlain::in_error(&error.source), Some(kind), "{name}");
        }
        assert_eq!(fs::read(dir.path().join("secret")).unwrap(), b"secret");
        assert!(!dir.path().join("in/nowhere").exists());
    }

    #[test]
    fn a_file_takes_the_place_of_what_is_there_and_nothing_elsewhere_changes() {
        let dir = tempfile::tempdir().unwrap();
        let mut names: Vec<&str> = posing(dir.path()).iter().map(|(name, _)| *name).collect();
        fs::hard_link(dir.path().join("secret"), dir.path().join("in/hard")).unwrap();
        names.push("hard");
        for name in names {
            let path = dir.path().join("in").join(name);
            // As the file itself, and as what a writer of `file` may have left.
            let mut temporary = dir.path().join("in/file.tmp");
            fs::rename(&path, &temporary).unwrap();
            crate::replace(&dir.path().join("in/file"), b"one").unwrap();
            assert_eq!(fs::read(dir.path().join("in/file")).unwrap(), b"one");
            assert!(temporary.symlink_metadata().is_err(), "{name}");
            temporary.clone_from(&path);
            symlink("../secret", &path).unwrap();
            drop(create(&temporary).unwrap());
            assert!(path.symlink_metadata().unwrap().is_file());
            fs::remove_file(&path).unwrap();
            symlink("../secret", &path).unwrap();
            crate::replace(&path, b"two").unwrap();
            assert!(path.symlink_metadata().unwrap().is_file());
        }
        assert_eq!(fs::read(dir.path().join("secret")).unwrap(), b"secret");
        assert!(!dir.path().join("in/nowhere").exists());
    }

    #[test]
    fn a_file_with_another_name_is_not_appended_to() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        fs::hard_link(dir.path().join("secret"), dir.path().join("log")).unwrap();
        let opened = AppendFile::open::<StorageError>(&dir.path().join("log"), |_| Ok(()));
        let error = opened.unwrap_err();
        assert_eq!(NotPlain::in_error(&error.source), Some(NotPlain::HardLink));
        let remedy = ken_diagnostic::Diagnostic::remedy(&error).unwrap();
        assert!(remedy.mentions("copy"), "{remedy:?}");
    }

    #[test]
    fn links_are_followed_where_they_stay_inside_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        posing(dir.path());
        let inner = dir.path().join("in");
        fs::write(inner.join("own"), "own").unwrap();
        symlink("own", inner.join("near")).unwrap();
        let found = inside(&inner, &inner.join("near")).unwrap();
        assert_eq!(read(&found).unwrap(), b"own");
        let error = inside(&inner, &inner.join("link")).unwrap_err();
        assert_eq!(
            NotPlain::in_error(&error.source),
            Some(NotPlain::LinkOutside)
        );
        // A model may be kept elsewhere; it is not waited for either.
        assert!(open_linked(&inner.join("link")).is_ok());
        assert!(open_linked(&inner.join("pipe")).is_err());
    }

    #[test]
    fn a_tree_with_a_link_is_not_synced_and_one_that_is_removed_leaves_its_target() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("outside/kept")).unwrap();
        fs::create_dir_all(dir.path().join("tree/deep")).unwrap();
        symlink("../../outside", dir.path().join("tree/deep/link")).unwrap();
        let error = crate::sync_tree(&dir.path().join("tree")).unwrap_err();
        assert_eq!(NotPlain::in_error(&error.source), Some(NotPlain::Link));
        crate::remove(&dir.path().join("tree")).unwrap();
        assert!(dir.path().join("outside/kept").exists());
    }

    #[test]
    fn a_private_file_is_its_owners_alone_and_stays_as_strict_as_it_was() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        fs::write(dir.path().join("keys.tmp"), "left").unwrap();
        crate::replace_private(&path, b"one").unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        crate::replace_private(&path, b"two").unwrap();
        assert_eq!(mode(&path), 0o400);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        crate::replace_private(&path, b"three").unwrap();
        assert_eq!(mode(&path), 0o600);
        let mut open = AtomicFile::create(&dir.path().join("other")).unwrap();
        io::Write::write_all(&mut open, b"x").unwrap();
        open.commit().unwrap();
        assert_ne!(mode(&dir.path().join("other")), 0o600);
    }
}
