//! Prompts that every model takes.

use std::borrow::Cow;
use std::sync::Arc;

use crate::source_prompts::Sourced;

/// An input and the output expected for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkedExample<'a> {
    /// The input of the model.
    pub input: &'a str,
    /// The expected output.
    pub output: &'a str,
}

/// The worked examples of a prompt.
#[derive(Debug, Clone)]
pub enum Examples {
    /// Written with the program.
    Fixed(&'static [WorkedExample<'static>]),
    /// Chosen at run time, as inputs and their outputs; many prompts may share them.
    Chosen(Arc<[(String, String)]>),
}

impl Examples {
    /// The examples in order.
    pub fn iter(&self) -> impl Iterator<Item = WorkedExample<'_>> {
        let (fixed, chosen): (&[WorkedExample<'static>], &[(String, String)]) = match self {
            Self::Fixed(examples) => (examples, &[]),
            Self::Chosen(examples) => (&[], examples),
        };
        let chosen = chosen
            .iter()
            .map(|(input, output)| WorkedExample { input, output });
        fixed.iter().copied().chain(chosen)
    }

    /// The number of examples.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl PartialEq for Examples {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Examples {}

/// The kind of text that a model is to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reply {
    /// A line, like the outputs of the worked examples.
    #[default]
    Line,
    /// As many lines as it takes. A model that converses gets the prompt as a conversation, whatever form its
    /// other prompts have.
    Text,
    /// The model's turn in the conversation of an application. The prompt is a conversation if the model can converse.
    Turn,
}

/// An instruction, worked examples, and an input that asks for an output. A model that continues text
/// gets it as text, one that only takes conversations as turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The task.
    pub instruction: Cow<'static, str>,
    /// Examples of the task.
    pub examples: Examples,
    /// The input of the task.
    pub input: String,
    /// The beginning of the output; empty if the model is to write all of it.
    pub begun: String,
    /// The kind of output.
    pub reply: Reply,
    /// The form of the prompt for models that mark the source of knowledge, which read this instead; `None`
    /// if the prompt asks for no knowledge.
    pub sourced: Option<Sourced>,
}

impl Prompt {
    /// A prompt for a line, which asks for no knowledge.
    pub fn new(
        instruction: impl Into<Cow<'static, str>>,
        examples: Examples,
        input: String,
    ) -> Self {
        Self {
            instruction: instruction.into(),
            examples,
            input,
            begun: String::new(),
            reply: Reply::Line,
            sourced: None,
        }
    }

    /// The prompt followed by an output, or the start of one.
    pub fn continued(&self, output: &str) -> Self {
        let followed = |text: &str| format!("{text} {output}");
        Self {
            begun: match self.begun.as_str() {
                "" => output.to_owned(),
                begun => followed(begun),
            },
            sourced: self.sourced.as_ref().map(|sourced| Sourced {
                answer: followed(&sourced.answer),
                ..sourced.clone()
            }),
            ..self.clone()
        }
    }

    /// The prompt as text that a model continues: the prefix that all prompts of its kind share, and
    /// the rest. The output follows after a space and ends with the line.
    pub fn text(&self) -> (String, Cow<'_, str>) {
        let mut shared = format!("{}\n\n", self.instruction);
        for example in self.examples.iter() {
            shared.push_str(&format!("{} {}\n\n", example.input, example.output));
        }
        (shared, self.rest())
    }

    /// The input, and after a space the beginning of the output.
    pub fn rest(&self) -> Cow<'_, str> {
        match self.begun.as_str() {
            "" => Cow::Borrowed(&self.input),
            begun => Cow::Owned(format!("{} {begun}", self.input)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_the_same_wherever_they_come_from() {
        let fixed = Examples::Fixed(&[WorkedExample {
            input: "Q: a\nA:",
            output: "b",
        }]);
        let chosen = Examples::Chosen(Arc::new([("Q: a\nA:".to_owned(), "b".to_owned())]));
        assert_eq!(fixed, chosen);
        assert_eq!((fixed.len(), chosen.is_empty()), (1, false));
        assert_ne!(fixed, Examples::Fixed(&[]));
        let prompt = |examples| Prompt::new("Answer.", examples, "Q: c\nA:".to_owned());
        let expected = ("Answer.\n\nQ: a\nA: b\n\n".to_owned(), "Q: c\nA:".into());
        assert_eq!(prompt(chosen).text(), expected);
        assert_eq!(prompt(fixed.clone()).text(), expected);

        let begun = prompt(fixed).continued("x");
        assert_eq!(
            (begun.input.as_str(), begun.begun.as_str()),
            ("Q: c\nA:", "x")
        );
        assert_eq!(begun.continued("y").rest(), "Q: c\nA: x y");
    }
}
