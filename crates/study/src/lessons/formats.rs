//! Lessons in the formats of tools that train elsewhere.

use std::fmt;
use std::str::FromStr;

use ken_model::decoder::PromptForm;
use serde_json::{Value, json};

use super::{Lesson, TextLesson};

/// The name of the set of lessons in LLaMA-Factory's list.
const NAME: &str = "ken";
/// The file of that set.
pub const LLAMA_FACTORY_FILE: &str = "ken.json";
/// LLaMA-Factory's list of sets.
pub const LLAMA_FACTORY_LIST: &str = "dataset_info.json";

/// A tool that trains elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LessonFormat {
    /// TRL: prompt and completion.
    Trl,
    /// LLaMA-Factory: a list in Alpaca's keys, and what it is called.
    LlamaFactory,
    /// Axolotl: segments with and without loss.
    Axolotl,
}

impl LessonFormat {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Trl, "trl"),
        (Self::LlamaFactory, "llama-factory"),
        (Self::Axolotl, "axolotl"),
    ];
}

impl fmt::Display for LessonFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Self::ALL.iter().find(|(format, _)| format == self);
        f.write_str(known.map_or("", |(_, name)| name))
    }
}

/// A name that no format has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{name}` ({} are known)", LessonFormat::ALL.map(|(_, name)| name).join(", "))]
pub struct UnknownLessonFormat {
    /// The name given.
    pub name: String,
}

impl FromStr for LessonFormat {
    type Err = UnknownLessonFormat;

    fn from_str(name: &str) -> Result<Self, UnknownLessonFormat> {
        let known = Self::ALL.iter().find(|(_, known)| *known == name);
        known
            .map(|&(format, _)| format)
            .ok_or_else(|| UnknownLessonFormat {
                name: name.to_owned(),
            })
    }
}

/// A lesson as one JSON value. Prompt and completion together are exactly what a model is trained on
/// here: the completion stands behind a space and ends with the line.
#[must_use]
pub fn lesson_as(lesson: &Lesson, form: PromptForm, format: LessonFormat) -> Value {
    let (shared, input) = form.text(&lesson.prompt);
    let prompt = format!("{shared}{input}");
    let completion = format!(" {}\n", lesson.output);
    match format {
        LessonFormat::Trl => json!({"prompt": prompt, "completion": completion}),
        LessonFormat::LlamaFactory => {
            json!({"instruction": prompt, "input": "", "output": completion})
        }
        LessonFormat::Axolotl => json!({
            "segments": [
                {"label": false, "text": prompt},
                {"label": true, "text": completion},
            ],
        }),
    }
}

/// A lesson in segments as JSON values: one, or, for tools that learn but one completion, one for each
/// segment that is learned, with all before it as its prompt. A preference is always one.
#[must_use]
pub fn text_lesson_as(lesson: &TextLesson, format: LessonFormat) -> Vec<Value> {
    let segments = match lesson {
        TextLesson::Prefer {
            prompt,
            chosen,
            rejected,
        } => {
            let prompt_key = match format {
                LessonFormat::LlamaFactory => "instruction",
                LessonFormat::Trl | LessonFormat::Axolotl => "prompt",
            };
            return vec![json!({prompt_key: prompt, "chosen": chosen, "rejected": rejected})];
        }
        TextLesson::Imitate { segments } => segments,
    };
    if format == LessonFormat::Axolotl {
        let segments = segments.iter();
        let segments = segments.map(|(text, label)| json!({"label": label, "text": text}));
        return vec![json!({"segments": segments.collect::<Vec<_>>()})];
    }
    let mut prompt = String::new();
    let mut values = Vec::new();
    for (text, is_learned) in segments {
        if *is_learned {
            values.push(match format {
                LessonFormat::LlamaFactory => {
                    json!({"instruction": prompt, "input": "", "output": text})
                }
                _ => json!({"prompt": prompt, "completion": text}),
            });
        }
        prompt.push_str(text);
    }
    values
}

/// LLaMA-Factory's list, which names one set: of completions, or of preferences.
#[must_use]
pub fn llama_factory_list(prefers: bool) -> Value {
    let set = if prefers {
        json!({
            "file_name": LLAMA_FACTORY_FILE,
            "ranking": true,
            "columns": {"prompt": "instruction", "chosen": "chosen", "rejected": "rejected"},
        })
    } else {
        json!({
            "file_name": LLAMA_FACTORY_FILE,
            "columns": {"prompt": "instruction", "query": "input", "response": "output"},
        })
    };
    json!({ NAME: set })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lessons::LessonKind;
    use ken_answer::prompt::{QuestionPrompt, from_memory};

    #[test]
    fn every_format_holds_the_same_words() {
        let lesson = Lesson {
            id: "1".to_owned(),
            kind: LessonKind::FromMemory,
            prompt: from_memory(QuestionPrompt::open("who")),
            output: "Ann".to_owned(),
            weight: 1.0,
        };
        let of = |format| lesson_as(&lesson, PromptForm::Bare, format);
        let expected = json!({"prompt": "Question: who\nAnswer:", "completion": " Ann\n"});
        assert_eq!(of(LessonFormat::Trl), expected);
        assert_eq!(of(LessonFormat::LlamaFactory)["output"], " Ann\n");
        let axolotl = of(LessonFormat::Axolotl);
        assert_eq!(axolotl["segments"][0]["text"], "Question: who\nAnswer:");
        assert_eq!(axolotl["segments"][1]["label"], true);
        let whole = lesson_as(&lesson, PromptForm::Examples, LessonFormat::Trl);
        let whole = whole["prompt"].as_str().unwrap();
        assert!(whole.len() > 100 && whole.ends_with("Question: who\nAnswer:"));
        for (format, name) in LessonFormat::ALL {
            assert_eq!(name.parse(), Ok(format));
            assert_eq!(format.to_string(), name);
        }
        assert!("csv".parse::<LessonFormat>().is_err());
    }
}
