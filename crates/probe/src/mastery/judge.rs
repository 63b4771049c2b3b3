//! Whether a sentence gives an answer to a question, by the judgment of a model that has read the sentence: whether
//! it prefers that answer to the sentence's others, and says that the sentence gives it (Zero-RAG, appendix A.2). A
//! model that scores gives probabilities; any other writes its verdict, and has no preference.

use ken_language::{LanguageModel, ModelError, Prompt, ScoreRequest};

use super::pair::{Pair, Stated};
use super::wording::Wording;
use crate::verdict::{Verdict, verdicts};

/// Asks the model about pairs in one batch.
///
/// # Shapes
/// Returns one verdict for each pair; `None` if the model was stopped from outside.
///
/// # Errors
/// A pair that does not fit into the model's context, a model that fails.
pub(super) fn judge_pairs(
    model: &dyn LanguageModel,
    pairs: &[(Stated<'_>, &Pair)],
) -> Result<Vec<Option<Verdict>>, ModelError> {
    let prompts: Vec<(Prompt, [&str; 2])> = pairs
        .iter()
        .map(|(stated, pair)| {
            let wording = Wording::of(stated.sentence);
            let prompt = wording.judge(*stated, &pair.question, &pair.answer);
            (prompt, wording.verdicts)
        })
        .collect();
    verdicts(model, prompts)
}

/// Whether the model, given the sentence and the question, finds the pair's answer at least as likely as every other
/// answer that the sentence can be asked for.
///
/// # Shapes
/// Takes pairs with all answers of their sentences; returns one truth value for each pair.
///
/// # Errors
/// As [`judge_pairs`].
pub(super) fn prefer_answers(
    model: &dyn LanguageModel,
    pairs: &[(Stated<'_>, &Pair, &[&str])],
) -> Result<Vec<bool>, ModelError> {
    if pairs.is_empty() || !model.capabilities().score {
        return Ok(vec![true; pairs.len()]);
    }
    let prompts: Vec<Prompt> = pairs
        .iter()
        .map(|(stated, pair, _)| Wording::of(stated.sentence).read(*stated, &pair.question))
        .collect();
    let answers: Vec<Vec<String>> = pairs
        .iter()
        .map(|(_, _, answers)| answers.iter().map(|answer| format!(" {answer}")).collect())
        .collect();
    let answers: Vec<Vec<&str>> = answers
        .iter()
        .map(|answers| answers.iter().map(String::as_str).collect())
        .collect();
    let requests: Vec<_> = prompts
        .iter()
        .zip(&answers)
        .map(|(prompt, continuations)| ScoreRequest::new(prompt, continuations))
        .collect();
    let chances = model.choose(&requests)?;
    Ok(pairs
        .iter()
        .zip(chances)
        .map(|((_, pair, answers), chances)| {
            let own = answers.iter().position(|answer| *answer == pair.answer);
            let own = own.and_then(|own| chances.get(own));
            own.is_some_and(|own| chances.iter().all(|other| other <= own))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_testing::{Fact, FnModel, TableModel, with};

    const STATED: Stated<'_> = Stated {
        title: "",
        sentence: "Ida came in 1871.",
    };

    fn pair(question: &str, answer: &str) -> Pair {
        Pair {
            question: question.to_owned(),
            answer: answer.to_owned(),
            validity: None,
        }
    }

    #[test]
    fn verdicts_follow_what_is_likelier() {
        let model = FnModel::first_where(|input| input.contains("Answer: Ida"));
        let (ida, year) = (pair("Who came?", "Ida"), pair("Who came?", "1871"));
        let verdicts = judge_pairs(&model, &[(STATED, &ida), (STATED, &year)]).unwrap();
        let [Some(ida), Some(year)] = verdicts[..] else {
            panic!("{verdicts:?}");
        };
        assert!(ida.holds == Some(true) && ida.chance.is_some_and(|chance| chance > 0.9));
        assert!(year.holds == Some(false) && year.chance.is_some_and(|chance| chance < 0.1));
        assert_eq!(judge_pairs(&model, &[]).unwrap(), []);
    }

    #[test]
    fn another_answer_of_the_sentence_may_be_preferred() {
        let facts = ["Who came?", "When was it?"].map(|question| {
            with!(Fact::default(),
                question: format!("Question: {question}"), answer: "Ida".to_owned(),
                wrong: vec!["1871".to_owned()], known: 0.7)
        });
        let model = TableModel::new(facts.to_vec()).unwrap();
        let (ida, year) = (pair("Who came?", "Ida"), pair("When was it?", "1871"));
        let all = ["Ida", "1871"];
        let pairs = [(STATED, &ida, &all[..]), (STATED, &year, &all[..])];
        assert_eq!(prefer_answers(&model, &pairs).unwrap(), [true, false]);
        let alone = [(STATED, &year, &all[1..])];
        assert_eq!(prefer_answers(&model, &alone).unwrap(), [true]);
    }
}
