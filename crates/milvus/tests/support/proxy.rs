//! A proxy on loopback that passes bytes between clients and a server, and breaks or stalls connections when it is told to.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the server.
    Requests,
    /// To the client.
    Answers,
}

/// After how many bytes of one way the connection breaks that carries them; once.
type Breaking = Arc<Mutex<Option<(Way, usize)>>>;

pub(crate) struct Proxy {
    port: u16,
    breaking: Breaking,
    stalled: Arc<AtomicBool>,
}

impl Proxy {
    /// Starts one before the server at a port of this machine. It runs as long as the test.
    pub(crate) fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let breaking = Breaking::default();
        let shared = Arc::clone(&breaking);
        let stalled = Arc::new(AtomicBool::new(false));
        let stalling = Arc::clone(&stalled);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let server = TcpStream::connect(("127.0.0.1", server));
                if let (Ok(client), Ok(server)) = (client, server) {
                    connect(&client, &server, &shared, &stalling);
                }
            }
        });
        Self {
            port,
            breaking,
            stalled,
        }
    }

    /// The address of a collection of the server, through the proxy.
    pub(crate) fn address(&self, collection: &str) -> String {
        format!("milvus://127.0.0.1:{}/{collection}", self.port)
    }

    /// Holds all bytes back, as a server that hangs, or passes them on again.
    pub(crate) fn stall(&self, stalled: bool) {
        self.stalled.store(stalled, Ordering::Relaxed);
    }

    /// Breaks a connection, once so many more bytes have passed on the way.
    pub(crate) fn break_after(&self, bytes: usize, way: Way) {
        *self.breaking.lock().unwrap() = Some((way, bytes));
    }
}

fn connect(client: &TcpStream, server: &TcpStream, breaking: &Breaking, stalled: &Arc<AtomicBool>) {
    for (way, from, to) in [
        (Way::Requests, client, server),
        (Way::Answers, server, client),
    ] {
        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let (breaking, stalled) = (Arc::clone(breaking), Arc::clone(stalled));
        std::thread::spawn(move || pass(way, from, to, &breaking, &stalled));
    }
}

/// Passes bytes on until either end closes the connection, or it is to break.
fn pass(
    way: Way,
    mut from: TcpStream,
    mut to: TcpStream,
    breaking: &Breaking,
    stalled: &AtomicBool,
) {
    let mut bytes = vec![0; 1 << 14];
    while let Ok(count @ 1..) = from.read(&mut bytes)
        && !breaks(way, count, breaking)
        && goes_on(stalled)
        && to.write_all(&bytes[..count]).is_ok()
    {}
    for end in [from, to] {
        // It may be closed already.
        let _ = end.shutdown(Shutdown::Both);
    }
}

/// Waits until nothing holds the bytes back; always true.
fn goes_on(stalled: &AtomicBool) -> bool {
    while stalled.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

fn breaks(way: Way, count: usize, breaking: &Breaking) -> bool {
    let mut breaking = breaking.lock().unwrap();
    match *breaking {
        Some((broken, left)) if broken == way && left < count => {
            *breaking = None;
            true
        }
        Some((broken, left)) if broken == way => {
            *breaking = Some((broken, left - count));
            false
        }
        _ => false,
    }
}
