//! Examples in the formats of other training tools.

use ken_language::named;
use ken_model::decoder::PromptForm;
use serde_json::{Value, json};

use super::{TextExample, TrainingExample};

/// The name of the training set in LLaMA-Factory's list.
const NAME: &str = "ken";
/// The file of that set.
pub const LLAMA_FACTORY_FILE: &str = "ken.json";
/// LLaMA-Factory's list of sets.
pub const LLAMA_FACTORY_LIST: &str = "dataset_info.json";

/// A training tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExampleFormat {
    /// TRL: prompt and completion.
    Trl,
    /// LLaMA-Factory: a list in Alpaca's format, and an entry in its list of sets.
    LlamaFactory,
    /// Axolotl: segments with and without loss.
    Axolotl,
}

named! {
    ExampleFormat, "format",
    ExampleFormat::Trl => "trl",
    ExampleFormat::LlamaFactory => "llama-factory",
    ExampleFormat::Axolotl => "axolotl",
}

/// A training example as one JSON value. Prompt and completion together are exactly what `ken` trains on: the
/// completion begins with a space and ends with the line.
pub fn example_as(example: &TrainingExample, form: PromptForm, format: ExampleFormat) -> Value {
    let (shared, rest) = form.text(&example.prompt);
    let prompt = format!("{shared}{rest}");
    let completion = format!(" {}\n", example.output);
    match format {
        ExampleFormat::Trl => json!({"prompt": prompt, "completion": completion}),
        ExampleFormat::LlamaFactory => {
            json!({"instruction": prompt, "input": "", "output": completion})
        }
        ExampleFormat::Axolotl => json!({
            "segments": [
                {"label": false, "text": prompt},
                {"label": true, "text": completion},
            ],
        }),
    }
}

/// A training example in segments as JSON values: one value or, for tools with a single completion, one for each
/// trained segment, with everything before it as the prompt. A preference is always one value.
pub fn text_example_as(example: &TextExample, format: ExampleFormat) -> Vec<Value> {
    let segments = match example {
        TextExample::Prefer {
            prompt,
            chosen,
            rejected,
        } => {
            let prompt_key = match format {
                ExampleFormat::LlamaFactory => "instruction",
                ExampleFormat::Trl | ExampleFormat::Axolotl => "prompt",
            };
            return vec![json!({prompt_key: prompt, "chosen": chosen, "rejected": rejected})];
        }
        TextExample::Imitate { segments } => segments,
    };
    if format == ExampleFormat::Axolotl {
        let segments = segments.iter();
        let segments = segments.map(|(text, label)| json!({"label": label, "text": text}));
        return vec![json!({"segments": segments.collect::<Vec<_>>()})];
    }
    let mut prompt = String::new();
    let mut values = Vec::new();
    for (text, is_learned) in segments {
        if *is_learned {
            values.push(match format {
                ExampleFormat::LlamaFactory => {
                    json!({"instruction": prompt, "input": "", "output": text})
                }
                _ => json!({"prompt": prompt, "completion": text}),
            });
        }
        prompt.push_str(text);
    }
    values
}

/// LLaMA-Factory's list with one set, of completions or of preferences.
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
    use crate::examples::ExampleKind;
    use ken_answer::prompt::{QuestionPrompt, from_memory};

    #[test]
    fn every_format_holds_the_same_words() {
        let example = TrainingExample {
            id: "1".to_owned(),
            kind: ExampleKind::FromMemory,
            prompt: from_memory(QuestionPrompt::open("who")),
            output: "Ann".to_owned(),
            weight: 1.0,
        };
        let of = |format| example_as(&example, PromptForm::Bare, format);
        let expected = json!({"prompt": "Question: who\nAnswer:", "completion": " Ann\n"});
        assert_eq!(of(ExampleFormat::Trl), expected);
        assert_eq!(of(ExampleFormat::LlamaFactory)["output"], " Ann\n");
        let axolotl = of(ExampleFormat::Axolotl);
        assert_eq!(axolotl["segments"][0]["text"], "Question: who\nAnswer:");
        assert_eq!(axolotl["segments"][1]["label"], true);
        let whole = example_as(&example, PromptForm::Examples, ExampleFormat::Trl);
        let whole = whole["prompt"].as_str().unwrap();
        assert!(whole.len() > 100 && whole.ends_with("Question: who\nAnswer:"));
    }
}
