//! Large files over HTTP that resume where they stopped, and small responses. It knows nothing of
//! hubs.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ken_http::{
    Failed, Retry, TlsFailure, UntrustedCertificate, certificates_of, explained, is_passing, pause,
    requested_wait, tls_failure,
};
use ureq::Body;
use ureq::http::Response;
use url::Url;

use crate::digest::file_sha256;
use crate::environment::Environment;
use crate::error::{HubError, io_error};
use crate::folders::settle;
use crate::progress::{Stage, Watch};
use crate::transfer::Transfer;

/// The most consecutive retries without a new byte.
pub(crate) const RETRY: Retry = Retry {
    retries: 2,
    backoff: Duration::from_millis(500),
    in_all: None,
};

/// An HTTP client with the certificates and the proxies of an environment.
pub(crate) struct Client {
    agent: ureq::Agent,
    environment: Environment,
    /// Sent to the origin of each requested address only.
    token: Option<String>,
}

/// One file to download.
pub(crate) struct Download<'a> {
    pub(crate) url: &'a Url,
    /// The path of the finished file; until then, `.part` is appended.
    pub(crate) destination: &'a Path,
    /// The announced checksum. Without one, the next run starts an interrupted download over, because
    /// the file may have changed in between.
    pub(crate) sha256: Option<&'a str>,
    /// The announced size.
    pub(crate) bytes: Option<u64>,
    /// The size limit in bytes, regardless of the announced size.
    pub(crate) most: u64,
    /// The name to report progress under.
    pub(crate) label: &'a str,
}

impl Client {
    /// A client that authenticates with this token.
    pub(crate) fn new(environment: &Environment, token: Option<String>) -> Result<Self, HubError> {
        let agent = ken_http::agent(&ken_http::Settings {
            certificates: certificates_of(|name| environment.get(name)),
            // Each address has its own, since a download leads to other hosts.
            proxy: None,
            connect: Duration::from_secs(20),
            silence: Duration::from_secs(60),
            answer: None,
            connections: 3,
        })?;
        Ok(Self {
            agent,
            environment: environment.clone(),
            token,
        })
    }

    /// The body of the response at `url` in the form `accept`, at most `most` bytes, or the status of a refusal.
    pub(crate) fn small(
        &self,
        url: &Url,
        accept: &str,
        most: u64,
        watch: &Watch,
    ) -> Result<Result<Vec<u8>, u16>, HubError> {
        RETRY.persist(watch.cancel, || {
            watch.check()?;
            let mut response = self.get(url, &[("Accept", accept)], status)?;
            let code = response.status().as_u16();
            if code != 200 {
                return Ok(Err(code));
            }
            let body = response.body_mut().with_config().limit(most).read_to_vec();
            body.map(Ok).map_err(|error| match error {
                ureq::Error::BodyExceedsLimit(most) => {
                    Failed::lasting(HubError::too_large(shown(url), most))
                }
                other => Failed::passing(network(url, explained(&other))),
            })
        })
    }

    /// The response at `url`. A transient status is an error, which `refused` makes.
    fn get(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        refused: fn(&Url, u16) -> HubError,
    ) -> Result<Response<Body>, Failed<HubError>> {
        let variable = |name: &str| self.environment.get(name);
        let response = ken_http::get(&self.agent, url, self.token.as_deref(), headers, variable)
            .map_err(HubError::from)?
            .map_err(|error| unanswered(url, &error))?;
        let code = response.status().as_u16();
        if is_passing(code) {
            return Err(Failed {
                wait: requested_wait(response.headers()),
                ..Failed::passing(refused(url, code))
            });
        }
        Ok(response)
    }

    /// Downloads a file and checks it. Broken connections are retried for as long as each attempt
    /// brings new bytes. After an error the received bytes stay in `<destination>.part`, and the
    /// next call resumes from them, unless the checksum was wrong.
    pub(crate) fn download(&self, job: &Download, watch: &mut Watch) -> Result<(), HubError> {
        let mut part = job.destination.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        if job.sha256.is_none() {
            ken_storage::remove(&part)?;
        }
        let mut furthest = length(&part)?;
        let mut pieced_together = furthest > 0;
        let mut started_over = false;
        let mut barren = 0;
        loop {
            let attempt = self.attempt(job, &part, watch);
            let checked = attempt.and_then(|()| Ok(check(job, &part, watch)?));
            let failed = match checked {
                Ok(()) => return settle(&part, job.destination),
                Err(failed) => failed,
            };
            if let HubError::ChecksumMismatch { .. } = failed.error {
                ken_storage::remove(&part)?;
                // The file may have changed since the earlier bytes were fetched.
                if pieced_together && !started_over {
                    started_over = true;
                    pieced_together = false;
                    continue;
                }
            }
            if !failed.passing {
                return Err(failed.error);
            }
            let reached = length(&part)?;
            pieced_together = reached > 0;
            if reached > furthest {
                furthest = reached;
                barren = 0;
            }
            let Some(wait) = RETRY.wait(barren, failed.wait) else {
                return Err(failed.error);
            };
            barren += 1;
            pause(wait, watch.cancel);
        }
    }

