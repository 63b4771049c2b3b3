//! Serves a corpus by OpenAI's API and shows the console, until the program is ended:
//!
//! ```sh
//! cargo run --release -p ken-rag --example serve -- notes.ken
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::env::args;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_server::{Access, Log, Served};
use ken_setup::{Key, Settings, Setup};

fn main() -> Result<(), Box<dyn Error>> {
    let corpus = args().nth(1).ok_or("give a corpus")?;
    let settings = Settings::resolve(None, [(Key::corpus, corpus.into())])?;
    let stop = Arc::new(AtomicBool::new(false));
    let access = Access::open(settings.server_keys.clone())?;
    // Without keys, the server listens to this machine only.
    let listener = ken_server::bind(settings.listen, &access)?;
    let log: Log = Arc::new(|entry| eprintln!("{entry:?}"));
    let served = Served::open(&Setup::quiet(&settings, &stop), None, log)?;
    println!("http://{}/", listener.local_addr()?);
    ken_server::serve(served, access, listener, None, &stop)?;
    Ok(())
}
