//! `ken ask`: questions answered, with citations and the trace.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;

use ken_answer::{Answer, AnswerError, Event, Pipeline, QuestionPrompt, Style, is_small_talk};
use ken_policy::Source;
use ken_probe::letter;

use crate::arguments::answer::AskArguments;
use crate::excerpt::excerpt;
use crate::failure::{self, Failure, Result};
use crate::interrupt;
use crate::output;
use crate::session::Session;

/// In place of a question: questions are on standard input, one per line.
const STDIN: &str = "-";

pub(crate) fn run(arguments: &AskArguments, session: &Session<'_>) -> Result<()> {
    let question = &arguments.question;
    if question.trim().is_empty() {
        return Err(AnswerError::EmptyQuestion.into());
    }
    let mut pipeline = session.setup().pipeline()?;
    pipeline.settings.style = session.settings.style(pipeline.model.as_ref());
    let choices = arguments.choices.as_slice();
    let unlettered = choices
        .len()
        .checked_sub(1)
        .is_some_and(|last| letter(last).is_none());
    if unlettered {
        return Err(Failure::refused(
            "too_many_choices",
            format!(
                "{} choices are given, and there are letters for 26",
                choices.len()
            ),
            "leave out choices",
        ));
    }
    match question.as_str() {
        STDIN if choices.is_empty() => answer_lines(&pipeline, session),
        STDIN => Err(Failure::refused(
            "choices_of_many",
            "choices are those of one question",
            "name the question in place of -; `ken eval` takes a file of questions with choices",
        )),
        question => answer(&pipeline, QuestionPrompt { question, choices }, session),
    }
}

/// Answers one question per line of standard input, until it ends. A question that cannot be answered
/// does not stop the others.
fn answer_lines(pipeline: &Pipeline, session: &Session<'_>) -> Result<()> {
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
        if let Err(error) = answer(pipeline, line.as_str().into(), session) {
            match error.find::<AnswerError>() {
                Some(_) if !session.is_stopped() => failure::report(&error, session.json),
                _ => return Err(error),
            };
        }
    }
}

/// Answers one question and prints it; as text the answer appears while it is written.
fn answer(pipeline: &Pipeline, question: QuestionPrompt<'_>, session: &Session<'_>) -> Result<()> {
    let mut pipeline = Cow::Borrowed(pipeline);
    if question.choices.is_empty() && is_small_talk(question.question) {
        let pipeline = pipeline.to_mut();
        pipeline.settings = pipeline.settings.clone().for_small_talk();
    }
    let mut unwritten = None;
    let answer = pipeline.answer(question, &mut |event| {
        if let (Event::Text(text), false) = (&event, session.json)
            && let Err(error) = output::text(text)
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
        true => output::json(&answer),
        false => show(&answer),
    }
}

/// What follows the answer's text: the citations' numbers where it does not hold them, the trace, the
/// passages.
fn show(answer: &Answer) -> Result<()> {
    let unmarked = answer.citations.iter().filter(|c| c.places.is_empty());
    let marks: String = unmarked.map(|c| format!(" [{}]", c.number)).collect();
    output::line(marks)?;
    for citation in &answer.citations {
        output::line(format!(
            "  [{}] {}  {}",
            citation.number,
            output::place(&citation.passage_id, citation.chunk.as_ref()),
            output::titled(&citation.title, &citation.location)
        ))?;
        output::line(format!(
            "      {}",
            excerpt(
                &citation.text,
                &[(&answer.answer, 3), (&answer.question, 1)],
                200
            )
        ))?;
    }
    let is_chosen = |at: &usize| answer.choice.is_some() && letter(*at) == answer.choice;
    if let Some(chosen) = (0..answer.choices.len()).find(is_chosen) {
        let letter = answer.choice.unwrap_or_default();
        output::line(format!("chosen: {letter}. {}", answer.choices[chosen]))?;
    }
    let is_remembered = answer.route == Source::SelfKnowledge && !answer.retrieved.is_empty();
    if is_remembered && answer.withheld.is_none() && answer.style == Style::Short {
        output::line("from memory: the documents do not answer")?;
    }
    if let Some(withheld) = &answer.withheld {
        output::text(&format!("withheld: {withheld}\n"))?;
    }
    if let Some(lack) = &answer.lack {
        output::line(format!("no whole answer: {}", lack.words()))?;
    }
    output::line(format!(
        "route: {} ({}: {})",
        answer.route, answer.policy, answer.reason
    ))?;
    if answer.calls.retriever > 0 {
        let read = answer
            .retrieved
            .iter()
            .filter(|passage| passage.in_prompt)
            .count();
        let found = answer.retrieved.len();
        let cut = match (read < found, answer.route) {
            (false, _) => "",
            (true, Source::Corpus) => ", the others did not fit",
            (true, Source::SelfKnowledge) => ", since they do not help",
        };
        let what = match answer.retrieved.iter().any(|found| found.chunk.is_some()) {
            true => "chunks",
            false => "passages",
        };
        output::line(format!("{what}: {found} found, {read} read{cut}"))?;
        let mut number = 0;
        for passage in &answer.retrieved {
            let mark = if passage.in_prompt {
                number += 1;
                format!("[{number}]")
            } else {
                "cut".to_owned()
            };
            output::line(format!(
                "  {mark:>4} {:.4}  {}  {}",
                passage.score,
                output::place(&passage.passage_id, passage.chunk.as_ref()),
                output::titled(&passage.title, &passage.location)
            ))?;
        }
    }
    if let Some(known) = &answer.verbalized {
        let use_of_it = match (known.text.is_empty(), known.in_prompt) {
            (true, _) => "nothing",
            (false, true) => &known.text,
            (false, false) => "what does not fit beside the question",
        };
        output::text(&format!(
            "wrote first ({} tokens): {use_of_it}\n",
            known.tokens.completion
        ))?;
    }
    output::line(format!(
        "calls: {} of the model, {} of the retriever; tokens: {} read, {} written",
        answer.calls.model, answer.calls.retriever, answer.tokens.prompt, answer.tokens.completion
    ))?;
    let (total, stages): (Vec<_>, Vec<_>) =
        (answer.timing_ms.iter()).partition(|(stage, _)| **stage == *"total");
    let stages: Vec<String> = (stages.iter().chain(&total))
        .map(|(stage, ms)| format!("{stage} {ms:.0} ms"))
        .collect();
    output::line(format!("time: {}", stages.join(", ")))
}
