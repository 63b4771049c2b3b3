//! How many files the process may have open, most of which are connections.

/// Files left for corpora, journals and everything else.
const OTHERS: usize = 256;

/// Files of a connection: its socket, and the file that it may be uploading.
const OF_ONE: usize = 2;

/// How many of the wanted connections there may be. Raises the process's limit of open files for them as far as the
/// system allows; if that is not enough, there are fewer, so that files can still be opened.
pub(crate) fn connections(wanted: usize) -> usize {
    let most = most_files(OF_ONE * wanted + OTHERS).unwrap_or(usize::MAX);
    let left = most.saturating_sub(OTHERS).max(most / 2);
    wanted.min(left / OF_ONE).max(1)
}

/// Raises the limit to a number, or as far as it goes, and returns the new limit; `None` if there is none.
#[cfg(unix)]
fn most_files(wanted: usize) -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let now = limit.current?;
    let wanted = (wanted as u64).min(limit.maximum.unwrap_or(u64::MAX));
    let raised = Rlimit {
        current: Some(wanted),
        ..limit
    };
    let now = match wanted > now && setrlimit(Resource::Nofile, raised).is_ok() {
        true => wanted,
        false => now,
    };
    Some(usize::try_from(now).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn most_files(_: usize) -> Option<usize> {
    None
}
