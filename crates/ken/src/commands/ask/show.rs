//! What follows the text of an answer: the passages that it cites, and the trace.

use ken_answer::{Answer, Style, is_small_talk};
use ken_policy::Source;
use ken_probe::letter;

use crate::excerpt::excerpt;
use crate::failure::Result;
use crate::output;
use crate::style::{Flow, Look, Styled};
use crate::terminal;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The answer alone.
    Quiet,
    /// One line of the trace.
    Short,
    /// All of it.
    Whole,
}

impl Form {
    /// On a terminal the trace is short; any other reader gets all of it.
    pub(super) fn of(quiet: bool, verbose: bool) -> Self {
        match quiet {
            true => Self::Quiet,
            false if verbose || !terminal::is_on_stdout() => Self::Whole,
            false => Self::Short,
        }
    }
}

/// Prints what follows the answer's text: the citations' numbers if the text lacks them, the passages, the trace.
pub(super) fn show(answer: &Answer, flow: &mut Flow, form: Form) -> Result<()> {
    let unmarked = answer.citations.iter().filter(|c| c.places.is_empty());
    let marks: String = unmarked.map(|c| format!(" [{}]", c.number)).collect();
    output::piece(flow, &format!("{marks}\n"))?;
    if form != Form::Quiet {
        show_citations(answer)?;
    }
    show_outcome(answer)?;
    let trace = match form {
        Form::Quiet => Vec::new(),
        Form::Short => vec![summary(answer)],
        Form::Whole => trace(answer),
    };
    let mut lines = trace.iter();
    lines.try_for_each(|line| output::styled(&Styled::default().with(Look::Dim, line), 2))
}

fn show_citations(answer: &Answer) -> Result<()> {
    for citation in &answer.citations {
        let place = output::place(&citation.passage_id, citation.chunk.as_ref());
        let titled = output::titled(&citation.title, &citation.location);
        let line = Styled::default()
            .plain("  ")
            .with(Look::Strong, &format!("[{}]", citation.number))
            .plain(" ")
            .with(Look::Dim, &place)
            .plain("  ")
            .with(Look::Strong, &titled);
        output::styled(&line, 6)?;
        let wanted = [(&*answer.answer, 3), (&*answer.question, 1)];
        output::excerpt(&excerpt(&citation.text, &wanted, 200))?;
    }
    Ok(())
}

/// Prints what was chosen or withheld, and what the answer lacks.
fn show_outcome(answer: &Answer) -> Result<()> {
    let is_chosen = |at: &usize| answer.choice.is_some() && letter(*at) == answer.choice;
    if let Some(chosen) = (0..answer.choices.len()).find(is_chosen) {
        let letter = answer.choice.unwrap_or_default();
        output::line(format!("chosen: {letter}. {}", answer.choices[chosen]))?;
    }
    let is_remembered = answer.route == Source::SelfKnowledge && !answer.retrieved.is_empty();
    if is_remembered && answer.withheld.is_none() && answer.style == Style::Short {
        output::line("from memory: the documents do not answer")?;
    }
    let is_searched = answer.route == Source::Corpus && answer.calls.retriever > 0;
    if is_searched && answer.retrieved.is_empty() {
        output::line("from memory: no passages were found")?;
    }
    if let Some(withheld) = &answer.withheld {
        output::text(&format!("withheld: {withheld}\n"))?;
    }
    if let Some(lack) = &answer.lack {
        output::line(format!("no whole answer: {}", lack.words()))?;
    }
    Ok(())
}

/// The trace in one line.
fn summary(answer: &Answer) -> String {
    let read = match read(answer) {
        _ if answer.calls.retriever == 0 => String::new(),
        1 => "; 1 passage read".to_owned(),
        count => format!("; {count} passages read"),
    };
    let of = match answer.named_documents.as_slice() {
        [] => String::new(),
        [named] => format!(" of {named}"),
        [first, ..] => format!(" of {first} and others"),
    };
    let total = answer.timing_ms.get("total");
    let time = total.map_or(String::new(), |ms| format!("; {:.1} s", ms / 1000.0));
    let policy: &str = match is_talk(answer) {
        true => TALK,
        false => &answer.policy,
    };
    format!(
        "route: {} ({policy}){read}{of}{time}; -v tells more",
        answer.route
    )
}

/// What decides in the place of a policy that nothing is looked up for a greeting or thanks.
const TALK: &str = "small talk";

/// Whether a greeting or thanks was answered.
pub(super) fn is_talk(answer: &Answer) -> bool {
    answer.choices.is_empty() && is_small_talk(&answer.question)
}

/// How many passages the model read.
fn read(answer: &Answer) -> usize {
    let read = answer.retrieved.iter().filter(|passage| passage.in_prompt);
    read.count()
}

/// How the answer came about, line by line.
fn trace(answer: &Answer) -> Vec<String> {
    let why = match is_talk(answer) {
        true => format!("{TALK}: nothing is retrieved for it"),
        false => format!("{}: {}", answer.policy, answer.reason),
    };
    let mut lines = vec![format!("route: {} ({why})", answer.route)];
    if !answer.named_documents.is_empty() {
        let named = answer.named_documents.join(", ");
        lines.push(format!("searched only, as the question names it: {named}"));
    }
    if answer.calls.retriever > 0 {
        lines.extend(retrieved(answer));
    }
    if let Some(known) = &answer.verbalized {
        let use_of_it = match (known.text.is_empty(), known.in_prompt) {
            (true, _) => "nothing",
            (false, true) => &known.text,
            (false, false) => "what does not fit beside the question",
        };
        lines.push(format!(
            "wrote first ({} tokens): {use_of_it}",
            known.tokens.completion
        ));
    }
    lines.push(format!(
        "calls: {} of the model, {} of the retriever; tokens: {} read, {} written",
        answer.calls.model, answer.calls.retriever, answer.tokens.prompt, answer.tokens.completion
    ));
    let (total, stages): (Vec<_>, Vec<_>) =
        (answer.timing_ms.iter()).partition(|(stage, _)| **stage == *"total");
    let stages: Vec<String> = (stages.iter().chain(&total))
        .map(|(stage, ms)| format!("{stage} {ms:.0} ms"))
        .collect();
    lines.push(format!("time: {}", stages.join(", ")));
    lines
}

/// The passages that were found, and which of them were read.
fn retrieved(answer: &Answer) -> Vec<String> {
    let (total, read) = (answer.retrieved.len(), read(answer));
    let cut = match (read < total, answer.route) {
        (false, _) => "",
        (true, Source::Corpus) => ", the others did not fit",
        (true, Source::SelfKnowledge) => ", since they do not help",
    };
    let what = match answer.retrieved.iter().any(|hit| hit.chunk.is_some()) {
        true => "chunks",
        false => "passages",
    };
    let mut lines = vec![format!("{what}: {total} found, {read} read{cut}")];
    let mut number = 0;
    for passage in &answer.retrieved {
        let mark = if passage.in_prompt {
            number += 1;
            format!("[{number}]")
        } else {
            "-".to_owned()
        };
        lines.push(format!(
            "  {mark:>4} {}  {}  {}",
            (passage.score).map_or_else(|| "beside".to_owned(), |score| format!("{score:.4}")),
            output::place(&passage.passage_id, passage.chunk.as_ref()),
            output::titled(&passage.title, &passage.location)
        ));
    }
    lines
}
