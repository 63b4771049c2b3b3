//! A small HTTP server on 127.0.0.1 that can hang, hang up and truncate responses.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

/// A request of a client.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// Null if it had none.
    pub(crate) body: Value,
    pub(crate) authorization: Option<String>,
    /// Azure's header for a key.
    pub(crate) api_key: Option<String>,
}

/// The response.
pub(crate) enum Reply {
    Text {
        status: u16,
        media: &'static str,
        headers: String,
        body: String,
    },
    /// Server-sent events, with a pause before each, and whether the stream ends properly.
    Events {
        events: Vec<String>,
        pause: Duration,
        whole: bool,
    },
    /// A head, then the same bytes repeatedly, with a pause before each.
    Repeated {
        head: String,
        bytes: Vec<u8>,
        times: usize,
        pause: Duration,
    },
    /// Silence, then the end of the connection.
    Silence(Duration),
    /// The connection is closed at once.
    HangUp,
}

impl Reply {
    pub(crate) fn json(body: &Value) -> Self {
        Self::status(200, body)
    }

    pub(crate) fn status(status: u16, body: &Value) -> Self {
        Self::text(status, "application/json", &body.to_string())
    }

    pub(crate) fn text(status: u16, media: &'static str, body: &str) -> Self {
        Self::Text {
            status,
            media,
            headers: String::new(),
            body: body.to_owned(),
        }
    }

    /// An error response in OpenAI's format.
    pub(crate) fn refusal(status: u16, message: &str) -> Self {
        Self::status(status, &json!({"error": {"message": message, "type": "x"}}))
    }

    pub(crate) fn with_header(mut self, header: &str) -> Self {
        if let Self::Text { headers, .. } = &mut self {
            *headers += &format!("{header}\r\n");
        }
        self
    }

    /// Events of a stream that ends properly.
    pub(crate) fn events(events: &[Value]) -> Self {
        let mut events: Vec<String> = events.iter().map(Value::to_string).collect();
        events.push("[DONE]".to_owned());
        Self::Events {
            events,
            pause: Duration::ZERO,
            whole: true,
        }
    }
}

/// A running server; its threads end with the test process, or when it is closed.
pub(crate) struct Server {
    /// The base URL of its API.
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    disconnected: Arc<Mutex<usize>>,
    closed: Arc<AtomicBool>,
    listening: JoinHandle<()>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
    }

    pub(crate) fn on(
        listener: TcpListener,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let disconnected = Arc::new(Mutex::new(0));
        let (log, broken) = (requests.clone(), disconnected.clone());
        let answer = Arc::new(answer);
        let closed = Arc::new(AtomicBool::new(false));
        let is_closed = closed.clone();
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_closed.load(Ordering::SeqCst) {
                    break;
                }
                let (answer, log, broken) = (answer.clone(), log.clone(), broken.clone());
                std::thread::spawn(move || {
                    // Clients that disconnect are part of the tests.
                    if serve(&stream, &*answer, &log).is_err() {
                        *broken.lock().unwrap() += 1;
                    }
                });
            }
        });
        Self {
            url,
            requests,
            disconnected,
            closed,
            listening,
        }
    }

    /// Accepts no more connections.
    pub(crate) fn close(self) {
        self.closed.store(true, Ordering::SeqCst);
        let address = self.url.trim_start_matches("http://");
        drop(TcpStream::connect(address.trim_end_matches("/v1")));
        self.listening.join().unwrap();
    }

    /// The requests so far whose path ends with `end`.
    pub(crate) fn requests(&self, end: &str) -> Vec<Request> {
        let all = self.requests.lock().unwrap();
        all.iter()
            .filter(|request| request.path.ends_with(end))
            .cloned()
            .collect()
    }

    /// How many clients have disconnected before a response was complete.
    pub(crate) fn disconnected(&self) -> usize {
        *self.disconnected.lock().unwrap()
    }

    /// Waits until a client has disconnected in the middle of a response.
    pub(crate) fn wait_for_disconnect(&self) {
        for _ in 0..200 {
            if self.disconnected() > 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no client went away");
    }
}

fn serve(
    mut stream: &TcpStream,
    answer: &dyn Fn(&Request) -> Reply,
    log: &Mutex<Vec<Request>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
    let (mut length, mut authorization, mut api_key) = (0, None, None);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => authorization = Some(value.trim().to_owned()),
            "api-key" => api_key = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request = Request {
        path,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        authorization,
        api_key,
    };
    log.lock().unwrap().push(request.clone());
    match answer(&request) {
        Reply::Text {
            status,
            media,
            headers,
            body,
        } => {
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\
                 Connection: close\r\n{headers}\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes())?;
            stream.write_all(body.as_bytes())
        }
        Reply::Events {
            events,
            pause,
            whole,
        } => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
                        Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
            stream.write_all(head.as_bytes())?;
            for event in events {
                wait(stream, pause)?;
                let event = format!("data: {event}\n\n");
                let chunk = format!("{:x}\r\n{event}\r\n", event.len());
                stream.write_all(chunk.as_bytes())?;
            }
            if whole {
                stream.write_all(b"0\r\n\r\n")?;
            }
            Ok(())
        }
        Reply::Repeated {
            head,
            bytes,
            times,
            pause,
        } => {
            stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n").as_bytes())?;
            for _ in 0..times {
                wait(stream, pause)?;
                stream.write_all(&bytes)?;
            }
            Ok(())
        }
        Reply::Silence(duration) => wait(stream, duration),
        Reply::HangUp => Ok(()),
    }
}

/// Waits for a time, or until the client disconnects.
fn wait(mut stream: &TcpStream, time: Duration) -> std::io::Result<()> {
    if time.is_zero() {
        return Ok(());
    }
    stream.set_read_timeout(Some(time))?;
    match stream.read(&mut [0]) {
        Ok(_) => Err(ErrorKind::UnexpectedEof.into()),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(()),
        Err(error) => Err(error),
    }
}
