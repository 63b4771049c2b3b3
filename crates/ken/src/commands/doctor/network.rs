//! Whether the model hub's host can be reached within a few seconds. It fetches nothing, and sees no further than a
//! proxy.

use std::fmt;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::time::Duration;

use serde::Serialize;

const PATIENCE: Duration = Duration::from_secs(3);
const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// Whether a host could be reached.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct Reach {
    host: String,
    pub(in crate::commands) reachable: bool,
    /// Why not.
    problem: Option<String>,
}

impl fmt::Display for Reach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            None => write!(formatter, "{} reachable", self.host),
            Some(problem) => write!(formatter, "{} not reachable: {problem}", self.host),
        }
    }
}

/// Tries the hub that `HF_ENDPOINT` names, else Hugging Face's own.
pub(in crate::commands) fn reach_hub() -> Reach {
    let endpoint = std::env::var("HF_ENDPOINT").ok();
    let endpoint = endpoint.as_deref().filter(|endpoint| !endpoint.is_empty());
    reach(&host_and_port(endpoint.unwrap_or(DEFAULT_ENDPOINT)))
}

fn reach(host: &str) -> Reach {
    // A name lookup has no time limit of its own, so another thread does it, and is left behind if it takes too long.
    let (sender, receiver) = mpsc::channel();
    let target = host.to_owned();
    std::thread::spawn(move || sender.send(connect(&target)));
    let problem = match receiver.recv_timeout(PATIENCE) {
        Ok(outcome) => outcome.err(),
        Err(_) => Some(format!("no answer within {} s", PATIENCE.as_secs())),
    };
    Reach {
        host: host.to_owned(),
        reachable: problem.is_none(),
        problem,
    }
}

fn connect(host: &str) -> Result<(), String> {
    let addresses = host.to_socket_addrs().map_err(|cause| cause.to_string())?;
    let mut problem = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(cause) => problem = cause.to_string(),
        }
    }
    Err(problem)
}

/// `HOST:PORT` of a web address.
fn host_and_port(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    match (matches!(port, Some(Ok(_))), scheme) {
        (true, _) => host.to_owned(),
        (false, "http") => format!("{host}:80"),
        (false, _) => format!("{host}:443"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn host_and_port_are_taken_from_an_address() {
        assert_eq!(host_and_port(DEFAULT_ENDPOINT), "huggingface.co:443");
        assert_eq!(host_and_port("http://mirror/hf"), "mirror:80");
        assert_eq!(host_and_port("http://u:p@mirror:8080/"), "mirror:8080");
        assert_eq!(host_and_port("mirror"), "mirror:443");
    }

    #[test]
    fn an_open_port_is_reachable_and_a_closed_one_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        assert!(reach(&host).reachable);
        // Nothing listens below the ports that systems hand out.
        assert!(reach("127.0.0.1:1").problem.is_some());
    }
}
