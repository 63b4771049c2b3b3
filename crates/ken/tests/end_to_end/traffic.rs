//! Load for a server: requests on their own connections, and the resources that a server uses meanwhile.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A response.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// No response, or not a whole one, for a reason.
    fn lost(reason: String) -> Self {
        Self {
            status: 0,
            head: String::new(),
            body: reason,
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}{}", self.head, self.body))
    }
}

/// A request as bytes, after which the connection closes.
pub(crate) fn request(method: &str, path: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Sends a request on its own connection; an error if no whole response comes.
pub(crate) fn send(
    address: &str,
    method: &str,
    path: &str,
    kind: &str,
    body: &str,
) -> Result<Reply, String> {
    let attempt = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(330)))?;
        stream.write_all(request(method, path, kind, body).as_bytes())?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    };
    let response = attempt().map_err(|error| error.to_string())?;
    let (head, body) = response.split_once("\r\n\r\n").ok_or("no head")?;
    let head = head.to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    if length.is_some_and(|length| length != body.len().to_string()) {
        return Err("the body was cut off".to_owned());
    }
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
    Ok(Reply {
        status: status.ok_or("no status")?,
        body: body.to_owned(),
        head,
    })
}

/// The body of a question by chat completions.
pub(crate) fn chat_body((question, policy): (&str, &str), streams: bool) -> String {
    json!({
        "model": format!("ken/{policy}"), "messages": [{"role": "user", "content": question}],
        "stream": streams, "max_tokens": 6, "ken": {"style": "short", "k": 1},
    })
    .to_string()
}

/// Asks by chat completions. Returns the request's id and the answer, which came once and whole.
pub(crate) fn chat(
    address: &str,
    asked: (&str, &str),
    streams: bool,
) -> Result<(String, String), Reply> {
    let body = chat_body(asked, streams);
    let json = "application/json";
    let reply = send(address, "POST", "/v1/chat/completions", json, &body);
    let reply = reply.map_err(Reply::lost)?;
    if reply.status != 200 {
        return Err(reply);
    }
    let parsed = |text: &str| -> Result<Value, Reply> {
        serde_json::from_str(text).map_err(|error| Reply::lost(error.to_string()))
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if !streams {
        let value = parsed(&reply.body)?;
        let id = text(&value["ken"]["request_id"]);
        return Ok((id, text(&value["choices"][0]["message"]["content"])));
    }
    let (mut id, mut answer, mut ends) = (String::new(), String::new(), 0);
    let lines = reply.body.lines();
    for data in lines.filter_map(|line| line.strip_prefix("data: ")) {
        if data == "[DONE]" {
            ends += 1;
            continue;
        }
        let value = parsed(data)?;
        if value["ken"]["request_id"].is_string() {
            id = text(&value["ken"]["request_id"]);
        }
        answer += &text(&value["choices"][0]["delta"]["content"]);
        if !value["error"].is_null() {
            return Err(Reply::lost(data.to_owned()));
        }
    }
    match ends {
        1 => Ok((id, answer)),
        _ => Err(Reply::lost(format!("{ends} ends: {}", reply.body))),
    }
}

/// The content type of an upload.
pub(crate) const UPLOAD: &str = "multipart/form-data; boundary=b";

/// The body of an upload.
pub(crate) fn upload_body(name: &str, text: &str) -> String {
    format!(
        "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{text}\r\n--b--\r\n"
    )
}

/// Uploads a document into a corpus. Returns the id of the job, which acknowledges the upload.
pub(crate) fn upload(
    address: &str,
    corpus: &str,
    (name, text): (&str, &str),
) -> Result<String, String> {
    let path = format!("/v1/ken/corpora/{corpus}/documents");
    let reply = send(address, "POST", &path, UPLOAD, &upload_body(name, text))?;
    assert_eq!(reply.status, 202, "{}", reply.body);
    Ok(reply.json()["id"].as_str().unwrap().to_owned())
}

/// Waits until a job is done.
pub(crate) fn finish(address: &str, job: &str) {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let path = format!("/v1/ken/jobs/{job}");
        let job = send(address, "GET", &path, "text/plain", "")
            .unwrap()
            .json();
        match job["status"].as_str() {
            Some("done") => return,
            Some("waiting" | "running") if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(20));
            }
            _ => panic!("{job}"),
        }
    }
}

/// The memory of a process, in KiB.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    /// Its own.
    pub(crate) anonymous: u64,
    /// Pages of files, which the system can take back.
    pub(crate) of_files: u64,
}

pub(crate) fn memory(process: u32) -> Memory {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let value = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    Memory {
        anonymous: value("RssAnon:"),
        of_files: value("RssFile:"),
    }
}

/// How many files, including sockets, a process has open.
pub(crate) fn open_files(process: u32) -> usize {
    let folder = format!("/proc/{process}/fd");
    std::fs::read_dir(folder).unwrap().count()
}

/// A sum of a metric's lines.
pub(crate) fn metric(address: &str, start: &str) -> u64 {
    let text = send(address, "GET", "/metrics", "text/plain", "")
        .unwrap()
        .body;
    let lines = text.lines().filter(|line| line.starts_with(start));
    lines
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum()
}

pub(crate) fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let place = (sorted.len() as f64 * share) as usize;
    sorted
        .get(place.min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}
