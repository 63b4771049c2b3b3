//! Text that is struck out, which plain text marks.

/// The mark around what is struck out; without it, that would hold.
pub(crate) const STRUCK: &str = "~~";

/// Begins or ends struck out text behind `text`, unless `is_struck` is `next` already. Spaces before its end stay outside.
pub(crate) fn switch(text: &mut String, is_struck: &mut bool, next: bool) {
    if std::mem::replace(is_struck, next) == next {
        return;
    }
    let place = match next {
        true => text.len(),
        false => text.trim_end().len(),
    };
    text.insert_str(place, STRUCK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_once() {
        let (mut text, mut is_struck) = ("At ".to_owned(), false);
        for (words, next) in [("9 ", true), ("bar ", true), ("10 bar", false)] {
            switch(&mut text, &mut is_struck, next);
            text.push_str(words);
        }
        assert_eq!(text, "At ~~9 bar~~ 10 bar");
    }
}
