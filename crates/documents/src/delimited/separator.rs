//! What separates the fields of a file: its first line may say it, its header shows it, or its first rows do.

use std::cmp::Reverse;
use std::iter;

use super::splitter::{Splitter, Step};
use ken_corpus::FieldNames;

/// The separators of fields to try besides that of the file's extension.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How many rows are compared.
const ROWS: usize = 20;

fn ends_line(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn first_line(sample: &[u8]) -> &[u8] {
    let end = sample.iter().position(ends_line);
    sample
        .get(..end.unwrap_or(sample.len()))
        .unwrap_or_default()
}

/// The separator that a first line such as `sep=;` names, which Excel reads and writes.
pub(super) fn declared(sample: &[u8]) -> Option<u8> {
    let line = first_line(sample);
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    let (key, value) = line.split_at_checked(4)?;
    let (&separator, rest) = value.split_first()?;
    let is_sign = separator == b'\t' || separator.is_ascii_punctuation();
    // Programs that know nothing of this line fill it up to the number of columns.
    let ends = |byte: &u8| *byte == separator || matches!(byte, b'"' | b' ');
    let is_declared = key.eq_ignore_ascii_case(b"sep=") && is_sign && separator != b'"';
    (is_declared && rest.iter().all(ends)).then_some(separator)
}

/// The separator of the file's extension, unless only another one makes the columns that documents need. If none does, the one
/// by which most of the first rows have as many fields as the header, and then the one of most columns.
pub(super) fn of_fields(sample: &[u8], delimiter: u8, names: &FieldNames) -> u8 {
    let others = SEPARATORS.into_iter().filter(|&other| other != delimiter);
    let all: Vec<u8> = iter::once(delimiter).chain(others).collect();
    let header = String::from_utf8_lossy(first_line(sample));
    let columns = |separator: u8| {
        let fields = header.split(char::from(separator));
        fields.map(|name| name.trim().trim_matches('"').trim())
    };
    let is_known = |separator: &&u8| names.missing(columns(**separator)).is_none();
    let known = match names.are_numbers() {
        true => None,
        false => all.iter().find(is_known),
    };
    let most_regular = || {
        let rated = all.iter().filter_map(|separator| {
            let rating = regularity(sample, *separator)?;
            Some((Reverse(rating), separator))
        });
        let best = rated.min_by_key(|(rating, _)| *rating);
        best.map(|(_, separator)| separator)
    };
    known.or_else(most_regular).copied().unwrap_or(delimiter)
}

/// How many of the first rows have as many fields as the first one, and how many these are; `None` of a single column.
fn regularity(sample: &[u8], separator: u8) -> Option<(usize, usize)> {
    let mut rest = sample;
    let mut counts = Vec::new();
    while counts.len() < ROWS {
        let breaks = rest.iter().take_while(|byte| ends_line(byte)).count();
        rest = rest.get(breaks..).unwrap_or_default();
        let mut splitter = Splitter::new(separator, usize::MAX);
        let (taken, step) = splitter.take(rest);
        if step != Step::Ended {
            break;
        }
        counts.push(splitter.ends.len());
        rest = rest.get(taken..).unwrap_or_default();
    }
    let columns = *counts.first()?;
    let regular = counts.iter().filter(|&&count| count == columns).count();
    (columns > 1).then_some((regular, columns))
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;

    use super::*;

    #[test]
    fn a_first_line_may_name_the_separator() {
        for (sample, separator) in cases![
            "sep=;\nname;price\n" => Some(b';');
            "SEP=\t\r\nname\tprice\n" => Some(b'\t');
            "\"sep=|\"\nname|price\n" => Some(b'|');
            "sep=;;;\nname;price;note\n" => Some(b';');
            "sep=;name\n" => None;
            "sep=" => None;
            "sep=a\n" => None;
            "separator;name\n" => None;
            "" => None;
        ] {
            assert_eq!(declared(sample.as_bytes()), separator, "{sample}");
        }
    }

    #[test]
    fn the_first_rows_show_the_separator() {
        for (sample, separator) in cases![
            "name;price\nPump;9,50\nHose;3,20\n" => b';';
            "name;price, net;note\nPump;9,50;a\nHose;3,20;b\n" => b';';
            "name,note\nPump,a;b\nHose,c\n" => b',';
            "Frage\tAntwort, kurz\nWas, wann?\tNichts\nWer?\tIto\n" => b'\t';
            "\"a;b\";c,d\n1;2\n3;4\n" => b';';
            "name|price" => b',';
            "name|price\n" => b'|';
            "name\nPump, large; old\n" => b',';
            "" => b',';
        ] {
            let found = of_fields(sample.as_bytes(), b',', &FieldNames::default());
            assert_eq!(found, separator, "{sample}");
        }
    }
}
