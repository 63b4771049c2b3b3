//! TeX and LaTeX: sections as headings, the words of other commands, lists and tables. The preamble, comments,
//! labels and the keys of citations are left out; formulas stay as they are.

use ken_corpus::Outline;
use serde_json::Map;

use crate::error::ReadError;
use crate::place::Place;
use crate::prose::marked_headings;
use crate::record::{Contents, one_line};
use crate::watch::Watch;

/// The longest argument of a command, in bytes, that is read as a whole.
const LONGEST_ARGUMENT: usize = 1024;
/// How often a command is searched for in the preamble.
const MOST_SEARCHES: usize = 16;
/// Commands between two checks of the stop flag.
const COMMANDS_PER_CHECK: usize = 4096;

/// The commands that are headings, and their levels.
const SECTIONS: [(&str, usize); 7] = [
    ("part", 1),
    ("chapter", 1),
    ("section", 2),
    ("subsection", 3),
    ("subsubsection", 4),
    ("paragraph", 5),
    ("subparagraph", 6),
];

/// The commands whose arguments are not read.
const SILENT: [&str; 26] = [
    "label",
    "ref",
    "eqref",
    "pageref",
    "cref",
    "Cref",
    "autoref",
    "cite",
    "citep",
    "citet",
    "nocite",
    "includegraphics",
    "input",
    "include",
    "bibliography",
    "bibliographystyle",
    "usepackage",
    "vspace",
    "hspace",
    "pagestyle",
    "thispagestyle",
    "setcounter",
    "index",
    "newcommand",
    "setlength",
    "hypersetup",
];

pub(super) fn contents(text: &str, _: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    let text = without_remarks(text);
    let title = argument_of("\\title", &text).map(|title| plain(title, watch));
    let title = title.transpose()?.and_then(|title| one_line(&title));
    let author = argument_of("\\author", &text).map(|author| plain(author, watch));
    let author = author.transpose()?.and_then(|author| one_line(&author));
    let body = match text.split_once("\\begin{document}") {
        Some((_, body)) => body
            .split_once("\\end{document}")
            .map_or(body, |(body, _)| body),
        None => &text,
    };
    let written = plain(body, watch)?;
    let heading = written.lines().find(|line| line.starts_with('#'));
    let heading = heading.and_then(|line| one_line(line.trim_start_matches('#')));
    let mut metadata = Map::new();
    if let Some(author) = author {
        metadata.insert("author".to_owned(), author.into());
    }
    let text = tidy(&written);
    Ok(Contents {
        title: title.or(heading),
        outline: Outline {
            headings: marked_headings(&text),
            ..Outline::default()
        },
        text,
        metadata,
    })
}

/// The text without comments, which start with `%`.
fn without_remarks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let mut escaped = false;
        let remark = line.char_indices().find(|&(_, c)| {
            let begins = c == '%' && !escaped;
            escaped = c == '\\' && !escaped;
            begins
        });
        match remark {
            // A line with only a comment is not a blank line.
            Some((0, _)) => {}
            Some((start, _)) => {
                out.push_str(&line[..start]);
                out.push('\n');
            }
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// The first argument of the first such command.
fn argument_of<'t>(command: &str, text: &'t str) -> Option<&'t str> {
    text.split(command)
        .skip(1)
        .take(MOST_SEARCHES)
        .find_map(|rest| Some(argument(rest.trim_start())?.0))
}

/// The argument in braces that a text begins with, and the rest after it.
fn argument(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('{')?;
    let mut depth = 1_usize;
    let mut escaped = false;
    for (offset, character) in inside.char_indices() {
        if offset > LONGEST_ARGUMENT {
            return None;
        }
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&inside[..offset], &inside[offset + 1..]));
        }
    }
    None
}

/// The label in brackets that a text begins with, and the rest after it.
fn label(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('[')?;
    let end = inside
        .bytes()
        .take(LONGEST_ARGUMENT)
        .position(|byte| byte == b']')?;
    Some((&inside[..end], &inside[end + 1..]))
}

