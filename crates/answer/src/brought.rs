//! An application's own request: its conversation with instructions, and where its answers end. The model is then asked
//! in the application's words, with the evidence among them.

use std::sync::Arc;

use ken_language::{Examples, OutputSchema, Prompt, Reply, named};

use crate::conversation::Exchange;

/// An application's own request.
#[derive(Debug, Clone, Default)]
pub struct Brought {
    /// Its conversation, if the model answers that, and not the question in ken's words.
    pub conversation: Option<Conversation>,
    /// Texts at which an answer ends, without them.
    pub stop: Vec<String>,
    /// The JSON Schema that an answer has to fulfil.
    pub schema: Option<OutputSchema>,
    /// How evidence is put into the conversation.
    pub evidence: EvidenceForm,
}

/// A conversation in an application's words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The application's instruction; may be empty.
    pub instruction: String,
    /// The exchanges before the last message.
    pub before: Vec<Exchange>,
    /// The last message.
    pub question: String,
}

impl Brought {
    /// The conversation with an instruction about the schema.
    pub(crate) fn asked(&self) -> Conversation {
        let mut asked = self.conversation.clone().unwrap_or_default();
        if let Some(schema) = &self.schema {
            let schema = schema.as_json();
            asked.instruct(&format!(
                "Reply with JSON that fulfils this JSON Schema: {schema}"
            ));
        }
        asked
    }
}

impl Conversation {
    /// Appends to the instruction.
    pub fn instruct(&mut self, text: &str) {
        if !self.instruction.is_empty() {
            self.instruction.push_str("\n\n");
        }
        self.instruction.push_str(text);
    }

    /// Inserts the evidence, if any, at a place.
    #[must_use]
    pub fn with(mut self, evidence: &str, place: EvidencePlace) -> Self {
        let text = match place {
            EvidencePlace::Question => &mut self.question,
            EvidencePlace::System => &mut self.instruction,
        };
        place.insert(evidence, text);
        self
    }

    /// All its texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let before = self.before.iter();
        let before =
            before.flat_map(|exchange| [exchange.question.as_str(), exchange.answer.as_str()]);
        let own = [self.instruction.as_str(), self.question.as_str()];
        own.into_iter().chain(before)
    }

    /// The prompt of the conversation.
    pub(crate) fn prompt(self) -> Prompt {
        let mut turns: Vec<(String, String)> = Vec::new();
        // Templates want turns to alternate, so a message without an answer is joined to the next.
        let mut asked = String::new();
        let ask = |text: String, asked: &mut String| match asked.is_empty() {
            true => *asked = text,
            false => asked.push_str(&format!("\n\n{text}")),
        };
        for Exchange { question, answer } in self.before {
            ask(question, &mut asked);
            if !answer.is_empty() {
                turns.push((std::mem::take(&mut asked), answer));
            }
        }
        ask(self.question, &mut asked);
        let examples = Examples::Chosen(Arc::from(turns));
        Prompt {
            reply: Reply::Turn,
            ..Prompt::new(self.instruction, examples, asked)
        }
    }
}

/// How evidence is put into a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvidenceForm {
    /// The place of the evidence.
    pub place: EvidencePlace,
    /// The words before the passages; `None` for ken's own.
    pub words: Option<String>,
}

/// Where evidence stands in a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EvidencePlace {
    /// Before the question, in the same message, which every chat template takes.
    #[default]
    Question,
    /// Behind the application's own instruction.
    System,
}

impl EvidencePlace {
    /// Inserts evidence, if there is any, into the text at the place.
    pub fn insert(self, evidence: &str, text: &mut String) {
        if evidence.is_empty() {
            return;
        }
        *text = match self {
            _ if text.is_empty() => evidence.to_owned(),
            Self::Question => format!("{evidence}\n\n{text}"),
            Self::System => format!("{text}\n\n{evidence}"),
        };
    }
}

named! {
    EvidencePlace, "place of evidence",
    EvidencePlace::Question => "question",
    EvidencePlace::System => "system",
}

#[cfg(test)]
mod tests {
    use ken_testing::has;

    use super::*;

    fn said(question: &str, answer: &str) -> Exchange {
        Exchange {
            question: question.to_owned(),
            answer: answer.to_owned(),
        }
    }

    #[test]
    fn a_conversation_is_asked_in_turns_that_alternate() {
        let conversation = Conversation {
            instruction: "Be brief.".to_owned(),
            before: vec![said("a", ""), said("b", "B"), said("c", "")],
            question: "d".to_owned(),
        };
        let prompt = conversation.clone().prompt();
        assert_eq!(prompt.instruction, "Be brief.");
        let turns: Vec<_> = prompt
            .examples
            .iter()
            .map(|turn| (turn.input, turn.output))
            .collect();
        assert_eq!(turns, [("a\n\nb", "B")]);
        has!(prompt, input.as_str(): "c\n\nd", reply: Reply::Turn);

        let before = conversation.clone().with("[1] x", EvidencePlace::Question);
        assert_eq!(before.prompt().input, "c\n\n[1] x\n\nd");
        let behind = conversation.clone().with("[1] x", EvidencePlace::System);
        assert_eq!(behind.instruction, "Be brief.\n\n[1] x");
        assert_eq!(
            conversation.clone().with("", EvidencePlace::System),
            conversation
        );
        let alone = Conversation::default().with("[1] x", EvidencePlace::System);
        assert_eq!(alone.instruction, "[1] x");
    }
}
