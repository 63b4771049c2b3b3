//! A real Milvus server for tests: milvus-lite, started on loopback over a folder of its own,
//! killed and started again at will.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A server that ends with the test.
pub(crate) struct MilvusLite {
    process: Child,
    data: TempDir,
    port: u16,
}

impl MilvusLite {
    /// Starts one over an empty folder.
    pub(crate) fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let process = spawn(&data, port);
        Self {
            process,
            data,
            port,
        }
    }

    /// The address of one of its collections.
    pub(crate) fn address(&self, collection: &str) -> String {
        format!("milvus://127.0.0.1:{}/{collection}", self.port)
    }

    /// The port at which it listens.
    #[allow(dead_code)] // Not every test puts a proxy before its server.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Ends it as a power failure would.
    #[allow(dead_code)] // Not every test kills its server.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again over what it left.
    #[allow(dead_code)]
    pub(crate) fn restart(&mut self) {
        self.process = spawn(&self.data, self.port);
    }
}

impl Drop for MilvusLite {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(data: &TempDir, port: u16) -> Child {
    let program = std::env::var_os("KEN_TEST_MILVUS").expect(
        "KEN_TEST_MILVUS is not set: run this test by `cargo xtask test`, which prepares milvus-lite",
    );
    let mut process = Command::new(program)
        .args(["server", "--host", "127.0.0.1", "--data-dir"])
        .arg(data.path())
        .args(["--port", &port.to_string()])
        // It does not lock what several requests write at once.
        .args(["--max-workers", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(
            started.elapsed() < Duration::from_secs(120),
            "milvus-lite does not listen at port {port}"
        );
        if let Some(status) = process.try_wait().unwrap() {
            panic!("milvus-lite ended with {status}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    process
}
