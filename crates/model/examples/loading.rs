//! temporary
#![allow(missing_docs, clippy::all, clippy::print_stdout, clippy::unwrap_used)]
use ken_model::Precision;
use ken_model::decoder::{Decoder, LoadOptions};
use ken_model::encoder::Encoder;
use std::path::Path;
use std::time::Instant;
fn hwm() -> String {
    std::fs::read_to_string("/proc/self/status")
        .unwrap()
        .lines()
        .filter(|l| {
            l.starts_with("VmHWM")
                || l.starts_with("VmRSS")
                || l.starts_with("RssFile")
                || l.starts_with("RssAnon")
        })
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join(", ")
}
fn main() {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap();
    let path = args.next().unwrap();
    let start = Instant::now();
    if kind == "decoder" {
        let d = Decoder::load(Path::new(&path), &LoadOptions::default()).unwrap();
        println!(
            "{:.3} s {} {}",
            start.elapsed().as_secs_f64(),
            d.fingerprint(),
            hwm()
        );
    } else {
        let e = Encoder::load(Path::new(&path), Precision::F32).unwrap();
        println!(
            "{:.3} s {} {}",
            start.elapsed().as_secs_f64(),
            e.fingerprint(),
            hwm()
        );
    }
}
