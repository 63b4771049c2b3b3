//! Changes of files that an attacker would make: not only of bits, but of numbers, depth and length.

use crate::files::hostile::Random;

/// The longest file that a mutation makes.
const MOST_BYTES: usize = 1 << 20;

/// A file with one to four changes.
pub(crate) fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        change(&mut bytes, random);
        bytes.truncate(MOST_BYTES);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let length = bytes.len();
    let at = random.below(length + 1);
    let end = (at + 1 + random.below(64)).min(length);
    let part = bytes.get(at..end).unwrap_or_default().to_vec();
    match random.below(9) {
        // A bit.
        0 if at < length => bytes[at] ^= 1 << random.below(8),
        // A byte that means something in most formats.
        1 if at < length => {
            let marks = b"\0\xff\x7f\x80<>[](){}\"'\\/&\n\r\t ,:;.-#|*>0%";
            bytes[at] = marks[random.below(marks.len())];
        }
        // A number that is too large, in the two ways that files of bytes have.
        2 => {
            let numbers: [&[u8]; 5] = [
                b"\xff\xff\xff\xff",
                b"\xff\xff\xff\xff\x0f",
                b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                b"4294967295",
                b"99999999999999999999",
            ];
            let number = numbers[random.below(numbers.len())];
            let end = (at + number.len()).min(length);
            bytes.splice(at..end, number.iter().copied());
        }
        // Less.
        3 => bytes.truncate(at.max(1)),
        4 => drop(bytes.drain(at..end)),
        // A part many times: growth, and depth where it opens something.
        5 if !part.is_empty() => {
            let times = 1 << random.below(14);
            let times = times.min(MOST_BYTES / part.len());
            bytes.splice(at..at, part.repeat(times));
        }
        // A mark many times, and another one as often somewhere after it.
        6 => {
            let pairs: [(&[u8], &[u8]); 8] = [
                (b"[", b"]"),
                (b"(", b")"),
                (b"{{", b"}}"),
                (b"<a>", b"</a>"),
                (b"<svg>", b"</p>"),
                (b"> ", b"\n"),
                (b"<<", b">>"),
                (b"\"", b","),
            ];
            let (open, close) = pairs[random.below(pairs.len())];
            let times = 1 << random.below(14);
            let after = at + random.below(length + 1 - at);
            bytes.splice(after..after, close.repeat(times));
            bytes.splice(at..at, open.repeat(times));
        }
        // Another place's bytes.
        7 => {
            let from = random.below(length + 1);
            let other = bytes[from..(from + part.len()).min(length)].to_vec();
            bytes.splice(at..end.max(at), other);
        }
        _ => bytes.extend_from_slice(&part),
    }
}