/// A text without the options in brackets that it begins with.
fn after_options(text: &str) -> &str {
    let mut rest = text.strip_prefix('*').unwrap_or(text);
    while let Some((_, after)) = label(rest) {
        rest = after;
    }
    rest
}

/// A text without the argument that it may begin with.
fn after_argument(text: &str) -> &str {
    argument(text).map_or(text, |(_, rest)| rest)
}

/// The text that a piece of TeX shows.
fn plain(tex: &str, watch: &Watch) -> Result<String, ReadError> {
    let mut out = String::with_capacity(tex.len());
    let mut rest = tex;
    let mut commands = 0_usize;
    let mut in_table = false;
    while let Some(at) = rest.find(['\\', '{', '}', '~', '$', '&', '`', '\'', '-']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        commands += 1;
        if commands.is_multiple_of(COMMANDS_PER_CHECK) {
            watch.check()?;
        }
        let pairs = [("``", "“"), ("''", "”"), ("---", "—"), ("--", "–")];
        if let Some((written, shown)) = pairs.iter().find(|(written, _)| rest.starts_with(written))
        {
            out.push_str(shown);
            rest = &rest[written.len()..];
            continue;
        }
        let mut characters = rest.chars();
        match characters.next() {
            Some('\\') => rest = command(characters.as_str(), &mut out, &mut in_table, watch)?,
            Some('{' | '}') => rest = characters.as_str(),
            Some('~') => {
                out.push(' ');
                rest = characters.as_str();
            }
            Some('&') if in_table => {
                out.push('|');
                rest = characters.as_str();
            }
            Some('$') => rest = formula(rest, &mut out),
            Some(other) => {
                out.push(other);
                rest = characters.as_str();
            }
            None => break,
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Copies the formula that a text begins with; returns the rest after it.
fn formula<'t>(text: &'t str, out: &mut String) -> &'t str {
    let mark = if text.starts_with("$$") { "$$" } else { "$" };
    let inside = &text[mark.len()..];
    let mut near = inside.char_indices().take(LONGEST_ARGUMENT);
    let mut escaped = false;
    let end = near.find(|&(at, character)| {
        let ends = !escaped && inside[at..].starts_with(mark);
        escaped = character == '\\' && !escaped;
        ends
    });
    let end = end.map_or(0, |(at, _)| at + mark.len());
    let (formula, rest) = text.split_at(mark.len() + end);
    out.push_str(formula);
    rest
}

/// Writes the text of a command; `text` begins after its backslash. Returns the rest after it.
fn command<'t>(
    text: &'t str,
    out: &mut String,
    in_table: &mut bool,
    watch: &Watch,
) -> Result<&'t str, ReadError> {
    let end = text.find(|c: char| !c.is_ascii_alphabetic());
    let (name, after) = text.split_at(end.unwrap_or(text.len()));
    if name.is_empty() {
        return Ok(symbol(text, out));
    }
    let rest = after_options(after);
    if let Some((_, level)) = SECTIONS.iter().find(|(section, _)| *section == name)
        && let Some((words, rest)) = argument(rest)
    {
        let words = one_line(&plain(words, watch)?).unwrap_or_default();
        out.push_str(&format!("\n\n{} {words}\n\n", "#".repeat(*level)));
        return Ok(rest);
    }
    if SILENT.contains(&name) {
        return Ok(argument(rest).map_or(rest, |(_, rest)| after_silent(name, rest)));
    }
    match name {
        "begin" | "end" => return Ok(environment(name == "begin", rest, out, in_table)),
        "item" => {
            out.push_str("\n- ");
            // The label of an item stands in brackets.
            if let Some((label, rest)) = label(after) {
                out.push_str(&plain(label, watch)?);
                out.push_str(": ");
                return Ok(rest.trim_start());
            }
        }
        "footnote" => {
            if let Some((words, rest)) = argument(rest) {
                out.push_str(&format!(" ({})", plain(words, watch)?.trim()));
                return Ok(rest);
            }
        }
        "href" | "title" | "author" | "date" | "maketitle" | "tableofcontents" => {
            return Ok(after_argument(rest));
        }
        "c" | "v" | "u" | "r" | "H" | "k" => {
            let accent = name.chars().next().unwrap_or_default();
            if let Some((letter, rest)) = argument(rest.trim_start()) {
                push_accented(accent, letter, out);
                return Ok(rest);
            }
        }
        _ => match characters(name) {
            Some(characters) => out.push_str(characters),
            None => return Ok(rest),
        },
    }
    Ok(rest.strip_prefix(' ').unwrap_or(rest))
}

