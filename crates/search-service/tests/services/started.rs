//! Servers that tests start and stop.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A server on loopback.
pub(crate) struct Started {
    process: Child,
    pub(crate) port: u16,
}

impl Started {
    /// Starts what `command` makes for a port.
    pub(crate) fn new(port: u16, command: &mut Command) -> Self {
        let mut process = command.spawn().unwrap();
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                started.elapsed() < Duration::from_secs(120),
                "nothing listens at {port}"
            );
            if let Some(status) = process.try_wait().unwrap() {
                panic!("the server ended with {status}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { process, port }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}

/// The Python that has the services.
pub(crate) fn python() -> PathBuf {
    let python = std::env::var_os("KEN_TEST_SEARCH_SERVICES").expect(
        "KEN_TEST_SEARCH_SERVICES is not set: run this test by `cargo xtask test`, which prepares search services",
    );
    python.into()
}
