//! `ken ask`: answers questions, with citations and the trace.

mod show;

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;

use ken_answer::{Answer, AnswerError, Event, Pipeline, QuestionPrompt};
use ken_hub::DEFAULT_GENERATOR;
use ken_probe::letter;
use serde::Serialize;
use show::{Form, show};

use crate::arguments::answer::AskArguments;
use crate::failure::{self, Failure, Result};
use crate::interrupt;
use crate::output;
use crate::session::Session;
use crate::shell::for_a_shell;
use crate::style::Flow;
use crate::terminal::{self, remark};

/// Stands for a question: read questions from standard input, one per line.
const STDIN: &str = "-";

pub(crate) fn run(arguments: &AskArguments, session: &Session<'_>) -> Result<()> {
    let question = &arguments.question;
    if question.trim().is_empty() {
        return Err(AnswerError::EmptyQuestion.into());
    }
    let mut pipeline = session.opening(|setup| setup.pipeline())?;
    session.settings.answer_people(&mut pipeline)?;
    let choices = arguments.choices.as_slice();
    let count = choices.len();
    let last = count.checked_sub(1);
    if last.is_some_and(|last| letter(last).is_none()) {
        let message = format!("{count} choices are given, and there are letters for 26");
        let hint = "leave out choices";
        return Err(Failure::refused("too_many_choices", message, hint));
    }
    recommend_another(session);
    let form = Form::of(session.quiet, arguments.verbose);
    match question.as_str() {
        STDIN if choices.is_empty() => answer_lines(&pipeline, form, session),
        STDIN => Err(Failure::refused(
            "choices_of_many",
            "choices are those of one question",
            "name the question in place of -; `ken eval` takes a file of questions with choices",
        )),
        _ if count == 1 => Err(Failure::refused(
            "one_choice",
            "one choice alone leaves nothing to choose",
            "add another --choice, or leave it out",
        )),
        question => {
            let question = QuestionPrompt { question, choices };
            answer(&pipeline, question, form, session)
        }
    }
}

/// Answers one question per line of standard input, until it ends. A question that cannot be answered
/// does not stop the others.
fn answer_lines(pipeline: &Pipeline, form: Form, session: &Session<'_>) -> Result<()> {
    let talk = std::io::stdin().is_terminal() && !session.json;
    loop {
        if talk {
            let mut stderr = std::io::stderr();
            write!(stderr, "> ")?;
            stderr.flush()?;
        }
        let Some(line) = interrupt::next_line()? else {
            return Ok(());
        };
        if line.trim().is_empty() {
            continue;
        }
        if !talk && !session.json {
            output::line(format!("> {}", line.trim()))?;
        }
        if let Err(error) = answer(pipeline, line.as_str().into(), form, session) {
            match error.find::<AnswerError>() {
                Some(_) if !session.is_stopped() => failure::report(&error, session.json),
                _ => return Err(error),
            };
        }
    }
}

/// Answers one question and prints it; text appears as it is written.
fn answer(
    pipeline: &Pipeline,
    question: QuestionPrompt<'_>,
    form: Form,
    session: &Session<'_>,
) -> Result<()> {
    let mut unwritten = None;
    let mut flow = Flow::new(terminal::columns(), 0);
    let answer = pipeline
        .suited_to(question)
        .answer(question, &mut |event| {
            if let (Event::Text(text), false) = (&event, session.json)
                && let Err(error) = output::piece(&mut flow, text)
            {
                unwritten = Some(error);
                return ControlFlow::Break(());
            }
            session.unless_stopped()
        })?;
    if let Some(error) = unwritten {
        return Err(error);
    }
    if session.is_stopped() {
        return Err(Failure::stopped("stopped while the answer was written"));
    }
    match session.json {
        true => output::json(&Shown {
            answer: &answer,
            small_talk: show::is_talk(&answer),
        }),
        false => {
            show(&answer, &mut flow, form)?;
            if form == Form::Short && answer.withheld.is_some() && answer.calls.retriever > 0 {
                point_to_documents(&answer.question, session);
            }
            Ok(())
        }
    }
}

/// Says how to look into the documents, if they do not answer.
fn point_to_documents(question: &str, session: &Session<'_>) {
    let (Ok(folder), 0..=1) = (session.settings.folder(), session.settings.sources.len()) else {
        return;
    };
    let folder = folder.to_string_lossy();
    let (corpus, question) = (for_a_shell(&folder), for_a_shell(question));
    remark(format_args!(
        "to look yourself: ken search --corpus {corpus} {question}"
    ));
    remark(format_args!(
        "all documents: ken corpus list --corpus {corpus}"
    ));
}

/// An answer as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    /// Whether it answers a greeting or thanks, for which nothing is retrieved.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    small_talk: bool,
}

/// Says that there are better models, if the default one answers over a person's own documents.
fn recommend_another(session: &Session<'_>) {
    let settings = session.settings;
    let is_default = settings.model.to_string() == DEFAULT_GENERATOR;
    if is_default && settings.corpus.is_some() && !session.json && !session.quiet {
        remark(
            "the default model is for trying out; `ken model choose` finds a better one for this machine",
        );
    }
}
