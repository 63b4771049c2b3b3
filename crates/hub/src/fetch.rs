//! Large files over HTTP that continue where they stopped, and small texts. It knows nothing of hubs.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ken_http::{Failed, Retry, certificates_of, explained, is_passing, pause, requested_wait};
use ureq::http::Response;
use url::Url;

use crate::digest::{CHUNK_BYTES, file_sha256, read_some};
use crate::environment::Environment;
use crate::error::{HubError, io_error};
use crate::folders::settle;
use crate::progress::{Stage, Watch};

/// Attempts that bring no new byte are repeated so often in a row.
pub(crate) const RETRY: Retry = Retry {
    retries: 2,
    backoff: Duration::from_millis(500),
};

/// An HTTP client with the certificates and the proxy of this machine.
pub(crate) struct Client {
    agent: ureq::Agent,
    /// Sent to the origin of each address that is asked for, and no further.
    token: Option<String>,
}

/// One file to download.
pub(crate) struct Download<'a> {
    pub(crate) url: &'a Url,
    /// Where the finished file lies; `.part` is appended while it grows.
    pub(crate) destination: &'a Path,
    /// The announced checksum. Without one, a cut download starts over in the next run, because
    /// nothing tells whether the file changed in between.
    pub(crate) sha256: Option<&'a str>,
    /// The announced size.
    pub(crate) bytes: Option<u64>,
    /// The most bytes that it may have, whatever is announced.
    pub(crate) most: u64,
    /// The name to report progress under.
    pub(crate) label: &'a str,
}

/// How one request ended.
enum Attempt {
    Complete,
    /// The connection broke, or the server asks to come again, perhaps after some time.
    Cut(String, Option<Duration>),
    /// The server cannot continue from where we are.
    CannotResume,
}

impl Client {
    /// A client that may show this token.
    pub(crate) fn new(environment: &Environment, token: Option<String>) -> Result<Self, HubError> {
        let agent = ken_http::agent(&ken_http::Settings {
            certificates: certificates_of(|name| environment.get(name)),
            through_proxy: true,
            connect: Duration::from_secs(20),
            silence: Duration::from_secs(60),
            answer: None,
            connections: 3,
        })?;
        Ok(Self { agent, token })
    }

    /// The bytes of the answer at `url`, at most so many, or the status of a refusal.
    pub(crate) fn small(
        &self,
        url: &Url,
        most: u64,
        watch: &Watch,
    ) -> Result<Result<Vec<u8>, u16>, HubError> {
        RETRY.persist(watch.cancel(), || {
            watch.check().map_err(Failed::lasting)?;
            let mut response = self
                .get(url, &[])
                .map_err(|e| Failed::passing(network(url, explained(&e))))?;
            let code = response.status().as_u16();
            if is_passing(code) {
                return Err(Failed {
                    wait: requested_wait(response.headers()),
                    ..Failed::passing(status(url, code))
                });
            }
            if code != 200 {
                return Ok(Err(code));
            }
            let body = response.body_mut().with_config().limit(most).read_to_vec();
            body.map(Ok).map_err(|error| match error {
                ureq::Error::BodyExceedsLimit(most) => Failed::lasting(HubError::TooLarge {
                    what: shown(url),
                    most,
                    announced: None,
                }),
                other => Failed::passing(network(url, explained(&other))),
            })
        })
    }

    fn get(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
    ) -> Result<Response<ureq::Body>, ureq::Error> {
        ken_http::get(&self.agent, url, self.token.as_deref(), headers)
    }

    /// Downloads a file, through as many broken connections as it takes while every one brings
    /// something, and checks it. Bytes received stay in `<destination>.part` after an error and
    /// are continued from by the next call, except where the checksum was wrong.
    pub(crate) fn download(&self, job: &Download, watch: &mut Watch) -> Result<(), HubError> {
        let part = part_path(job.destination);
        if job.sha256.is_none() {
            remove_if_there(&part)?;
        }
        let mut pieced_together = length(&part)? > 0;
        let mut started_over = false;
        let mut barren = 0;
        let mut furthest = length(&part)?;
        loop {
            match self.attempt(job, &part, watch)? {
                Attempt::Complete => match check(job, &part, watch) {
                    Ok(()) => break,
                    Err(HubError::ChecksumMismatch { .. }) if pieced_together && !started_over => {
                        // The file may have changed since the earlier bytes were fetched.
                        started_over = true;
                        pieced_together = false;
                        remove_if_there(&part)?;
                    }
                    Err(e) => {
                        if matches!(e, HubError::ChecksumMismatch { .. }) {
                            remove_if_there(&part)?;
                        }
                        return Err(e);
                    }
                },
                Attempt::CannotResume => {
                    pieced_together = false;
                    remove_if_there(&part)?;
                    if barren >= RETRY.retries {
                        return Err(status(job.url, 416));
                    }
                    barren += 1;
                }
                Attempt::Cut(detail, requested) => {
                    let reached = length(&part)?;
                    pieced_together = reached > 0;
                    if reached > furthest {
                        barren = 0;
                    }
                    furthest = furthest.max(reached);
                    let Some(wait) = RETRY.wait(barren, requested) else {
                        return Err(network(job.url, detail));
                    };
                    barren += 1;
                    pause(wait, watch.cancel());
                }
            }
        }
        settle(&part, job.destination)
    }