    /// One request, which continues `part` from its end.
    fn attempt(
        &self,
        job: &Download,
        part: &Path,
        watch: &mut Watch,
    ) -> Result<(), Failed<HubError>> {
        let start = length(part)?;
        watch.step(Stage::Downloading, job.label, start, job.bytes)?;
        if start > 0 && job.bytes == Some(start) {
            return Ok(());
        }
        let refused = |url: &Url, code| network(url, format!("HTTP status {code}"));
        let rest = (start > 0).then(|| format!("bytes={start}-"));
        let headers: Vec<_> = rest.iter().map(|r| ("Range", r.as_str())).collect();
        let response = self.get(job.url, &headers, refused)?;
        let code = response.status().as_u16();
        let offset = match code {
            200 => 0,
            206 if starts_at(&response, start) => start,
            206 | 416 => {
                // The server cannot resume from here.
                ken_storage::remove(part).map_err(HubError::from)?;
                return Err(Failed::passing(status(job.url, 416)));
            }
            _ => return Err(status(job.url, code).into()),
        };
        let announced = response.body().content_length();
        let announced = announced.map(|n| n.saturating_add(offset));
        let transfer = Transfer {
            stage: Stage::Downloading,
            label: job.label,
            start: offset,
            total: announced.max(job.bytes),
            // A file larger than announced is another one; its checksum would fail only at the end.
            most: job.bytes.map_or(job.most, |bytes| bytes.min(job.most)),
        };
        let mut file = open_at(part, offset)?;
        let mut body = response.into_body().into_reader();
        let received = transfer.run(&mut body, watch, |chunk| {
            let chunk = chunk.map_err(|e| network(job.url, e.to_string()))?;
            file.write_all(chunk)
                .map_err(|e| io_error("write", part, e))
        });
        match received {
            Ok(done) if announced.is_some_and(|expected| done < expected) => {
                let closed = "the connection was closed early".to_owned();
                Err(Failed::passing(network(job.url, closed)))
            }
            Ok(_) => Ok(file.sync_all().map_err(|e| io_error("write", part, e))?),
            Err(error @ HubError::Network { .. }) => Err(Failed::passing(error)),
            Err(error) => {
                if let HubError::TooLarge { .. } = error {
                    ken_storage::remove(part).map_err(HubError::from)?;
                }
                Err(error.into())
            }
        }
    }
}

/// Checks a finished file against the announced size and checksum.
fn check(job: &Download, part: &Path, watch: &mut Watch) -> Result<(), HubError> {
    let (expected, got) = match (job.sha256, job.bytes) {
        (Some(sha256), _) => (
            sha256.to_ascii_lowercase(),
            file_sha256(part, job.label, watch)?,
        ),
        (None, Some(bytes)) => (
            format!("of {bytes} bytes"),
            format!("of {} bytes", length(part)?),
        ),
        (None, None) => return Ok(()),
    };
    if got == expected {
        return Ok(());
    }
    Err(HubError::ChecksumMismatch {
        file: job.label.to_owned(),
        expected,
        got,
    })
}

/// Whether a partial response begins at byte `start`.
fn starts_at(response: &Response<Body>, start: u64) -> bool {
    let first = || {
        let range = response.headers().get("content-range")?.to_str().ok()?;
        let first = range.strip_prefix("bytes ")?.split('-').next()?;
        first.trim().parse::<u64>().ok()
    };
    first() == Some(start)
}

/// The failure of a request that got no response.
fn unanswered(url: &Url, error: &ureq::Error) -> Failed<HubError> {
    match tls_failure(error) {
        Some(TlsFailure::Certificate(reason)) => {
            let server = host(url);
            HubError::from(UntrustedCertificate { server, reason }).into()
        }
        Some(TlsFailure::Handshake(reason)) => network(url, reason).into(),
        None => Failed::passing(network(url, explained(error))),
    }
}

fn network(url: &Url, detail: String) -> HubError {
    let host = host(url);
    HubError::Network { host, detail }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or("the server").to_owned()
}

fn status(url: &Url, status: u16) -> HubError {
    HubError::Status {
        url: shown(url),
        status,
    }
}

/// An address without credentials and query.
fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    // These fail only for URLs that cannot have credentials.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.set_fragment(None);
    shown.into()
}

/// The size of a file, 0 if it does not exist yet. Any other error is reported: taking the file for
/// missing would overwrite its bytes.
fn length(path: &Path) -> Result<u64, HubError> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(io_error("look at", path, error)),
    }
}

/// Opens `path` for writing at `offset`, which is its end or its beginning.
fn open_at(path: &Path, offset: u64) -> Result<File, HubError> {
    Ok(match offset {
        0 => ken_storage::create(path)?,
        _ => ken_storage::append(path)?,
    })
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
