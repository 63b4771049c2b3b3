//! Question sets: reading them from JSON Lines, and drawing a seeded sample.
//!
//! The format is FlashRAG's, one object per line, plain or gzip: `{"id", "question", "golden_answers": [..],
//! "metadata": {"gold_passage": ..}}`, and for multiple choice `"choices": [..]`. Other fields are ignored. Scoring
//! is in `ken_probe`.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use ken_answer::{AnswerError, QuestionPrompt};
use ken_diagnostic::Remedy;
use ken_probe::{Golden, letter, right_choices};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::json_line;
use crate::split::AboutSubject;
use crate::text_lines::{LineFault, each_line};
use ken_random::shuffle;

/// One question with the answers that count as right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Unique in its file.
    pub id: String,
    /// The question as in the file.
    pub question: String,
    /// Every answer that counts as right; empty for an unanswerable question. In a file, a single answer may be a
    /// plain string.
    #[serde(deserialize_with = "one_or_several")]
    pub golden_answers: Vec<String>,
    /// The choices of a multiple-choice question; empty for any other. In a file, the list may also be in `metadata`.
    #[serde(default, deserialize_with = "or_default")]
    pub choices: Vec<String>,
    /// The metadata of the question.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Map<String, Value>,
}

impl Question {
    /// Takes the choices from the metadata, if it has no others.
    fn with_choices(mut self) -> Self {
        let listed = self.metadata.get("choices").and_then(Value::as_array);
        if let (true, Some(listed)) = (self.choices.is_empty(), listed) {
            let texts = listed
                .iter()
                .map(|choice| choice.as_str().map(str::to_owned));
            self.choices = texts.collect::<Option<Vec<String>>>().unwrap_or_default();
        }
        self
    }

    /// For errors: what a file has under this id that is not this question; `recorded` is its text.
    pub fn other_than(&self, recorded: &str) -> String {
        let what = match recorded == self.question {
            true => "other golden answers or choices of",
            false => "another question:",
        };
        format!("under the id {:?} {what} {recorded:?}", self.id)
    }

    /// The question with its choices, for prompts; may be empty.
    pub fn prompt(&self) -> QuestionPrompt<'_> {
        QuestionPrompt::new(self.question.trim(), &self.choices)
    }

    /// The question with its choices, for prompts.
    ///
    /// # Errors
    /// An empty question.
    pub fn asked(&self) -> Result<QuestionPrompt<'_>, AnswerError> {
        match self.question.trim() {
            "" => Err(AnswerError::EmptyQuestion),
            _ => Ok(self.prompt()),
        }
    }

    /// The right answers, for scoring.
    pub fn golden(&self) -> Golden<'_> {
        Golden {
            answers: &self.golden_answers,
            choices: &self.choices,
        }
    }

    /// The golden answers as a passage would contain them: choices by text, not by letter.
    pub fn answers_in_words(&self) -> Vec<String> {
        match right_choices(&self.golden_answers, &self.choices).as_slice() {
            [] => self.golden_answers.clone(),
            right => right.iter().map(|&i| self.choices[i].clone()).collect(),
        }
    }

    /// The answer that a model is taught to write: for a multiple-choice question the letter. `None` without a golden
    /// answer.
    pub fn taught_answer(&self) -> Option<String> {
        match right_choices(&self.golden_answers, &self.choices).first() {
            Some(&right) => letter(right).map(|letter| letter.to_string()),
            None => self.golden_answers.first().cloned(),
        }
    }

    /// The subject in its metadata.
    pub fn named_subject(&self) -> Option<String> {
        let subject = self.metadata.get("subject").and_then(Value::as_str);
        subject.map(str::to_owned)
    }

    /// The value of a metadata field, as text; a dash if it is missing.
    pub(crate) fn value_of(&self, field: &str) -> String {
        match self.metadata.get(field) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => "-".to_owned(),
            Some(value) => value.to_string(),
        }
    }

    /// The passages (`doc#3`) or documents (`doc`) each of which answers the question, if the file names them: one,
    /// or a list.
    pub fn gold_passages(&self) -> Vec<&str> {
        match self.metadata.get("gold_passage") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }
}

impl AboutSubject for Question {
    fn subject(&self) -> &str {
        let subject = self.metadata.get("subject").and_then(Value::as_str);
        subject.unwrap_or(&self.question)
    }
}

const QUESTION: &str = "each line is one object {\"id\", \"question\", \"golden_answers\": [..]}, with [] \
     where no answer is known; docs/reference/formats.md, Questions, has all fields";

fn other_fields(known: &[String]) -> Remedy {
    match known {
        [] => "leave it out: the questions have no metadata".into(),
        known => format!("name one of {}", known.join(", ")).into(),
    }
}

fn to_read(refusal: std::io::ErrorKind) -> Remedy {
    match refusal {
        std::io::ErrorKind::NotFound => "check the path of the question file".into(),
        _ => "check that the file is complete and that you may read it".into(),
    }
}

/// The line at which reading failed; a file that is not there has none.
fn at(line: usize, refusal: &std::io::Error) -> String {
    match refusal.kind() {
        std::io::ErrorKind::NotFound => String::new(),
        _ => format!(", line {line}"),
    }
}

/// Checks that some question has a field in its metadata.
///
/// # Errors
/// [`DatasetError::NoField`].
pub fn check_field(questions: &[Question], field: &str) -> Result<(), DatasetError> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for question in questions {
        known.extend(question.metadata.keys().map(String::as_str));
    }
    match known.contains(field) {
        true => Ok(()),
        false => Err(DatasetError::NoField {
            field: field.to_owned(),
            known: known.into_iter().map(str::to_owned).collect(),
        }),
    }
}

