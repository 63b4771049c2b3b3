//! Examples of how to write about a question, taken from the first texts: GenRead's second round (Yu et al., 2023,
//! section 3.2). Questions with their first texts are clustered, and some members of each cluster make a prompt, so
//! that different prompts lead to different texts.

use ken_answer::AnswerError;
use ken_answer::prompt::{self, QuestionPrompt};
use ken_language::{Embedder, LanguageModel, Prompt, Role};
use ken_probe::normalize::is_mostly_chinese;

use super::clusters::clusters;
use super::first::FirstText;
use ken_random::shuffle;

/// Most examples per prompt: SR-RAG's number (appendix B.1).
const EXAMPLES: usize = 5;

/// The clusters, each with its members that may be examples.
pub(super) struct Demonstrations<'f> {
    clusters: Vec<Vec<Shown<'f>>>,
    /// Most tokens of all examples per prompt.
    budget: usize,
}

/// A first text that may be an example.
struct Shown<'f> {
    first: &'f FirstText,
    tokens: usize,
    chinese: bool,
}

impl<'f> Demonstrations<'f> {
    /// Clusters the texts into at most `count` clusters, determined by the seed.
    ///
    /// # Errors
    /// An embedder or a model that fails.
    pub(super) fn new(
        model: &dyn LanguageModel,
        embedder: &dyn Embedder,
        first: &[&'f FirstText],
        count: usize,
        seed: u64,
    ) -> Result<Self, AnswerError> {
        let first: Vec<&FirstText> = first
            .iter()
            .copied()
            .filter(|first| !first.text.is_empty())
            .collect();
        let texts: Vec<String> = first
            .iter()
            .map(|first| format!("{}\n{}", first.question.trim(), first.text))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = match texts.as_slice() {
            [] => Vec::new(),
            texts => embedder.embed(texts, Role::Passage)?,
        };
        let assigned = clusters(&vectors, count, seed);
        let count = assigned.iter().max().map_or(0, |last| last + 1);
        let mut members: Vec<Vec<&FirstText>> = vec![Vec::new(); count];
        for (first, cluster) in first.into_iter().zip(assigned) {
            members[cluster].push(first);
        }
        let mut state = seed;
        let clusters = members
            .into_iter()
            .map(|mut members| {
                let all = members.len();
                shuffle(&mut members, all, &mut state);
                shown(model, &members)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            clusters,
            // The rest is for the instruction, the question and the text.
            budget: model.context_tokens() / 2,
        })
    }

    /// `count` prompts for a question, cycling through the clusters in order. A question is never its own example.
    pub(super) fn prompts(
        &self,
        id: &str,
        question_prompt: QuestionPrompt<'_>,
        count: usize,
    ) -> Vec<Prompt> {
        (0..count)
            .map(|number| {
                let cluster = match self.clusters.len() {
                    0 => &[][..],
                    clusters => &self.clusters[number % clusters],
                };
                let examples = self.examples(cluster, id, question_prompt);
                let examples = match examples.as_slice() {
                    [] => None,
                    examples => Some(prompt::verbalized_examples(examples)),
                };
                prompt::verbalize(question_prompt, examples)
            })
            .collect()
    }

    fn examples<'s>(
        &self,
        cluster: &'s [Shown<'_>],
        id: &str,
        question_prompt: QuestionPrompt<'_>,
    ) -> Vec<(QuestionPrompt<'s>, &'s str)> {
        let chinese = is_mostly_chinese(question_prompt.question);
        let mut left = self.budget;
        cluster
            .iter()
            .filter(|shown| shown.chinese == chinese && shown.first.id != id)
            .filter(|shown| {
                let fits = shown.tokens <= left;
                left -= if fits { shown.tokens } else { 0 };
                fits
            })
            .take(EXAMPLES)
            .map(|shown| (question_prompt_of(shown.first), shown.first.text.as_str()))
            .collect()
    }
}

