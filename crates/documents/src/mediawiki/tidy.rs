//! Cleans up the white space and the empty brackets that removed markup leaves.

use ken_corpus::Heading;

/// One space between words, at most one empty line between lines, no empty brackets. `headings`, which stand at the
/// beginnings of lines, move with their lines, or vanish with a line that becomes empty.
pub(super) fn tidy(text: &str, headings: &mut Vec<Heading>) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut empty_line = false;
    let mut offset = 0;
    let mut marked = std::mem::take(headings).into_iter().peekable();
    for line in text.split_inclusive('\n') {
        let end = tidied.len();
        if end > 0 {
            tidied.push_str(if empty_line { "\n\n" } else { "\n" });
        }
        let start = tidied.len();
        push_line(&mut tidied, start, line);
        empty_line = tidied.len() == start;
        let heading = marked.next_if(|heading| heading.offset == offset);
        let heading = heading.filter(|_| !empty_line);
        headings.extend(heading.map(|heading| Heading {
            offset: start,
            ..heading
        }));
        offset += line.len();
        if empty_line {
            tidied.truncate(end);
        }
    }
    tidied
}

/// Appends a line, which starts at byte `start` of the text.
fn push_line(text: &mut String, start: usize, line: &str) {
    let mut space = false;
    for character in line.chars() {
        if character.is_whitespace() {
            space = true;
            continue;
        }
        // If the first item in brackets was dropped, so is its separator.
        let opened = text[start..] == *"(" || text[start..].ends_with(" (");
        match character {
            ')' if opened => {
                text.pop();
                if text.len() > start {
                    text.pop();
                }
                space = false;
                continue;
            }
            ',' | ';' if opened => {
                space = false;
                continue;
            }
            _ => {}
        }
        if space && !opened && text.len() > start {
            text.push(' ');
        }
        space = false;
        text.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_lines_and_brackets() {
        let check = |text, expected| assert_eq!(tidy(text, &mut Vec::new()), expected);
        check("\n a \t b\n\n\n\nc\u{a0}d \n", "a b\n\nc d");
        check("x ( ) y (; 1), main() ( z ).", "x y (1), main() (z ).");
        check("()\n\n(,)", "");
        check("", "");
    }

    #[test]
    fn headings_move_with_their_lines() {
        let mut headings = [3, 11, 14]
            .map(|offset| Heading { offset, level: 2 })
            .to_vec();
        let tidied = tidy("a\n\n b  c \n\n()\nd", &mut headings);
        assert_eq!(tidied, "a\n\nb c\n\nd");
        let moved = headings.iter().map(|heading| heading.offset);
        assert_eq!(moved.collect::<Vec<_>>(), [3, 8]);
    }
}
