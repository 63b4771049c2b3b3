//! Prints the text of the documents in the given files and folders, and the notices of their
//! readers on standard error.
//!
//! ```sh
//! cargo run --release -p ken-documents --example text -- manual.pdf notes/
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;
use std::process::ExitCode;

use ken_documents::{ReadError, read_documents};

fn main() -> ExitCode {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    match print(&paths) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn print(paths: &[PathBuf]) -> Result<(), ReadError> {
    let documents = read_documents(paths)?;
    let notices = documents.notices();
    for document in documents {
        println!("{}", document?.text);
        notices
            .take()
            .iter()
            .for_each(|notice| eprintln!("{notice}"));
    }
    Ok(())
}
