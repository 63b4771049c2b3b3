//! HTTP: small texts, and large files that continue where they stopped. It knows neither package
//! indexes nor hubs.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use url::Url;

use super::digest::{CHUNK_BYTES, file_sha256, read_some};
use super::environment::Environment;
use super::error::{HubError, io_error};
use super::folders::settle;
use super::progress::{Stage, Watch};

pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Attempts in a row that may bring no new byte before a download gives up.
const BARREN_ATTEMPTS: u32 = 3;
/// The longest text that is read, for an index page of a package with very many files.
const TEXT_LIMIT_BYTES: u64 = 64 * 1024 * 1024;

/// An HTTP client with the certificates and the proxy of this machine.
pub(super) struct Client {
    agent: ureq::Agent,
}

/// One file to download.
pub(super) struct Download<'a> {
    pub(super) url: &'a Url,
    /// Sent as they are, to the URL's own host only.
    pub(super) headers: &'a [(String, String)],
    /// Where the finished file lies; `.part` is appended while it grows.
    pub(super) destination: &'a Path,
    /// The announced checksum. Without one, a cut download starts over in the next run, because
    /// nothing tells whether the file changed in between.
    pub(super) sha256: Option<&'a str>,
    /// The announced size.
    pub(super) bytes: Option<u64>,
    /// The most bytes that it may have, whatever is announced.
    pub(super) most: u64,
    /// The name to report progress under.
    pub(super) label: &'a str,
}

/// How one request ended.
enum Attempt {
    Complete,
    /// The connection broke.
    Cut(String),
    /// The server cannot continue from where we are.
    CannotResume,
}

/// The TLS settings for a bundle of certificates in PEM; without one, Mozilla's roots.
pub(crate) fn tls_config(ca_bundle: Option<&Path>) -> Result<TlsConfig, HubError> {
    let Some(path) = ca_bundle else {
        return Ok(TlsConfig::default());
    };
    let unusable = |detail: String| HubError::BadCertificates {
        path: path.to_owned(),
        detail,
    };
    let pem = std::fs::read(path).map_err(|e| unusable(e.to_string()))?;
    let certificates: Vec<Certificate<'static>> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(unusable("it holds no certificate in PEM format".into()));
    }
    let roots = RootCerts::new_with_certs(&certificates);
    Ok(TlsConfig::builder().root_certs(roots).build())
}

/// The certificate bundle that the environment names for every program.
pub(crate) fn ca_bundle_of(environment: &Environment) -> Option<PathBuf> {
    ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"]
        .iter()
        .find_map(|name| environment.get(name))
        .map(PathBuf::from)
}

impl Client {
    /// A client. `proxy` goes before the proxy variables of the environment.
    pub(super) fn new(ca_bundle: Option<&Path>, proxy: Option<&str>) -> Result<Self, HubError> {
        let mut config = ureq::Agent::config_builder()
            .tls_config(tls_config(ca_bundle)?)
            .http_status_as_error(false)
            // Ranges count bytes of the file itself, so it must come uncompressed.
            .accept_encoding("identity")
            .redirect_auth_headers(ureq::config::RedirectAuthHeaders::SameHost)
            .user_agent(concat!("ken/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(ANSWER_TIMEOUT))
            .timeout_per_read(Some(READ_TIMEOUT));
        if let Some(proxy) = proxy {
            let parsed = ureq::Proxy::new(proxy).map_err(|e| HubError::Network {
                host: "the configured proxy".into(),
                detail: e.to_string(),
            })?;
            config = config.proxy(Some(parsed));
        }
        Ok(Self {
            agent: config.build().into(),
        })
    }

    /// The text at `url`.
    pub(super) fn text(&self, url: &Url) -> Result<String, HubError> {
        let mut response = self
            .request(url, &[])
            .header("Accept", "text/html")
            .call()
            .map_err(|e| network(url, &e))?;
        if response.status() != 200 {
            return Err(status(url, response.status().as_u16()));
        }
        let text = response
            .body_mut()
            .with_config()
            .limit(TEXT_LIMIT_BYTES)
            .lossy_utf8(true)
            .read_to_string();
        text.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(most) => HubError::TooLarge {
                what: format!("the page {}", shown(url)),
                most,
                announced: None,
            },
            other => network(url, &other),
        })
    }