/// The characters that a command without arguments stands for.
fn characters(name: &str) -> Option<&str> {
    Some(match name {
        "par" | "newline" | "linebreak" => "\n",
        "ldots" | "dots" | "textellipsis" => "…",
        "textbackslash" => "\\",
        "ss" => "ß",
        "ae" => "æ",
        "o" => "ø",
        "aa" => "å",
        "l" => "ł",
        "S" => "§",
        "LaTeX" | "TeX" => name,
        _ => return None,
    })
}

/// Begins or ends the environment whose name `text` begins with. Returns the rest after its arguments.
fn environment<'t>(begins: bool, text: &'t str, out: &mut String, in_table: &mut bool) -> &'t str {
    let Some((name, rest)) = argument(text) else {
        return text;
    };
    let name = name.trim_end_matches('*');
    let is_table = matches!(name, "tabular" | "tabularx" | "longtable" | "array");
    if is_table {
        *in_table = begins;
    }
    out.push('\n');
    match (begins, name) {
        (false, _) => rest,
        // The widths of the table and its columns.
        (true, "tabularx") => after_argument(after_argument(after_options(rest))),
        (true, _) if is_table => after_argument(after_options(rest)),
        (true, _) => after_options(rest),
    }
}

/// The rest after the further arguments of a command that shows none.
fn after_silent<'t>(name: &str, rest: &'t str) -> &'t str {
    match name {
        "setcounter" | "newcommand" | "setlength" => after_argument(after_options(rest)),
        _ => rest,
    }
}

/// Writes the text of a command of one sign.
fn symbol<'t>(text: &'t str, out: &mut String) -> &'t str {
    let mut characters = text.chars();
    let Some(mark) = characters.next() else {
        return text;
    };
    let rest = characters.as_str();
    match mark {
        '\\' => {
            out.push('\n');
            return after_options(rest);
        }
        '\'' | '`' | '^' | '"' | '~' | '=' | '.' => {
            let (letter, rest) = match argument(rest) {
                Some((letter, rest)) => (letter, rest),
                None => {
                    let end = rest.chars().next().map_or(0, char::len_utf8);
                    rest.split_at(end)
                }
            };
            push_accented(mark, letter, out);
            return rest;
        }
        '[' | ']' => out.push('\n'),
        '(' | ')' => {}
        ',' | ';' | ':' | '!' | ' ' => out.push(' '),
        '-' | '/' => {}
        other => out.push(other),
    }
    rest
}

/// Writes a letter with its accent: as one character if there is one, else with a combining accent.
fn push_accented(accent: char, letter: &str, out: &mut String) {
    let letter = letter.trim_start_matches('\\');
    let combining = match accent {
        '\'' => '\u{301}',
        '`' => '\u{300}',
        '^' => '\u{302}',
        '"' => '\u{308}',
        '~' => '\u{303}',
        '=' => '\u{304}',
        '.' => '\u{307}',
        'c' => '\u{327}',
        'v' => '\u{30c}',
        'u' => '\u{306}',
        'r' => '\u{30a}',
        'H' => '\u{30b}',
        _ => '\u{328}',
    };
    let mut letters = letter.chars();
    let Some(first) = letters.next() else { return };
    let composed = COMPOSED
        .iter()
        .find(|(of, with, _)| *of == first && *with == combining);
    match composed {
        Some((.., one)) => out.push(*one),
        None => out.extend([first, combining]),
    }
    out.push_str(letters.as_str());
}

