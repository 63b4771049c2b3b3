//! Parsing the lines that models write: a question, or a question with its answer.

use super::wording::Wording;

/// The question in a line: up to its first question mark, without leading numbers, labels and quotation marks. `None`
/// without a question mark.
pub(super) fn question_in<'l>(line: &'l str, labels: [&str; 3]) -> Option<&'l str> {
    let end = line.find(['?', '？'])?;
    let mark = line[end..].chars().next().map_or(0, char::len_utf8);
    let mut question = &line[..end + mark];
    loop {
        let before = question.len();
        question = question.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, '"' | '“' | '*' | '-' | '(' | ')' | '.')
        });
        let number = question.trim_start_matches(|c: char| c.is_ascii_digit());
        if number.len() < question.len() && number.starts_with(['.', ')', ':']) {
            question = &number[1..];
        }
        for label in labels {
            question = question.strip_prefix(label).unwrap_or(question);
        }
        if question.len() == before {
            break;
        }
    }
    question
        .chars()
        .any(char::is_alphanumeric)
        .then_some(question)
}

/// The question and the answer in a line; `None` if either is missing.
pub(super) fn pair_in(line: &str, wording: &Wording) -> Option<(String, String)> {
    let question = question_in(line, wording.labels())?;
    let (_, after) = line.split_once(question)?;
    let (_, answer) = after.split_once(wording.answer_label())?;
    let answer = answer.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '“' | '”' | '*' | '.' | '。')
    });
    (!answer.is_empty()).then(|| (question.to_owned(), answer.to_owned()))
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn questions_are_found_in_what_models_write() {
        let labels = Wording::of("x").labels();
        for (line, question) in [
            ("Who came?", Some("Who came?")),
            ("1. Question: \"Who came?\" Answer: Ida", Some("Who came?")),
            ("Q: 2) Who came? Who left?", Some("Who came?")),
            ("- **Who came?**", Some("Who came?")),
            ("问题：谁来了？", Some("谁来了？")),
            ("2008年谁来了？", Some("2008年谁来了？")),
            ("Ida came.", None),
            ("?", None),
            ("", None),
        ] {
            let labels = match question {
                Some(question) if question.contains('谁') => Wording::of("谁").labels(),
                _ => labels,
            };
            assert_eq!(question_in(line, labels), question, "{line}");
        }
    }

    #[test]
    fn pairs_are_found_in_what_models_write() {
        for (line, pair) in cases![
            "Who came? Answer: Ida" => Some(("Who came?", "Ida"));
            "1. Question: Who came? Answer: \"Ida.\"" => Some(("Who came?", "Ida"));
            "Who came? Ida" => None;
            "Who came? Answer: " => None;
            "Ida came. Answer: Ida" => None;
        ] {
            let found = pair_in(line, Wording::of("x"));
            let found = found
                .as_ref()
                .map(|(question, answer)| (&**question, &**answer));
            assert_eq!(found, pair, "{line}");
        }
        let found = pair_in("谁来了？答案：艾达。", Wording::of("谁"));
        assert_eq!(found, Some(("谁来了？".to_owned(), "艾达".to_owned())));
    }

    proptest! {
        #[test]
        fn a_question_is_part_of_its_line(line in any::<String>()) {
            if let Some(question) = question_in(&line, Wording::of("x").labels()) {
                prop_assert!(line.contains(question));
                prop_assert!(question.ends_with(['?', '？']));
            }
        }
    }
}
