//! A plain HTTP client, which hides nothing of what the server sends.

use std::fmt::Display;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use ken_testing::has;
use serde_json::Value;

/// A response.
pub(crate) struct Response {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&self.body);
            let shown: String = text.chars().take(500).collect();
            panic!("{}\n{shown}", self.head)
        })
    }

    /// Checks that it is an error in OpenAI's form, and returns its code.
    pub(crate) fn code(&self) -> String {
        let value = self.json();
        let error = value["error"]
            .as_object()
            .unwrap_or_else(|| panic!("{value}"));
        let keys: Vec<&str> = error.keys().map(String::as_str).collect();
        assert_eq!(keys, ["message", "type", "param", "code"]);
        assert!(!error["message"].as_str().unwrap().is_empty());
        assert!(self.header("x-request-id").is_some() && self.header("x-should-retry").is_some());
        error["code"].as_str().unwrap().to_owned()
    }

    /// Checks that it is an error with this status and code.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str) {
        self.refuses_for(&self.text(), status, code);
    }

    /// As [`Response::refuses`], and says of which request.
    #[track_caller]
    pub(crate) fn refuses_for(&self, request: &dyn Display, status: u16, code: &str) {
        let told = (self.status, self.code());
        assert_eq!(told, (status, code.to_owned()), "{request}");
    }

    /// As [`Response::refuses`], because of a parameter.
    #[track_caller]
    pub(crate) fn refuses_param(&self, status: u16, code: &str, param: &str) {
        let error = self.json()["error"].clone();
        assert_eq!(self.status, status, "{error}");
        has!(error, ["code"]: code, ["param"]: param);
    }

    /// The data of the events of a stream, which holds nothing else but pings.
    pub(crate) fn events(&self) -> Vec<String> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"));
        let text = self.text();
        let events = text.split("\n\n").filter(|event| !event.is_empty());
        let data = events.filter(|event| *event != ": ping");
        data.map(|event| event.strip_prefix("data: ").unwrap().to_owned())
            .collect()
    }
}

/// Sends bytes and reads to the end.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> Response {
    let mut stream = connect(address);
    // The server may answer and close before all of a request is sent.
    let _ = stream.write_all(request);
    read(stream)
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    stream
}

/// A request as bytes.
pub(crate) fn request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &(impl AsRef<[u8]> + ?Sized),
) -> Vec<u8> {
    let body = body.as_ref();
    let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        request += "host: localhost\r\n";
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    request += &format!("content-length: {}\r\n\r\n", body.len());
    [request.as_bytes(), body].concat()
}

/// The content type of an upload.
pub(crate) const UPLOAD: &str = "multipart/form-data; boundary=a-boundary-of-the-test";

/// A request that uploads files: their names and contents, and other fields.
pub(crate) fn upload(
    path: &str,
    headers: &[(&str, &str)],
    files: &[(&str, &[u8])],
    fields: &[(&str, &str)],
) -> Vec<u8> {
    let headers = [headers, &[("content-type", UPLOAD)]].concat();
    request("POST", path, &headers, &upload_body(files, fields))
}

/// The body of such a request.
pub(crate) fn upload_body(files: &[(&str, &[u8])], fields: &[(&str, &str)]) -> Vec<u8> {
    const BOUNDARY: &str = "a-boundary-of-the-test";
    let mut body = Vec::new();
    for (name, value) in fields {
        let head = format!("content-disposition: form-data; name=\"{name}\"");
        body.extend(format!("--{BOUNDARY}\r\n{head}\r\n\r\n{value}\r\n").bytes());
    }
    for (name, content) in files {
        let head = format!("content-disposition: form-data; name=\"file\"; filename=\"{name}\"");
        body.extend(format!("--{BOUNDARY}\r\n{head}\r\n\r\n").bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    body
}

/// Reads a response after which the connection is closed.
pub(crate) fn read(mut stream: TcpStream) -> Response {
    let mut bytes = Vec::new();
    // A connection that is reset after the response counts as closed.
    let _ = stream.read_to_end(&mut bytes);
    parsed(bytes)
}

/// Parses a response from its bytes.
pub(crate) fn parsed(mut bytes: Vec<u8>) -> Response {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(&bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = bytes.split_off(end + 4);
    let mut response = Response { status, head, body };
    if response.header("transfer-encoding") == Some("chunked") {
        response.body = joined(&response.body);
    }
    response
}

/// The chunks of a body, joined.
fn joined(mut chunked: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = chunked.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&chunked[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        body.extend_from_slice(&chunked[end + 2..end + 2 + size]);
        chunked = &chunked[end + 4 + size..];
    }
    body
}

/// Runs a script of `clients` against an address, if Python has the client's package; the script has to succeed.
pub(crate) fn run_python(package: &str, script: &str, url: &str) {
    let python = std::env::var_os("KEN_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let is_there = Command::new(&python)
        .args(["-c", &format!("import {package}")])
        .stderr(Stdio::null())
        .status();
    if !is_there.is_ok_and(|status| status.success()) {
        // Not by a macro, whose output a test that passes does not show.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {script} needs the package {package}; `cargo xtask clients` installs it and prints KEN_TEST_PYTHON"
        );
        return;
    }
    let ran = Command::new(&python)
        .arg(format!("tests/http/clients/{script}"))
        .arg(url)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let failed = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}{failed}");
    assert_eq!(said.trim_end(), "all right", "{failed}");
}
