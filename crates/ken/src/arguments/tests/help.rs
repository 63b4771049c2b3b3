//! Tests that every `ken` command in the documents, and in the examples of the help, can be parsed.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser};

use super::Arguments;

#[test]
fn the_commands_of_the_documents_parse() {
    let mut count = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        let mut in_shell = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                in_shell = line.trim() == "```sh";
            } else if in_shell && let Some(command) = command(line) {
                check(&path.display().to_string(), &command);
                count += 1;
            }
        }
    }
    assert!(count > 20, "only {count} commands found");
}

#[test]
fn the_verbs_that_documents_name_exist() {
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        for code in text.split('`').skip(1).step_by(2) {
            let Some(words) = code.strip_prefix("ken ") else {
                continue;
            };
            let mut verb = Arguments::command();
            let words = words.split_whitespace();
            for word in words.take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
            {
                if !verb.has_subcommands() {
                    break;
                }
                let inner = verb.find_subcommand(word).cloned();
                verb = inner.unwrap_or_else(|| panic!("{} names `{code}`", path.display()));
            }
        }
    }
}

#[test]
fn the_examples_of_the_help_parse() {
    let mut count = 0;
    let mut open = vec![Arguments::command()];
    while let Some(verb) = open.pop() {
        let help = verb.get_after_long_help().map(ToString::to_string);
        for line in help.unwrap_or_default().lines() {
            if let Some(command) = command(line) {
                check(verb.get_name(), &command);
                count += 1;
            }
        }
        open.extend(verb.get_subcommands().cloned());
    }
    assert!(count > 30, "only {count} examples found");
}

/// The README and all of `docs`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new("../..");
    let mut documents = vec![root.join("README.md")];
    collect(&root.join("docs"), &mut documents);
    documents
}

fn collect(folder: &Path, documents: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, documents);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            documents.push(path);
        }
    }
}

fn check(place: &str, command: &[String]) {
    if let Err(error) = Arguments::try_parse_from(command) {
        panic!("{place}: {}\n{error}", command.join(" "));
    }
}

/// The words of a shell line that calls `ken`, from `ken` up to a redirection or a comment.
fn command(line: &str) -> Option<Vec<String>> {
    let line = line.trim().replace("cargo run --release -- ", "ken ");
    let line = line.split("  ").next().unwrap_or_default();
    let mut words = words(line);
    let start = words.iter().position(|word| word == "ken")?;
    let variables = words[..start].iter().all(|word| word.contains('='));
    let end = words.iter().position(|word| word == ">" || word == "<");
    words.truncate(end.unwrap_or(words.len()));
    variables.then(|| words.split_off(start))
}

/// Splits at spaces outside of double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}
