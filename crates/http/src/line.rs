//! Cutting a request off while its thread waits: for the handshake, for the server to take the request, or
//! for the response. It closes the connection, so that the server stops the work.
//!
//! ureq does not tell a connection which request uses it. So every request has a thread of its own, with
//! its line in a thread-local, and connections note their line.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, ShutdownHandle, Transport,
};

thread_local! {
    static CURRENT: RefCell<Option<Line>> = const { RefCell::new(None) };
}

/// The way of one request to its server.
#[derive(Clone, Default)]
pub struct Line(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_cut: bool,
    connection: Weak<Connection>,
}

/// A connection, and the line that uses it or used it last.
struct Connection {
    handle: Weak<dyn ShutdownHandle>,
    user: Mutex<Line>,
}

impl Line {
    /// Makes this the line of all later requests of this thread.
    pub fn take(&self) {
        CURRENT.set(Some(self.clone()));
    }

    /// Closes the connection that the request uses, and any that it will use.
    pub fn cut(&self) {
        let mut state = locked(&self.0);
        state.is_cut = true;
        if let Some(connection) = state.connection.upgrade() {
            // Idle connections are reused, so another line may have it by now.
            let user = locked(&connection.user);
            if Arc::ptr_eq(&user.0, &self.0) {
                connection.close();
            }
        }
    }

    fn uses(&self, connection: &Arc<Connection>) {
        *locked(&connection.user) = self.clone();
        let mut state = locked(&self.0);
        state.connection = Arc::downgrade(connection);
        if state.is_cut {
            connection.close();
        }
    }
}

impl Connection {
    fn close(&self) {
        if let Some(handle) = self.handle.upgrade() {
            handle.shutdown();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn current() -> Option<Line> {
    CURRENT.with_borrow(Clone::clone)
}

/// Makes connections that can be cut.
#[derive(Debug, Default)]
pub(crate) struct Lines(DefaultConnector);

impl Connector<()> for Lines {
    type Out = OnLine;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<OnLine>, Error> {
        // A proxy's connection is made first, and it is the one to close.
        let made = Arc::new(Mutex::new(None));
        let (line, make) = (current(), Arc::clone(&made));
        let register = Arc::clone(&details.register_shutdown);
        let details = ConnectionDetails {
            uri: details.uri,
            addrs: details.addrs.clone(),
            config: details.config,
            request_level: details.request_level,
            resolver: details.resolver,
            now: details.now,
            timeout: details.timeout,
            current_time: Arc::clone(&details.current_time),
            run_connector: Arc::clone(&details.run_connector),
            register_shutdown: Arc::new(move |handle: Weak<dyn ShutdownHandle>| {
                register(Weak::clone(&handle))?;
                let line = line.clone().unwrap_or_default();
                let connection = Arc::new(Connection {
                    handle,
                    user: Mutex::default(),
                });
                line.uses(&connection);
                *locked(&make) = Some(connection);
                Ok(())
            }),
        };
        let transport = self.0.connect(&details, chained)?;
        Ok(transport.map(|transport| OnLine {
            transport,
            connection: locked(&made).take(),
        }))
    }
}

/// A connection that notes its line.
pub(crate) struct OnLine {
    transport: Box<dyn Transport>,
    connection: Option<Arc<Connection>>,
}

impl Transport for OnLine {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.transport.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        // Every request begins with sending.
        if let (Some(line), Some(connection)) = (current(), &self.connection) {
            line.uses(connection);
        }
        self.transport.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.transport.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.transport.is_open()
    }

    fn is_tls(&self) -> bool {
        self.transport.is_tls()
    }
}

impl fmt::Debug for OnLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.transport.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::client::{Settings, agent};

    const LONG: Duration = Duration::from_secs(30);

    fn an_agent() -> ureq::Agent {
        agent(&Settings {
            certificates: None,
            proxy: None,
            connect: LONG,
            silence: LONG,
            answer: None,
            connections: 4,
        })
        .unwrap()
    }

    /// Sends a request on its own thread.
    fn ask(
        agent: &ureq::Agent,
        url: &str,
        body: String,
    ) -> (Line, thread::JoinHandle<Result<String, Error>>) {
        let (agent, url, line) = (agent.clone(), url.to_owned(), Line::default());
        let own = line.clone();
        let asked = thread::spawn(move || {
            own.take();
            agent.post(url).send(body)?.body_mut().read_to_string()
        });
        (line, asked)
    }

    fn head(stream: &mut TcpStream) {
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            let mut some = [0; 512];
            let read = stream.read(&mut some).unwrap();
            seen.extend_from_slice(&some[..read]);
        }
    }

    #[test]
    fn a_request_is_cut_while_its_server_reads_nothing_or_says_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let agent = an_agent();
        // More than sockets hold, so that sending waits; and little, so that the answer is waited for.
        for bytes in [24 << 20, 10] {
            let (line, asked) = ask(&agent, &url, "x".repeat(bytes));
            let (mut stream, _) = listener.accept().unwrap();
            thread::sleep(Duration::from_millis(100));
            assert!(!asked.is_finished());
            let began = Instant::now();
            line.cut();
            assert!(asked.join().unwrap().is_err());
            // This ends when the client closes the connection.
            let _ = stream.read_to_end(&mut Vec::new());
            assert!(began.elapsed() < LONG / 3, "{:?}", began.elapsed());
        }
        // One that is cut before it began connects for nothing.
        let line = Line::default();
        line.cut();
        line.take();
        assert!(agent.get(&url).call().is_err());
        CURRENT.set(None);
    }

    #[test]
    fn a_connection_that_another_request_uses_by_now_is_left_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (answer, answers) = channel();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for body in answers {
                head(&mut stream);
                thread::sleep(Duration::from_millis(100));
                let sent = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{body}");
                stream.write_all(sent.as_bytes()).unwrap();
            }
        });
        let agent = an_agent();
        let (first, asked) = ask(&agent, &url, String::new());
        answer.send('a').unwrap();
        assert_eq!(asked.join().unwrap().unwrap(), "a");
        let (_second, asked) = ask(&agent, &url, String::new());
        thread::sleep(Duration::from_millis(50));
        first.cut();
        answer.send('b').unwrap();
        assert_eq!(asked.join().unwrap().unwrap(), "b");
        drop(answer);
        server.join().unwrap();
    }
}
