//! Verbs and flags of earlier versions, and what to write instead.

use std::ffi::OsString;

use clap::Command;

use super::command;

/// Old names with the new ones: a verb, or a verb with a flag. The first that fits answers.
const RENAMED: &[(&str, &str)] = &[
    ("ask --source", "ask --corpus NAME=CORPUS"),
    ("chat", "ask -"),
    ("corpus prune", "prune apply --ids FILE"),
    ("eval --source", "eval --corpus NAME=CORPUS"),
    ("export model", "model export"),
    (
        "export training-data noise-tolerant",
        "train noise-tolerant --export FORMAT",
    ),
    ("export training-data kbm", "train kbm --export FORMAT"),
    (
        "export training-data self-route",
        "train self-route --export FORMAT",
    ),
    ("export training-data", "train VERB --export FORMAT"),
    ("export", "model export"),
    ("mastery label", "label mastery --corpus DIR"),
    ("mastery", "label mastery --corpus DIR"),
    ("prune --report", "prune report"),
    ("prune --undo", "prune undo"),
    ("prune", "prune apply"),
    ("train kbm --prompt", "train kbm --prompt-form FORM"),
    (
        "train noise-tolerant --prompt",
        "train noise-tolerant --prompt-form FORM",
    ),
    ("train pruner --from", "train pruner --features FEATURES"),
    ("train router --from", "train router --features FEATURES"),
];

/// What to write instead of the old name in a command line that could not be parsed, if it has one.
pub(crate) fn renamed(line: impl Iterator<Item = OsString>) -> Option<String> {
    let (flags, words) = flags_and_words(line);
    let known = depth(&command(), &words);
    let (old, new) = RENAMED.iter().find(|(old, _)| {
        let (old_flags, old_words): (Vec<&str>, Vec<&str>) =
            old.split(' ').partition(|word| word.starts_with("--"));
        let is_verb = words.len() >= old_words.len()
            && words.iter().zip(&old_words).all(|(word, old)| word == old);
        // `prune` has verbs of its own now, which are not old.
        let is_old = match old_flags[..] {
            [flag] => flags.iter().any(|given| given == flag),
            _ => known <= old_words.len(),
        };
        is_verb && is_old
    })?;
    Some(format!("`ken {old}` is now `ken {new}`"))
}

/// The names of the flags, and all other words except the values of flags that may precede the verb.
fn flags_and_words(line: impl Iterator<Item = OsString>) -> (Vec<String>, Vec<String>) {
    let mut line = line.skip(1).map(|word| word.to_string_lossy().into_owned());
    let (mut flags, mut words) = (Vec::new(), Vec::new());
    while let Some(word) = line.next() {
        match word.split('=').next() {
            Some(flag) if flag.starts_with("--") => {
                if word == "--config" || word == "--threads" {
                    line.next();
                }
                flags.push(flag.to_owned());
            }
            _ => words.push(word),
        }
    }
    (flags, words)
}

/// How many of the words name verbs.
fn depth(command: &Command, words: &[String]) -> usize {
    let verb = words.first().and_then(|word| command.find_subcommand(word));
    verb.map_or(0, |verb| 1 + depth(verb, &words[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> Option<String> {
        renamed(line.split(' ').map(OsString::from))
    }

    #[test]
    fn every_old_name_is_refused_with_the_new_one() {
        for (old, new) in RENAMED {
            let expected = Some(format!("`ken {old}` is now `ken {new}`"));
            for line in [
                format!("ken {old}"),
                format!("ken --json --config x {old} a --model b"),
            ] {
                let error = command().try_get_matches_from(line.split(' ')).unwrap_err();
                assert!(error.use_stderr(), "{line} is a question for help");
                assert_eq!(answer(&line), expected, "{line}");
            }
        }
    }

    #[test]
    fn every_new_name_exists() {
        for (old, new) in RENAMED {
            let words: Vec<String> = new.split(' ').map(str::to_owned).collect();
            let mut verb = command();
            let (verbs, rest) = words.split_at(depth(&verb, &words));
            for word in verbs {
                verb = verb.find_subcommand(word).unwrap().clone();
            }
            for word in rest {
                let known = match word.strip_prefix("--") {
                    Some(flag) => std::iter::once(&verb)
                        .chain(verb.get_subcommands())
                        .flat_map(Command::get_arguments)
                        .any(|known| known.get_long() == Some(flag)),
                    // `-`, or what stands for a value or verb.
                    None => !word.contains(char::is_lowercase),
                };
                assert!(known && !verbs.is_empty(), "{old}: {word} of `ken {new}`");
            }
        }
    }

    #[test]
    fn what_is_wrong_today_is_not_called_old() {
        for line in [
            "ken",
            "ken serch x",
            "ken prune apply --ratio 2",
            "ken train router x --out",
            "ken ask chat --corpus",
            "ken model score --prompt",
        ] {
            assert_eq!(answer(line), None, "{line}");
        }
    }
}