/// The composed characters of letters with accents that most texts use.
const COMPOSED: [(char, char, char); 34] = [
    ('a', '\u{301}', 'á'),
    ('e', '\u{301}', 'é'),
    ('i', '\u{301}', 'í'),
    ('o', '\u{301}', 'ó'),
    ('u', '\u{301}', 'ú'),
    ('y', '\u{301}', 'ý'),
    ('c', '\u{301}', 'ć'),
    ('n', '\u{301}', 'ń'),
    ('s', '\u{301}', 'ś'),
    ('z', '\u{301}', 'ź'),
    ('E', '\u{301}', 'É'),
    ('a', '\u{300}', 'à'),
    ('e', '\u{300}', 'è'),
    ('i', '\u{300}', 'ì'),
    ('o', '\u{300}', 'ò'),
    ('u', '\u{300}', 'ù'),
    ('a', '\u{302}', 'â'),
    ('e', '\u{302}', 'ê'),
    ('i', '\u{302}', 'î'),
    ('o', '\u{302}', 'ô'),
    ('a', '\u{308}', 'ä'),
    ('e', '\u{308}', 'ë'),
    ('i', '\u{308}', 'ï'),
    ('o', '\u{308}', 'ö'),
    ('u', '\u{308}', 'ü'),
    ('A', '\u{308}', 'Ä'),
    ('O', '\u{308}', 'Ö'),
    ('U', '\u{308}', 'Ü'),
    ('n', '\u{303}', 'ñ'),
    ('a', '\u{303}', 'ã'),
    ('c', '\u{327}', 'ç'),
    ('c', '\u{30c}', 'č'),
    ('s', '\u{30c}', 'š'),
    ('z', '\u{30c}', 'ž'),
];

/// Lines without the spaces around them, and no more than one blank line between two.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = true;
    for line in text.lines() {
        let line = line.trim();
        if !line.is_empty() || !blank {
            out.push_str(line);
            out.push('\n');
        }
        blank = line.is_empty();
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ken_testing::has;

    use super::*;

    fn read(tex: &str) -> Contents {
        contents(tex, &Place::whole(Path::new("t.tex")), &Watch::default()).unwrap()
    }

    #[test]
    fn a_file() {
        let contents = read(
            "\\documentclass{article}\n\\title{The \\emph{tides}}\\author{I. Ito}\n\\begin{document}\\maketitle\n\
             \\section{High water}\\label{s}\nIt rises 5\\% -- by $x_1 < 2$ % a remark\n% another\n\\textbf{each} day~\\cite{k}.\\footnote{Or so.}\n\
             \\begin{itemize}\n\\item One\n\\item[Two] three\n\\end{itemize}\n\
             \\begin{tabular}{l|r}\na & b \\\\\n\\end{tabular}\nM\\\"uller, caf\\'{e}\n\\end{document} after",
        );
        has!(contents, title.as_deref(): Some("The tides"), metadata["author"]: "I. Ito");
        assert_eq!(
            contents.text,
            "## High water\n\nIt rises 5% – by $x_1 < 2$\neach day . (Or so.)\n\n- One\n\n- Two: three\n\n\
             a | b\n\nMüller, café"
        );
    }

    #[test]
    fn what_never_ends() {
        for open in [
            "{",
            "\\section{",
            "$",
            "\\begin{",
            "\\item[",
            "\\footnote{",
            "\\",
            "\\title{",
        ] {
            read(&open.repeat(20_000));
        }
    }
}
