//! Cutting a text that is too long into two, at the best boundary near its middle.

use unicode_segmentation::GraphemeCursor;

/// The boundaries that a text may be cut after, the best last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Boundary {
    Space,
    Line,
    Sentence,
    Paragraph,
}

/// The halves of a text, cut near its middle: after a paragraph if one ends there, else after a sentence, a line, a
/// word, or a character. `None` for a text of one character.
pub fn halve(text: &str) -> Option<(&str, &str)> {
    let middle = text.len() / 2;
    let near = text.len() / 4..text.len() - text.len() / 4;
    let mut best: Option<(Boundary, usize)> = None;
    let mut before = ['\0', '\0'];
    for (offset, character) in text.char_indices() {
        if offset >= near.end {
            break;
        }
        if offset > near.start
            && let Some(boundary) = boundary(before, character)
            && best.is_none_or(|(best, place)| {
                boundary > best
                    || boundary == best && offset.abs_diff(middle) < place.abs_diff(middle)
            })
        {
            best = Some((boundary, offset));
        }
        before = [before[1], character];
    }
    let offset = match best {
        Some((_, offset)) => offset,
        None => character_boundary(text, middle)?,
    };
    Some(text.split_at(offset))
}

/// The boundary between the `last` character and the `next`.
fn boundary([earlier, last]: [char; 2], next: char) -> Option<Boundary> {
    match last {
        '\n' if earlier == '\n' => Some(Boundary::Paragraph),
        '\n' => Some(Boundary::Line),
        '。' | '！' | '？' | '।' | '۔' => Some(Boundary::Sentence),
        last if last.is_whitespace() && !next.is_whitespace() => match earlier {
            '.' | '!' | '?' => Some(Boundary::Sentence),
            _ => Some(Boundary::Space),
        },
        _ => None,
    }
}

/// The end of the character at a byte, or its start if it is the last.
fn character_boundary(text: &str, byte: usize) -> Option<usize> {
    let start = (byte..text.len()).find(|&byte| text.is_char_boundary(byte))?;
    let mut cursor = GraphemeCursor::new(start, text.len(), true);
    if cursor.is_boundary(text, 0).ok()? && start > 0 {
        return Some(start);
    }
    let next = cursor.next_boundary(text, 0).ok().flatten();
    let next = next.filter(|&next| next < text.len());
    next.or_else(|| {
        let mut cursor = GraphemeCursor::new(start, text.len(), true);
        cursor
            .prev_boundary(text, 0)
            .ok()
            .flatten()
            .filter(|&before| before > 0)
    })
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_cut_where_it_hurts_least() {
        for (text, first) in cases![
            "One two three. Four five.\n\nSix seven eight nine." => "One two three. Four five.\n\n";
            "One two three. Four five six." => "One two three. ";
            "泵站的阀门在九巴时打开。水泵夜里运行。" => "泵站的阀门在九巴时打开。";
            "one two three four" => "one two ";
            "abcdef" => "abc";
            "เครื่องสูบน้ำ" => "เครื่อง";
        ] {
            assert_eq!(halve(text).unwrap().0, first);
        }
        assert_eq!(halve("a"), None);
        assert_eq!(halve(""), None);
        assert_eq!(halve("e\u{301}"), None);
    }

    proptest! {
        #[test]
        fn halves_are_the_text_and_not_empty(text in "\\PC{0,40}|[a-c .\n]{0,80}|(.|[้́กe]){0,30}") {
            if let Some((first, second)) = halve(&text) {
                prop_assert_eq!([first, second].concat(), text.clone());
                prop_assert!(!first.is_empty() && !second.is_empty());
            }
        }
    }
}
