//! Ctrl-C: the first asks the running work to stop where nothing is lost, the second ends the program at once. While
//! the program only waits for input, nothing can be lost, and the first ends it.

use std::io::{self, BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use crate::failure::{Context, Failure, Result};

/// What shells report for a program that ended by Ctrl-C.
const ENDED_BY_INTERRUPT: i32 = 130;

/// Whether Ctrl-C was pressed.
static RAISED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether the program waits for input.
static WAITING: AtomicBool = AtomicBool::new(false);

/// Starts to listen. The flag rises at the first Ctrl-C; long work checks it.
pub(crate) fn listen() -> Result<&'static Arc<AtomicBool>> {
    ctrlc::set_handler(|| {
        if RAISED.swap(true, Ordering::SeqCst) || WAITING.load(Ordering::SeqCst) {
            leave();
        }
        // If stderr is gone, this reaches no one.
        let _ = writeln!(io::stderr(), "\nstopping (Ctrl-C again ends at once)");
    })
    .map_err(Failure::other)
    .context(|| "cannot listen for Ctrl-C")?;
    Ok(&RAISED)
}

/// The next line of standard input, without its end; `None` at the end of the input. Ctrl-C ends the program while it
/// waits.
pub(crate) fn next_line() -> io::Result<Option<String>> {
    waiting(|| io::stdin().lock().lines().next().transpose())
}

/// A line of standard input that may hold anything.
pub(crate) enum Line {
    /// Its bytes, without its end.
    Whole(Vec<u8>),
    /// It has more bytes than allowed; they are left out.
    TooLong,
}

/// As [`next_line`], for lines of programs: nothing is kept of a line with more than `most` bytes.
pub(crate) fn next_line_within(most: usize) -> io::Result<Option<Line>> {
    waiting(|| line_within(&mut io::stdin().lock(), most))
}

fn line_within(input: &mut impl BufRead, most: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    // One byte more, for the end of the line.
    let mut start = input.by_ref().take(most as u64 + 1);
    let read = start.read_until(b'\n', &mut line)?;
    if line.pop_if(|byte| *byte == b'\n').is_none() && read > most {
        input.skip_until(b'\n')?;
        return Ok(Some(Line::TooLong));
    }
    Ok((read > 0).then_some(Line::Whole(line)))
}

/// Runs something that waits for input. Meanwhile, Ctrl-C ends the program.
fn waiting<T>(read: impl FnOnce() -> T) -> T {
    WAITING.store(true, Ordering::SeqCst);
    if RAISED.load(Ordering::SeqCst) {
        leave();
    }
    let read = read();
    WAITING.store(false, Ordering::SeqCst);
    read
}

/// Ends the program, with the prompt's line ended.
fn leave() -> ! {
    let _ = writeln!(io::stderr());
    std::process::exit(ENDED_BY_INTERRUPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_the_next_one_is_read() {
        let mut input =
            io::BufReader::with_capacity(3, &b"one\n\nlonger\nexact\n\xff\xfe\nend"[..]);
        let mut lines = Vec::new();
        while let Some(line) = line_within(&mut input, 5).unwrap() {
            lines.push(match line {
                Line::Whole(line) => line,
                Line::TooLong => b"too long".to_vec(),
            });
        }
        let expected: [&[u8]; 6] = [b"one", b"", b"too long", b"exact", b"\xff\xfe", b"end"];
        assert_eq!(lines, expected);
    }
}
