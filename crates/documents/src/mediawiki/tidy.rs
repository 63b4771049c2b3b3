//! Cleans up the white space and the empty brackets that removed markup leaves.

/// One space between words, at most one empty line between lines, no empty brackets.
pub(super) fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut empty_line = false;
    for line in text.lines() {
        let end = tidied.len();
        if end > 0 {
            tidied.push_str(if empty_line { "\n\n" } else { "\n" });
        }
        let start = tidied.len();
        push_line(&mut tidied, start, line);
        empty_line = tidied.len() == start;
        if empty_line {
            tidied.truncate(end);
        }
    }
    tidied
}

/// Appends a line, which starts at `start` of the text.
fn push_line(text: &mut String, start: usize, line: &str) {
    let mut space = false;
    for character in line.chars() {
        if character.is_whitespace() {
            space = true;
            continue;
        }
        // Where the first item in brackets was dropped, so is its separator.
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
        assert_eq!(tidy("\n a \t b\n\n\n\nc\u{a0}d \n"), "a b\n\nc d");
        assert_eq!(
            tidy("x ( ) y (; 1), main() ( z )."),
            "x y (1), main() (z )."
        );
        assert_eq!(tidy("()\n\n(,)"), "");
        assert_eq!(tidy(""), "");
    }
}
