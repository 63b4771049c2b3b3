//! What the parser's errors leave unsaid: the verb that is probably meant, quotes around a question, the flag of a corpus.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use ken_corpus::Corpus;

use crate::arguments;
use crate::shell::for_a_shell;

/// Adds to an error what was probably meant. `given` are the program's arguments, its name first.
pub(crate) fn with_tip(mut error: clap::Error, given: &[OsString]) -> clap::Error {
    if let Some(near) = near_verb(&error, given) {
        let near = ContextValue::Strings(vec![near]);
        error.insert(ContextKind::SuggestedSubcommand, near);
    }
    if let Some(tip) = tip_for_surplus(&error, given) {
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

/// The verb that is meant by a mistyped one if clap, which wants more letters in common, has found none.
fn near_verb(error: &clap::Error, given: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(mistyped)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    if error.get(ContextKind::SuggestedSubcommand).is_some() || given.get(1)? != mistyped.as_str() {
        return None;
    }
    let command = arguments::command();
    let mut verbs = command.get_subcommands().map(Command::get_name);
    let near = verbs.find(|verb| strsim::osa_distance(mistyped, verb) == 1);
    near.map(str::to_owned)
}

/// What to do with an argument that is one too many.
fn tip_for_surplus(error: &clap::Error, given: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(surplus)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument || surplus.starts_with('-') {
        return None;
    }
    let mut words = given.iter().skip(1).map(|word| word.to_string_lossy());
    let verb = words.find(|word| !word.starts_with('-'))?;
    if verb == "ask" || verb == "search" {
        return Some("several words stand in quotes, so that they are one argument".to_owned());
    }
    let named = || format!("a corpus is named by --corpus {}", for_a_shell(surplus));
    Corpus::exists(Path::new(surplus)).then(named)
}
