//! Sends spans by ken's own HTTP client, on the exporter's thread, which may block.

use std::fmt;
use std::future::Future;
use std::io::Read;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ken_http::{certificates_of, explained, proxy_of};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use ureq::http::header::CONTENT_TYPE;
use url::Url;

/// How long a collector may take to accept a connection, and to respond at all.
const WITHIN: Duration = Duration::from_secs(5);

/// The most bytes of a collector's response that are read.
const MOST_BYTES: u64 = 1 << 20;

/// Receives why a request failed, and whether it is the first failure since a success.
type Unsent = Box<dyn Fn(&str, bool) + Send + Sync>;

/// Sends to a collector.
pub(super) struct Client {
    agent: ureq::Agent,
    /// Whether it sends the headers that the exporter has from variables.
    sends_headers: bool,
    unsent: Unsent,
    is_failing: AtomicBool,
}

impl Client {
    /// A client for the collector at a URL.
    ///
    /// # Errors
    /// Certificates or a proxy that cannot be used, as a message.
    pub(super) fn new(
        url: &Url,
        sends_headers: bool,
        unsent: impl Fn(&str, bool) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let variable = |name: &str| std::env::var(name).ok();
        let agent = ken_http::agent(&ken_http::Settings {
            certificates: certificates_of(variable),
            proxy: proxy_of(url, variable).map_err(|error| error.to_string())?,
            connect: WITHIN,
            silence: WITHIN,
            answer: Some(WITHIN),
            connections: 1,
        })
        .map_err(|error| error.to_string())?;
        Ok(Self {
            agent,
            sends_headers,
            unsent: Box::new(unsent),
            is_failing: AtomicBool::new(false),
        })
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (mut head, body) = request.into_parts();
        if !self.sends_headers {
            let kind = head.headers.remove(CONTENT_TYPE);
            head.headers.clear();
            head.headers.extend(kind.map(|kind| (CONTENT_TYPE, kind)));
        }
        let request = ureq::http::Request::from_parts(head, body.as_ref());
        let sent = self.agent.run(request);
        let (head, body) = sent.map_err(|error| explained(&error))?.into_parts();
        let mut text = Vec::new();
        let mut body = body.into_reader().take(MOST_BYTES);
        body.read_to_end(&mut text)?;
        Ok(Response::from_parts(head, text.into()))
    }
}

impl HttpClient for Client {
    fn send_bytes<'client, 'sent>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'client: 'sent,
        Self: 'sent,
    {
        Box::pin(async move {
            let response = self.send(request);
            let failure = match &response {
                Ok(response) if response.status().is_success() => None,
                Ok(response) => Some(format!("the collector says {}", response.status())),
                Err(error) => Some(error.to_string()),
            };
            match failure {
                None => self.is_failing.store(false, Ordering::Relaxed),
                Some(why) => {
                    let is_first = !self.is_failing.swap(true, Ordering::Relaxed);
                    (self.unsent)(&why, is_first);
                }
            }
            response
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Client")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn headers_of_variables_are_sent_only_where_they_belong() {
        for sends in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
            let client = Client::new(&Url::parse(&url).unwrap(), sends, |_, _| {}).unwrap();
            let asked = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut head = vec![0; 4096];
                let length = stream.read(&mut head).unwrap();
                write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                String::from_utf8_lossy(&head[..length]).to_lowercase()
            });
            let request = Request::post(&url)
                .header("content-type", "application/x-protobuf")
                .header("authorization", "Bearer sk-secret")
                .body(Bytes::new());
            client.send(request.unwrap()).unwrap();
            let head = asked.join().unwrap();
            assert!(
                head.contains("content-type: application/x-protobuf"),
                "{head}"
            );
            assert_eq!(head.contains("sk-secret"), sends, "{head}");
        }
    }
}
