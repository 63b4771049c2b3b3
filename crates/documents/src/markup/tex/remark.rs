//! Leaving out comments, which begin with `%` and take the end of their line with them.

/// The environments whose lines are not TeX.
pub(super) const VERBATIM: [&str; 10] = [
    "verbatim",
    "verbatim*",
    "Verbatim",
    "alltt",
    "lstlisting",
    "minted",
    "comment",
    "filecontents",
    "filecontents*",
    "Verbatim*",
];

/// The commands with an address in braces.
const ADDRESSES: [&str; 4] = ["\\url", "\\href", "\\nolinkurl", "\\path"];

/// A text without comments.
pub(super) fn without_remarks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut verbatim: Option<&str> = None;
    // Whether the line before ended in a comment, so that this one continues it.
    let mut is_joined = false;
    for line in text.lines() {
        if let Some(name) = verbatim {
            out.push_str(line);
            out.push('\n');
            verbatim = (!ends(line, name)).then_some(name);
            continue;
        }
        let line = match is_joined {
            true => line.trim_start(),
            false => line,
        };
        if is_joined && line.is_empty() {
            out.push('\n');
        }
        let start = start_of_remark(line);
        let shown = start.map_or(line, |start| &line[..start]);
        // A line with only a comment is not a blank line.
        if start.is_some() && shown.trim().is_empty() {
            continue;
        }
        out.push_str(shown);
        verbatim = begun(shown);
        is_joined = start.is_some() && verbatim.is_none();
        if !is_joined {
            out.push('\n');
        }
    }
    out
}

/// The environment of verbatim lines that a line begins and does not end.
fn begun(line: &str) -> Option<&'static str> {
    let (_, rest) = line.rsplit_once("\\begin{")?;
    VERBATIM.into_iter().find(|name| {
        let inside = rest.strip_prefix(name);
        inside.is_some_and(|inside| inside.starts_with('}') && !ends(inside, name))
    })
}

fn ends(line: &str, name: &str) -> bool {
    let mut ends = line.split("\\end{").skip(1);
    ends.any(|rest| {
        rest.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('}'))
    })
}

fn start_of_remark(line: &str) -> Option<usize> {
    let mut offset = 0;
    while let Some(at) = line[offset..].find(['\\', '%']) {
        offset += at;
        let mark = &line[offset..];
        if mark.starts_with('%') {
            return Some(offset);
        }
        let sign = mark[1..].chars().next().map_or(0, char::len_utf8);
        let verbatim = verb_length(mark).or_else(|| address_length(mark));
        offset += verbatim.unwrap_or(1 + sign);
    }
    None
}

/// The length of a command whose address may hold percent signs, with this, which a text begins with.
fn address_length(text: &str) -> Option<usize> {
    let (_, inside) = ADDRESSES
        .iter()
        .find_map(|command| text.strip_prefix(command))?
        .split_once('{')
        .filter(|(before, _)| before.is_empty())?;
    let end = inside.find('}')?;
    Some(text.len() - inside.len() + end + 1)
}

/// The length of the `\verb` that a text begins with, with its text, which may hold percent signs.
fn verb_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("\\verb")?;
    let inside = inside.strip_prefix('*').unwrap_or(inside);
    let mark = inside.chars().next().filter(char::is_ascii_punctuation)?;
    let verbatim = &inside[1..];
    let end = verbatim.find(mark)?;
    Some(text.len() - verbatim.len() + end + 1)
}
