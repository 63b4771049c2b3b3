//! A tiny HTTP server on 127.0.0.1 that can break a connection in the middle of a body.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// The first byte requested by a `Range` header.
    pub(crate) from: Option<usize>,
    pub(crate) authorization: Option<String>,
}

/// A response.
pub(crate) struct Reply {
    status: u16,
    body: Vec<u8>,
    /// Serve `Range` requests of the body.
    ranges: bool,
    /// Close the connection after this many bytes of the body.
    cut_after: Option<usize>,
    /// Send the body again and again, and no length.
    endless: bool,
    /// The target of a redirect.
    location: Option<String>,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            body: Vec::new(),
            ranges: false,
            cut_after: None,
            endless: false,
            location: None,
        }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self {
            body: text.into().into_bytes(),
            ..Self::status(200)
        }
    }

    pub(crate) fn file(body: &[u8]) -> Self {
        Self {
            body: body.to_vec(),
            ranges: true,
            ..Self::status(200)
        }
    }

    #[allow(dead_code, reason = "not all tests that share this file redirect")]
    pub(crate) fn redirect(location: String) -> Self {
        Self {
            location: Some(location),
            ..Self::status(302)
        }
    }

    pub(crate) fn endless(mut self) -> Self {
        self.endless = true;
        self
    }

    pub(crate) fn cut_after(mut self, bytes: usize) -> Self {
        self.cut_after = Some(bytes);
        self
    }
}

/// A running server; its thread ends with the test process.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Request) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Clients that disconnect are part of the tests.
                let _ = serve(&stream, &answer, &log);
            }
        });
        Self { url, requests }
    }

    /// The requests so far whose path ends with `end`.
    pub(crate) fn requests(&self, end: &str) -> Vec<Request> {
        let all = self.requests.lock().unwrap();
        all.iter()
            .filter(|r| r.path.ends_with(end))
            .cloned()
            .collect()
    }
}

fn serve(
    mut stream: &TcpStream,
    answer: &impl Fn(&Request) -> Reply,
    log: &Mutex<Vec<Request>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let target = first.split(' ').nth(1).unwrap_or("/");
    let mut request = Request {
        path: target.split('?').next().unwrap_or("/").to_owned(),
        from: None,
        authorization: None,
    };
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let first = value.trim_start_matches("bytes=").split('-').next();
                request.from = first.and_then(|n| n.parse().ok());
            }
            "authorization" => request.authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    log.lock().unwrap().push(request.clone());
    let reply = answer(&request);
    let total = reply.body.len();
    let (status, start) = match request.from {
        Some(from) if reply.ranges && from < total => (206, from),
        Some(_) if reply.ranges => (416, total),
        _ => (reply.status, 0),
    };
    let body = &reply.body[start..];
    if reply.endless {
        let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        loop {
            stream.write_all(body)?;
        }
    }
    let mut head = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\nContent-Type: text/html\r\n",
        body.len()
    );
    if status == 206 {
        head += &format!("Content-Range: bytes {start}-{}/{total}\r\n", total - 1);
    }
    if let Some(location) = reply.location {
        head += &format!("Location: {location}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    let sent = reply.cut_after.unwrap_or(body.len()).min(body.len());
    stream.write_all(&body[..sent])?;
    stream.flush()
}
