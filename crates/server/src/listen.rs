//! Listening: connections, how many and how slow they may be, and the shutdown, which lets requests finish.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use socket2::SockRef;

use crate::access::caller::Access;
use crate::connections::connection::Peer;
use crate::connections::places::Places;
use crate::connections::write_timeout::Stalling;
use crate::connections::{connection, files};
use crate::log::Entry;
use crate::routes::router;
use crate::service::library::worker;
use crate::service::live::{Configured, Live};
use crate::service::resources::Served;

/// The most connections that the system makes before the server accepts them, if the system allows that many. A
/// client that finds no room tries again after 1, 3, 7, 15 seconds and so on, long after there is some.
const BACKLOG: i32 = 4096;

/// How long a client may leave what is written to it unread.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// The most headers of a request.
const HEADERS: usize = 100;

/// How long requests may still take when the server is told to end; then it breaks off their work.
const DRAIN: Duration = Duration::from_secs(8);

/// How long broken-off work may take to say so.
const BREAK_OFF: Duration = Duration::from_secs(1);

/// How often the server looks at the flag that ends it.
const LOOK: Duration = Duration::from_millis(50);

/// How often the server checks whether corpora and keys have changed.
const RENEW: Duration = Duration::from_secs(1);

/// Why the server cannot start.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ListenError {
    #[error("cannot listen on {address}: {source}")]
    #[diagnostic(remedy = "name another address by <listen> IP:PORT")]
    CannotListen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("{address} can be reached from other machines, and there are no keys")]
    #[diagnostic(
        remedy = "make one: <MakeServerKey>, or listen on an address of this machine by <listen> IP:PORT"
    )]
    NoServerKeys { address: SocketAddr },
    #[error("cannot serve: {0}")]
    Io(#[from] std::io::Error),
}

/// Opens the address. One that other machines can reach needs keys.
///
/// # Errors
/// An address that the system denies, or that needs keys.
pub fn bind(address: SocketAddr, access: &Access) -> Result<TcpListener, ListenError> {
    if !address.ip().is_loopback() && !access.has_keys() {
        return Err(ListenError::NoServerKeys { address });
    }
    let listening = || {
        let listener = TcpListener::bind(address)?;
        // The standard library's backlog is 128.
        SockRef::from(&listener).listen(BACKLOG)?;
        Ok(listener)
    };
    listening().map_err(|source| ListenError::CannotListen { address, source })
}

/// Serves until `stop` is raised, then until the requests in progress are answered, or for ten seconds. With
/// settings, it renews corpora when new generations of them are published, and reads the settings again on request.
///
/// # Errors
/// Threads or sockets that the system denies.
pub fn serve(
    served: Served,
    access: Access,
    listener: TcpListener,
    configured: Option<Configured>,
    stop: &AtomicBool,
) -> Result<(), ListenError> {
    let (served, access) = (Arc::new(served), Arc::new(access));
    let idle = served.limits.idle;
    let live = Arc::new(Live::new(Arc::clone(&served), configured));
    let ending = Arc::new(AtomicBool::new(false));
    let routes = router(Arc::clone(&live), Arc::clone(&access), Arc::clone(&ending));
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(4 * served.limits.parallel + 16)
        .enable_io()
        .enable_time()
        .build()?;
    let (halted, library) = (Arc::clone(&served.halted), served.library.clone());
    let spans = served.spans.clone();
    let places = Places::new(files::connections(served.limits.connections.max(1)));
    drop(served);
    let over = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| renew(&live, &access, &over));
        if let Some(library) = &library {
            for jobs in [&library.jobs, &library.measurements] {
                let (live, over, runtime) = (&live, &over, runtime.handle());
                scope.spawn(move || worker::work(live, library, jobs, runtime, over));
            }
        }
        let result = runtime.block_on(accept(
            listener, &places, routes, idle, stop, &ending, &halted,
        ));
        over.store(true, Ordering::Relaxed);
        if let Some(library) = &library {
            library.halt();
        }
        result
    });
    halted.store(true, Ordering::Relaxed);
    runtime.shutdown_timeout(BREAK_OFF);
    if let Some(spans) = spans {
        spans.end();
    }
    Ok(result?)
}

async fn accept(
    listener: TcpListener,
    places: &Arc<Places>,
    routes: Router,
    idle: Duration,
    stop: &AtomicBool,
    ending: &AtomicBool,
    halted: &AtomicBool,
) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let connections = GracefulShutdown::new();
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .max_headers(HEADERS);
    while !stop.load(Ordering::Relaxed) {
        let (stream, peer) = match tokio::time::timeout(LOOK, listener.accept()).await {
            Ok(Ok(accepted)) => accepted,
            // Out of files, or a client that is gone already: others may fare better.
            Ok(Err(_)) => {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            Err(_) => continue,
        };
        // Pieces of an answer are small, and clients want each at once.
        let _ = stream.set_nodelay(true);
        let place = loop {
            if let Some(place) = places.take() {
                break Some(place);
            }
            if stop.load(Ordering::Relaxed) {
                break None;
            }
            let _ = tokio::time::timeout(LOOK, places.freed()).await;
        };
        let Some(place) = place else { break };
        let service = connection::service(routes.clone(), Arc::clone(&place), Peer(peer.ip()));
        let stream = TokioIo::new(Stalling::new(stream, READ_WITHIN));
        let connection = connections.watch(server.serve_connection(stream, service));
        tokio::spawn(async move {
            // A connection that breaks is the client's affair.
            tokio::select! {
                _ = connection => (),
                () = place.wanted() => (),
            }
        });
    }
    ending.store(true, Ordering::Relaxed);
    drop(listener);
    let mut drained = std::pin::pin!(connections.shutdown());
    if tokio::time::timeout(DRAIN, &mut drained).await.is_err() {
        halted.store(true, Ordering::Relaxed);
        let _ = tokio::time::timeout(BREAK_OFF, drained).await;
    }
    Ok(())
}

/// Renews corpora and keys until the server is over. It logs each failure once, and tries again.
fn renew(live: &Live, access: &Access, over: &AtomicBool) {
    let mut reported: Vec<(String, String)> = Vec::new();
    let mut last = Instant::now();
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        if last.elapsed() < RENEW {
            continue;
        }
        last = Instant::now();
        let mut failed = Vec::new();
        if let Err(error) = access.refresh() {
            failed.push(("keys".to_owned(), error.to_string()));
        }
        let now = live.now();
        let served = &now.served;
        if let Some(setup) = now.setup() {
            let (renewed, stale) = served.corpora.refresh(&setup);
            for state in renewed {
                served.renewed(state);
            }
            let stale = stale.into_iter();
            failed.extend(stale.map(|(name, error)| (name, error.to_string())));
        }
        for (what, detail) in failed.iter().filter(|failure| !reported.contains(failure)) {
            (served.log)(&Entry::Stale {
                what: what.clone(),
                detail: detail.clone(),
            });
        }
        reported = failed;
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_crowd_is_connected_before_it_is_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let access = Access::open(folder.path().join("keys.json")).unwrap();
        let listener = bind("127.0.0.1:0".parse().unwrap(), &access).unwrap();
        let address = listener.local_addr().unwrap();
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let most: usize = most.trim().parse().unwrap();
        // The server accepts none. Without room, a connection takes a second at least.
        let within = Duration::from_millis(900);
        let crowd = (0..most.min(500)).map(|_| TcpStream::connect_timeout(&address, within));
        let crowd: Result<Vec<TcpStream>, std::io::Error> = crowd.collect();
        assert_eq!(crowd.unwrap().len(), most.min(500));
    }
}
