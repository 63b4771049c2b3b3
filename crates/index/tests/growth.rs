//! Splitting a text into terms takes time in proportion to its length, and a query takes at most a fixed time, for any
//! text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use ken_index::{passage_terms, query_terms};
use ken_testing::cases;

/// How many times as long the longer of two texts is. Time that grows with the square of the length grows with the
/// square of this: far more than what caches, and others that use them, make of it.
const LONGER: usize = 8;

/// The longer text may take this many times as long; with the square, it would be [`LONGER`] times [`LONGER`].
const MOST: f64 = 2.5 * LONGER as f64;

/// A shorter time means nothing: it depends on the caches and the system's memory.
const LEAST: Duration = Duration::from_millis(20);

/// The number of tries, of which the best counts.
const TRIES: usize = 10;

type Text = fn(usize) -> String;

/// Texts of about the requested length.
const TEXTS: [(&str, Text); 16] = cases![
    "words" => |n| repeated("the moon drives the tide ", n);
    "random" => random;
    "distinct words" => |n| { counted(n, |number| format!("w{number:x} ")) };
    "one word" => |n| repeated("a", n);
    "one digit" => |n| repeated("7", n);
    "one word with dots" => |n| repeated("a.b_c'd", n);
    "Chinese" => |n| repeated("北京大学在中国首都", n);
    "kana" => |n| repeated("ガイドのカナ", n);
    "Thai" => |n| repeated("กินข้าว", n);
    "parentheses" => |n| { repeated("(", n / 2) + &repeated(")", n / 2) };
    "quotes" => |n| repeated("\"'\u{201c}", n);
    "accents" => |n| format!("e{}", repeated("\u{301}", n));
    "marks of many classes" =>
        |n| { format!("字{}", repeated("\u{489}\u{5b0}\u{323}\u{301}\u{345}\u{591}", n)) };
    "flags" => |n| repeated("\u{1f1e6}", n);
    "joined emoji" => |n| repeated("\u{1f469}\u{200d}\u{fe0f}", n);
    "expanding" => |n| repeated("\u{fdfa}\u{1e9e}\u{130}", n);
];

fn repeated(text: &str, bytes: usize) -> String {
    text.repeat(bytes / text.len())
}

fn counted(bytes: usize, text: impl Fn(usize) -> String) -> String {
    let mut all = String::new();
    let mut number = 0;
    while all.len() < bytes {
        all += &text(number);
        number += 1;
    }
    all
}

/// Code points drawn from all of Unicode, and spaces.
fn random(bytes: usize) -> String {
    let mut state = 7u64;
    let mut all = String::new();
    while all.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let point = (state >> 33) as u32 % 0x3_0000;
        all.push(match point % 7 {
            0 => ' ',
            _ => char::from_u32(point).unwrap_or('-'),
        });
    }
    all
}

/// The CPU time of this thread, if the system reports it: others may keep the processor busy.
fn computed() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn time(call: &impl Fn()) -> Duration {
    let (start, computed_before) = (Instant::now(), computed());
    call();
    match (computed_before, computed()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => start.elapsed(),
    }
}

/// Compares the times of both sizes. A disturbance hits some tries, but not all.
fn grows_with_its_length(sizes: impl Iterator<Item = usize>) {
    let sizes: Vec<usize> = sizes.collect();
    for (name, text) in TEXTS {
        for &size in &sizes {
            let texts = [text(size), text(LONGER * size)];
            let mut least = [Duration::MAX; 2];
            let mut ratio = f64::MAX;
            for _ in 0..TRIES {
                for (text, least) in texts.iter().zip(&mut least) {
                    *least = time(&|| drop(passage_terms("", text))).min(*least);
                }
                ratio = least[1].as_secs_f64() / least[0].max(LEAST).as_secs_f64();
                if ratio <= MOST {
                    break;
                }
            }
            assert!(
                ratio <= MOST,
                "{name}, {size} bytes and {LONGER} times as many: {least:?}"
            );
        }
    }
}

#[test]
fn terms_take_time_in_proportion_to_the_text() {
    grows_with_its_length([1 << 18].into_iter());
}

#[test]
#[ignore = "takes minutes"]
fn terms_take_time_in_proportion_to_texts_at_length() {
    grows_with_its_length((17..22).step_by(2).map(|power| 1 << power));
}

/// Only a bounded part of a long query is read.
#[test]
fn a_query_takes_a_bounded_time() {
    for (name, text) in TEXTS {
        let text = text(16 << 20);
        let took = time(&|| assert!(query_terms(&text).len() <= 512));
        assert!(took < Duration::from_secs(10), "{name}: {took:?}");
    }
}