/// Choices are lettered from `A` to `Z`.
const LETTERS: usize = 26;

/// Why a question file cannot be used.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum DatasetError {
    #[error("no question has the field {field:?} in its metadata")]
    #[diagnostic(remedy = other_fields(known))]
    NoField { field: String, known: Vec<String> },
    #[error("cannot read the questions in {path}{}: {source}", at(*line, source))]
    #[diagnostic(kind = "questions_unreadable", remedy = to_read(source.kind()))]
    Read {
        path: PathBuf,
        line: usize,
        source: std::io::Error,
    },
    #[error("{path}, line {line}: not valid UTF-8 (byte {column} of the line)")]
    #[diagnostic(remedy = "convert the file to UTF-8, for instance with iconv")]
    QuestionsNotUtf8 {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    #[error("{path}, line {line}, column {column}: not a question: {reason}")]
    #[diagnostic(remedy = Remedy::from(QUESTION))]
    NotAQuestion {
        path: PathBuf,
        line: usize,
        column: usize,
        reason: String,
    },
    #[error("{path}, line {line}: the id {id:?} is already that of line {first}")]
    #[diagnostic(remedy = "give every question an id of its own")]
    DuplicateQuestionId {
        path: PathBuf,
        line: usize,
        first: usize,
        id: String,
    },
    #[error(
        "{path}, line {line}: the golden answers of the multiple-choice question {id:?} name none of its choices"
    )]
    #[diagnostic(
        remedy = "give the letter of the right choice, such as [\"B\"], or its text; [] where none is known to be right"
    )]
    NoRightChoice {
        path: PathBuf,
        line: usize,
        id: String,
    },
    #[error("{path}, line {line}: {count} choices, and there are letters for {LETTERS}")]
    #[diagnostic(remedy = "leave out choices, or ask the question without any")]
    TooManyChoices {
        path: PathBuf,
        line: usize,
        count: usize,
    },
    #[error("{path} holds no questions")]
    #[diagnostic(remedy = Remedy::from(QUESTION))]
    NoQuestions { path: PathBuf },
    #[error("no question of {path} has a golden answer, so every answer would count as wrong")]
    #[diagnostic(
        remedy = "write golden answers into the file, or name judged documents by <qrels>, which measure search alone"
    )]
    NoGoldenAnswers { path: PathBuf },
}

impl DatasetError {
    fn of_line(path: &Path, line: usize, fault: LineFault) -> Self {
        let path = path.to_owned();
        match fault {
            LineFault::Read(source) => Self::Read { path, line, source },
            LineFault::NotUtf8 { column } => Self::QuestionsNotUtf8 { path, line, column },
        }
    }
}

/// Reads the questions of `path`, in file order. Recognizes gzip by content, and skips blank lines.
///
/// # Errors
/// The first line that is not a question, with its number; see [`DatasetError`].
pub fn read_questions(path: &Path) -> Result<Vec<Question>, DatasetError> {
    let mut questions: Vec<Question> = Vec::new();
    let mut line_of_id: HashMap<String, usize> = HashMap::new();
    let fault = |line, fault| DatasetError::of_line(path, line, fault);
    each_line(path, fault, |line, text| {
        let question = parse_line(path, line, text)?;
        check_choices(path, line, &question)?;
        match line_of_id.entry(question.id.clone()) {
            Entry::Vacant(slot) => slot.insert(line),
            Entry::Occupied(slot) => {
                return Err(DatasetError::DuplicateQuestionId {
                    path: path.to_owned(),
                    line,
                    first: *slot.get(),
                    id: question.id,
                });
            }
        };
        questions.push(question);
        Ok(())
    })?;
    if questions.is_empty() {
        return Err(DatasetError::NoQuestions {
            path: path.to_owned(),
        });
    }
    Ok(questions)
}

/// Draws `limit` items without replacement, keeping their order; all of them if there are no more. With the same seed
/// a smaller sample is part of every larger one.
pub fn sample<T>(items: Vec<T>, limit: usize, seed: u64) -> Vec<T> {
    if limit >= items.len() {
        return items;
    }
    let mut positions: Vec<usize> = (0..items.len()).collect();
    let mut state = seed;
    shuffle(&mut positions, limit, &mut state);
    let mut keep = vec![false; items.len()];
    for &position in &positions[..limit] {
        keep[position] = true;
    }
    let kept = items.into_iter().zip(keep);
    kept.filter_map(|(item, keep)| keep.then_some(item))
        .collect()
}

fn parse_line(path: &Path, line: usize, text: &str) -> Result<Question, DatasetError> {
    json_line::parse(text.as_bytes())
        .map(Question::with_choices)
        .map_err(|fault| DatasetError::NotAQuestion {
            path: path.to_owned(),
            line,
            column: fault.column,
            reason: fault.reason,
        })
}

/// Checks that the choices of a question have letters, and that its golden answers name some of them.
fn check_choices(path: &Path, line: usize, question: &Question) -> Result<(), DatasetError> {
    let path = || path.to_owned();
    match question.choices.len() {
        count if count > LETTERS => Err(DatasetError::TooManyChoices {
            path: path(),
            line,
            count,
        }),
        _ if question.golden().names_no_choice() => Err(DatasetError::NoRightChoice {
            path: path(),
            line,
            id: question.id.clone(),
        }),
        _ => Ok(()),
    }
}

/// Reads a string as a list of one.
fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a list of strings")]
    enum OneOrSeveral {
        One(String),
        Several(Vec<String>),
    }
    Ok(match OneOrSeveral::deserialize(deserializer)? {
        OneOrSeveral::One(answer) => vec![answer],
        OneOrSeveral::Several(answers) => answers,
    })
}

/// Reads `null` as the default.
fn or_default<'de, D, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