    fn request(
        &self,
        url: &Url,
        headers: &[(String, String)],
    ) -> ureq::RequestBuilder<ureq::typestate::WithoutBody> {
        let mut request = self.agent.get(without_credentials(url).as_str());
        if let Some(value) = basic_authorization(url) {
            request = request.header("Authorization", value);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request
    }

    /// Downloads a file, through as many broken connections as it takes while every one brings
    /// something, and checks it. Bytes received stay in `<destination>.part` after an error and
    /// are continued from by the next call, except where the checksum was wrong.
    pub(super) fn download(&self, job: &Download, watch: &mut Watch) -> Result<(), HubError> {
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
                    barren += 1;
                    if barren >= BARREN_ATTEMPTS {
                        return Err(status(job.url, 416));
                    }
                }
                Attempt::Cut(detail) => {
                    let reached = length(&part)?;
                    pieced_together = reached > 0;
                    barren = if reached > furthest { 1 } else { barren + 1 };
                    furthest = furthest.max(reached);
                    if barren >= BARREN_ATTEMPTS {
                        return Err(HubError::Network {
                            host: host(job.url),
                            detail,
                        });
                    }
                    pause(Duration::from_millis(300) * barren, watch)?;
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
        let mut request = self.request(job.url, job.headers);
        if start > 0 {
            request = request.header("Range", format!("bytes={start}-"));
        }
        let response = match request.call() {
            Ok(response) => response,
            Err(e) => return Ok(Attempt::Cut(plain(&e))),
        };
        let code = response.status().as_u16();
        let offset = match code {
            200 => 0,
            206 if starts_at(&response, start) => start,
            206 | 416 => return Ok(Attempt::CannotResume),
            500..=599 | 408 | 429 => return Ok(Attempt::Cut(format!("HTTP status {code}"))),
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
                Err(e) => return Ok(Attempt::Cut(e.to_string())),
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
            return Ok(Attempt::Cut("the connection was closed early".into()));
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
fn starts_at(response: &ureq::http::Response<ureq::Body>, start: u64) -> bool {
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
pub(super) fn part_path(destination: &Path) -> PathBuf {
    let mut name = destination.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// The URL without user and password, fit to be sent and shown.
fn without_credentials(url: &Url) -> Url {
    let mut url = url.clone();
    // These fail only for URLs that cannot have credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    url
}

fn basic_authorization(url: &Url) -> Option<String> {
    if url.username().is_empty() {
        return None;
    }
    let decoded = |text: &str| percent_decoded(text);
    let mut pair = decoded(url.username());
    pair.push(b':');
    pair.extend(decoded(url.password().unwrap_or("")));
    let code = base64::engine::general_purpose::STANDARD.encode(pair);
    Some(format!("Basic {code}"))
}

/// Undoes `%XX`; anything else stays as it is.
pub(super) fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let code = text
            .get(i + 1..i + 3)
            .filter(|pair| bytes[i] == b'%' && pair.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        out.push(code.unwrap_or(bytes[i]));
        i += if code.is_some() { 3 } else { 1 };
    }
    out
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or("the server").to_owned()
}

fn network(url: &Url, error: &ureq::Error) -> HubError {
    HubError::Network {
        host: host(url),
        detail: plain(error),
    }
}

/// The error in words, without the library's prefix.
pub(super) fn plain(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "the host name is unknown (no network?)".into(),
        ureq::Error::Io(e) => e.to_string(),
        other => other.to_string(),
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
    let mut shown = without_credentials(url);
    shown.set_query(None);
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

/// Sleeps, waking early when cancelled.
fn pause(duration: Duration, watch: &Watch) -> Result<(), HubError> {
    let end = Instant::now() + duration;
    while Instant::now() < end {
        watch.check()?;
        std::thread::sleep(Duration::from_millis(50));
    }
    watch.check()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_become_a_header_and_are_never_shown() {
        let url = Url::parse("https://ada:p%40ss@host/simple/?token=1#x").expect("url");
        assert_eq!(
            basic_authorization(&url).as_deref(),
            Some("Basic YWRhOnBAc3M=")
        );
        let shown = status(&url, 500).to_string();
        assert!(!shown.contains("ada") && !shown.contains("p%40ss") && !shown.contains("token"));
        assert_eq!(percent_decoded("a%2Bb%zz%"), b"a+b%zz%");
    }

    #[test]
    fn a_bundle_without_certificates_is_named() {
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("bundle.pem");
        std::fs::write(&path, "nothing here").expect("write");
        let error = tls_config(Some(&path)).expect_err("empty bundle");
        assert_eq!(error.kind(), "bad_certificates");
        assert!(error.to_string().contains("bundle.pem"));
    }
}