/// The members that examples are taken from: for each language one more than a prompt has, since a question is never
/// its own example.
fn shown<'f>(
    model: &dyn LanguageModel,
    members: &[&'f FirstText],
) -> Result<Vec<Shown<'f>>, AnswerError> {
    let mut taken = [0; 2];
    let mut shown = Vec::new();
    for &first in members {
        let chinese = is_mostly_chinese(&first.question);
        let taken = &mut taken[usize::from(chinese)];
        if *taken > EXAMPLES {
            continue;
        }
        *taken += 1;
        let input = prompt::verbalize(question_prompt_of(first), None).input;
        shown.push(Shown {
            first,
            tokens: model.count_tokens(&input)? + first.tokens,
            chinese,
        });
    }
    Ok(shown)
}

fn question_prompt_of(first: &FirstText) -> QuestionPrompt<'_> {
    QuestionPrompt::new(first.question.trim(), &first.choices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_language::Examples;
    use ken_testing::{FnEmbedder, TableModel};

    /// Texts about water lie in one direction, all others in another.
    fn water() -> FnEmbedder {
        FnEmbedder::new("water", 2, |text| {
            match text.contains("water") || text.contains('水') {
                true => vec![1.0, 0.0],
                false => vec![0.0, 1.0],
            }
        })
    }

    fn first(id: usize, question: &str, text: &str) -> FirstText {
        FirstText {
            id: id.to_string(),
            question: question.to_owned(),
            choices: Vec::new(),
            text: text.to_owned(),
            tokens: 3,
            error: None,
        }
    }

    fn texts() -> Vec<FirstText> {
        let mut texts: Vec<FirstText> = (0..16)
            .map(|id| match id % 2 {
                0 => first(id, &format!("what is {id}?"), "It is under water."),
                _ => first(id, &format!("what is {id}?"), "It is dry."),
            })
            .collect();
        texts.push(first(16, "什么是十六？", "在水里。"));
        texts.push(first(17, "what is empty?", ""));
        texts
    }

    fn prompts(texts: &[FirstText], id: &str, question: &str, count: usize) -> Vec<Prompt> {
        let table = TableModel::new(Vec::new()).unwrap();
        let texts: Vec<&FirstText> = texts.iter().collect();
        let demonstrations = Demonstrations::new(&table, &water(), &texts, 2, 9).unwrap();
        demonstrations.prompts(id, QuestionPrompt::open(question), count)
    }

    #[test]
    fn each_cluster_makes_a_prompt_of_its_own_members() {
        let texts = texts();
        let prompts = prompts(&texts, "new", "what is new?", 3);
        assert_eq!(prompts[0], prompts[2], "there are two clusters");
        let mut outputs: Vec<Vec<&str>> = prompts[..2]
            .iter()
            .map(|prompt| {
                prompt
                    .examples
                    .iter()
                    .map(|example| example.output)
                    .collect()
            })
            .collect();
        outputs.sort();
        assert_eq!(outputs, [["It is dry."; 5], ["It is under water."; 5]]);
        assert_eq!(prompts[0].input, "Question: what is new?\nBackground:");
    }

    #[test]
    fn a_question_is_never_its_own_example_and_languages_are_not_mixed() {
        let texts = texts();
        for text in &texts {
            for prompt in prompts(&texts, &text.id, &text.question, 2) {
                let own = |input: &str| input.contains(&format!(": {}\n", text.question));
                assert!(prompt.examples.iter().all(|example| !own(example.input)));
                let chinese = text.id == "16";
                let is_chosen = matches!(prompt.examples, Examples::Chosen(_));
                assert_eq!(is_chosen, !chinese, "no other is Chinese");
                assert!(chinese || prompt.examples.len() == 5);
            }
        }
    }

    #[test]
    fn without_texts_the_examples_of_the_program_stand_in() {
        let prompts = prompts(&[], "a", "what is a?", 2);
        let plain = prompt::verbalize(QuestionPrompt::open("what is a?"), None);
        assert_eq!(prompts, [plain.clone(), plain]);
    }
}