    /// One request: continues `part` from its end.
    fn attempt(&self, job: &Download, part: &Path, watch: &mut Watch) -> Result<Attempt, HubError> {
        let start = length(part)?;
        watch.step(Stage::Downloading, job.label, start, job.bytes)?;
        if start > 0 && job.bytes == Some(start) {
            return Ok(Attempt::Complete);
        }
        let range = format!("bytes={start}-");
        let range = [("Range", range.as_str())];
        let response = match self.get(job.url, &range[..usize::from(start > 0)]) {
            Ok(response) => response,
            Err(e) => return Ok(Attempt::Cut(explained(&e), None)),
        };
        let code = response.status().as_u16();
        let offset = match code {
            200 => 0,
            206 if starts_at(&response, start) => start,
            206 | 416 => return Ok(Attempt::CannotResume),
            _ if is_passing(code) => {
                let wait = requested_wait(response.headers());
                return Ok(Attempt::Cut(format!("HTTP status {code}"), wait));
            }
            _ => return Err(status(job.url, code)),
        };
        let announced = response.body().content_length();
        let announced = announced.map(|n| n.saturating_add(offset));
        let total = announced.or(job.bytes);
        // More than the hub announced is another file, which its checksum would only tell at the end.
        let most = job.bytes.map_or(job.most, |bytes| bytes.min(job.most));
        let too_large = || HubError::TooLarge {
            what: job.label.to_owned(),
            most,
            announced: announced.max(job.bytes),
        };
        if announced
            .max(job.bytes)
            .is_some_and(|bytes| bytes > job.most)
        {
            return Err(too_large());
        }
        let mut file = open_at(part, offset)?;
        let mut body = response.into_body().into_reader();
        let mut chunk = vec![0u8; CHUNK_BYTES];
        let mut done = offset;
        loop {
            watch.step(Stage::Downloading, job.label, done, total)?;
            let n = match read_some(&mut body, &mut chunk) {
                Ok(n) => n,
                Err(e) => return Ok(Attempt::Cut(e.to_string(), None)),
            };
            if n == 0 {
                break;
            }
            file.write_all(&chunk[..n])
                .map_err(|e| io_error("write", part, e))?;
            done += n as u64;
            if done > most {
                drop(file);
                remove_if_there(part)?;
                return Err(too_large());
            }
        }
        if announced.is_some_and(|expected| done < expected) {
            return Ok(Attempt::Cut("the connection was closed early".into(), None));
        }
        file.sync_all().map_err(|e| io_error("write", part, e))?;
        Ok(Attempt::Complete)
    }
}

/// Compares a finished file with what was announced.
fn check(job: &Download, part: &Path, watch: &mut Watch) -> Result<(), HubError> {
    let mismatch = |expected: String, got: String| HubError::ChecksumMismatch {
        file: job.label.to_owned(),
        expected,
        got,
    };
    if let Some(expected) = job.sha256 {
        let got = file_sha256(part, job.label, watch)?;
        if !got.eq_ignore_ascii_case(expected) {
            return Err(mismatch(expected.to_owned(), got));
        }
    } else if let Some(expected) = job.bytes {
        let got = length(part)?;
        if got != expected {
            return Err(mismatch(
                format!("of {expected} bytes"),
                format!("{got} bytes"),
            ));
        }
    }
    Ok(())
}

/// Whether a partial answer begins at byte `start`.
fn starts_at(response: &Response<ureq::Body>, start: u64) -> bool {
    response
        .headers()
        .get("content-range")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("bytes "))
        .and_then(|value| value.split('-').next())
        .and_then(|first| first.trim().parse::<u64>().ok())
        == Some(start)
}

/// Where a download grows before it is whole.
fn part_path(destination: &Path) -> PathBuf {
    let mut name = destination.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn network(url: &Url, detail: String) -> HubError {
    HubError::Network {
        host: url.host_str().unwrap_or("the server").to_owned(),
        detail,
    }
}

fn status(url: &Url, status: u16) -> HubError {
    HubError::Status {
        url: shown(url),
        status,
    }
}

/// An address as it may be shown.
fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    // These fail only for URLs that cannot have credentials.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.set_fragment(None);
    shown.into()
}

/// Bytes of a file that may not be there yet. What cannot be looked at just now is not taken for
/// missing: the next bytes would be written over those that it has.
fn length(path: &Path) -> Result<u64, HubError> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(io_error("look at", path, error)),
    }
}

fn remove_if_there(path: &Path) -> Result<(), HubError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io_error("remove", path, e)),
        _ => Ok(()),
    }
}

/// Opens `path` for writing at `offset`, which is its end or its beginning.
fn open_at(path: &Path, offset: u64) -> Result<File, HubError> {
    let mut options = OpenOptions::new();
    if offset == 0 {
        options.write(true).create(true).truncate(true);
    } else {
        options.append(true);
    }
    options.open(path).map_err(|e| io_error("write", path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_never_shown() {
        let url = Url::parse("https://ada:p%40ss@host/simple/?token=1#x").expect("url");
        let shown = status(&url, 500).to_string();
        assert!(!shown.contains("ada") && !shown.contains("p%40ss") && !shown.contains("token"));
    }
}
