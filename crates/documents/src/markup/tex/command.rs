//! Commands: their characters, their words, or nothing.

use super::Writer;
use super::argument::{
    after_argument, after_arguments, after_options, argument, label, loose_argument,
};
use super::characters::{characters, combining, push_accented, unit};
use super::environment::SLIDE_LEVEL;
use crate::error::ReadError;
use crate::raised::changes_number;

/// The longest text of `\verb`, in characters.
const LONGEST_VERB: usize = 1024;

/// The longest list of the sides at which a rule is shortened, in bytes.
const LONGEST_SIDES: usize = 32;

/// The most commands that stand within what another stands for.
const DEEPEST_EXPANSION: usize = 16;

/// The commands that are headings, and their levels.
const SECTIONS: [(&str, usize); 8] = [
    ("part", 1),
    ("chapter", 1),
    ("section", 2),
    ("subsection", 3),
    ("subsubsection", 4),
    ("paragraph", 5),
    ("subparagraph", 6),
    ("frametitle", SLIDE_LEVEL),
];

/// The commands with arguments that are not shown, by how many these are. What follows them is.
const SILENT: [(usize, &str); 3] = [
    (
        1,
        "label nocite thanks includegraphics \
         includesvg includepdf input include includeonly subfile lstinputlisting bibliography \
         bibliographystyle addbibresource usepackage RequirePackage documentclass vspace hspace addvspace \
         phantom hphantom vphantom pagestyle thispagestyle pagenumbering stepcounter refstepcounter index \
         glossary hypersetup hyphenation graphicspath lstset tikzset pgfplotsset usetikzlibrary sisetup \
         captionsetup geometry selectlanguage foreignlanguage color textcolor colorbox pagecolor rowcolor \
         cellcolor cline parbox raisebox scalebox rotatebox hypertarget hyperlink href linespread \
         enlargethispage newcounter newlength theoremstyle setlist setmainfont usetheme usecolortheme \
         usefonttheme title author date markright mintinline",
    ),
    (
        2,
        "setcounter addtocounter setlength addtolength rule multirow fontsize resizebox fcolorbox \
         markboth newtheorem addtocontents setbeamertemplate",
    ),
    (
        3,
        "addcontentsline definecolor newenvironment renewenvironment",
    ),
];

/// The commands that refer to sources, or to places in the document, by keys.
const REFERENCES: &str = "ref eqref pageref cref Cref autoref nameref vref subref crefrange cite citep citet citealp citealt \
                          citeauthor citeyear citeyearpar parencite textcite autocite footcite supercite";

impl Writer<'_> {
    /// Writes the text of a command; `text` begins after its backslash. Returns the rest after it.
    pub(super) fn command<'t>(&mut self, text: &'t str) -> Result<&'t str, ReadError> {
        let end = text.find(|c: char| !c.is_ascii_alphabetic());
        let (name, after) = text.split_at(end.unwrap_or(text.len()));
        if name.is_empty() {
            return self.sign(text);
        }
        if self.expansions < DEEPEST_EXPANSION
            && let Some((body, rest)) = self.macros.expand(name, after)
        {
            self.expansions += 1;
            self.write(&body)?;
            self.expansions -= 1;
            return Ok(rest);
        }
        if let Some(rest) = self.macros.define(name, after) {
            return Ok(rest);
        }
        if let Some(shown) = characters(name) {
            self.out.push_str(shown);
            // Words and dots are often followed by a space that is meant.
            let is_word = matches!(name, "LaTeX" | "TeX" | "ldots" | "dots" | "textellipsis");
            return Ok(if is_word { after } else { after_space(after) });
        }
        if let Some(accent) = combining(name) {
            let (letter, rest) = loose_argument(after.trim_start_matches(' '));
            push_accented(accent, letter, &mut self.out);
            return Ok(rest);
        }
        let rest = after_options(after);
        let section = SECTIONS.iter().find(|(section, _)| *section == name);
        if let (Some((_, level)), Some((words, rest))) = (section, argument(rest)) {
            self.heading(*level, words)?;
            return Ok(rest);
        }
        match SILENT
            .iter()
            .find(|(_, names)| names.split(' ').any(|silent| silent == name))
        {
            Some((count, _)) => Ok(self.silent(name, rest, *count)),
            None => self.spoken(name, after),
        }
    }

    /// The rest after the arguments of a command that shows none.
    fn silent<'t>(&mut self, name: &str, rest: &'t str, count: usize) -> &'t str {
        // A length may be given without braces.
        let bare = rest.strip_prefix('\\').filter(|_| name.ends_with("length"));
        let rest = match bare {
            Some(_) => after_argument(loose_argument(rest).1),
            None => after_arguments(rest, count),
        };
        // What it stood for is set apart from the word before it, but not from the sign after it.
        if rest.starts_with(['.', ',', ';', ':', ')', '!', '?']) {
            let kept = self.out.trim_end_matches(' ').len();
            self.out.truncate(kept);
        }
        rest
    }

    /// Writes the text of a command that is neither a character nor silent.
    fn spoken<'t>(&mut self, name: &str, after: &'t str) -> Result<&'t str, ReadError> {
        let rest = after_options(after);
        match name {
            "begin" => return self.begin(rest),
            "end" => return self.end(rest),
            "item" => return self.item(after),
            "bibitem" => {
                self.begin_item("-");
                let (key, rest) = argument(rest).unwrap_or(("", rest));
                self.out.push_str(&format!("[{}] ", key.trim()));
                return Ok(rest.trim_start());
            }
            _ if REFERENCES.split(' ').any(|other| other == name) => {
                if let Some(rest) = self.reference(name, after)? {
                    return Ok(rest);
                }
            }
            "footnote" | "footnotetext" | "marginpar" | "sidenote" | "endnote" => {
                if let Some((words, rest)) = argument(rest) {
                    let words = self.words(words)?;
                    self.out.push_str(&format!(" ({})", words.trim()));
                    return Ok(rest);
                }
            }
            "textsuperscript" => {
                if let Some((raised, rest)) = argument(rest) {
                    let raised = self.words(raised)?;
                    self.raise(&raised);
                    return Ok(rest);
                }
            }
            "url" | "path" | "nolinkurl" if argument(rest).is_some_and(is_address) => {
                let (address, rest) = loose_argument(rest);
                self.out.push_str(address);
                return Ok(rest);
            }
            "verb" => return Ok(self.verb(after)),
            "lstinline" => return Ok(self.verb(rest)),
            "iffalse" => {
                if let Some((_, rest)) = self.until(rest, "\\fi") {
                    return Ok(rest);
                }
            }
            "and" => {
                let kept = self.out.trim_end().len();
                self.out.truncate(kept);
                self.out.push_str(", ");
            }
            "si" | "unit" | "SI" | "qty" | "SIrange" | "qtyrange" | "ang" => {
                if let Some(rest) = self.measure(name, rest) {
                    return Ok(rest);
                }
            }
            _ => {
                if let Some(rest) = self.in_table(name, rest)? {
                    return Ok(rest);
                }
            }
        }
        Ok(self.after_word(rest))
    }

    /// Writes the keys of a reference in brackets, with the words that its options put around them; returns the rest after it.
    /// `None` if it has no keys.
    fn reference<'t>(&mut self, name: &str, after: &'t str) -> Result<Option<&'t str>, ReadError> {
        let mut rest = after.strip_prefix('*').unwrap_or(after);
        let (mut before, mut behind) = ("", "");
        // A single option stands behind the keys.
        while let Some((words, after)) = label(rest) {
            (before, behind, rest) = (behind, words, after);
        }
        let Some((keys, mut rest)) = argument(rest) else {
            return Ok(None);
        };
        let (before, behind) = (self.words(before)?, self.words(behind)?);
        let keys: Vec<&str> = keys.split(',').map(str::trim).collect();
        let mut keys = keys.join(", ");
        if name == "crefrange"
            && let Some((last, after)) = argument(rest)
        {
            keys = format!("{keys}–{}", last.trim());
            rest = after;
        }
        let words = [before.trim(), keys.as_str()].join(" ");
        let words = [words.trim(), behind.trim()];
        let words = words.into_iter().filter(|words| !words.is_empty());
        let words = words.collect::<Vec<_>>().join(", ");
        self.out.push_str(&format!("[{words}]"));
        Ok(Some(rest))
    }

    /// Reads a command of tables, and returns the rest after it; `None` for other commands.
    fn in_table<'t>(&mut self, name: &str, rest: &'t str) -> Result<Option<&'t str>, ReadError> {
        Ok(Some(match name {
            "tabularnewline" => {
                self.end_row()?;
                rest
            }
            "multicolumn" => {
                let Some((columns, rest)) = argument(rest) else {
                    return Ok(None);
                };
                self.span(columns);
                after_argument(rest)
            }
            "endfirsthead" | "endhead" | "endfoot" | "endlastfoot" => {
                self.end_repeated_rows(name);
                rest
            }
            "cmidrule" => after_argument(after_sides(rest)),
            _ => return Ok(None),
        }))
    }

    /// Writes a measure of siunitx, and returns the rest after it; `None` if arguments are missing.
    fn measure<'t>(&mut self, name: &str, rest: &'t str) -> Option<&'t str> {
        let (first, after) = argument(rest)?;
        match name {
            "si" | "unit" => {
                self.out.push_str(&unit(first));
                Some(after)
            }
            "SI" | "qty" => {
                let (second, after) = argument(after_options(after))?;
                self.out.push_str(&format!("{first} {}", unit(second)));
                Some(after)
            }
            "SIrange" | "qtyrange" => {
                let (second, after) = argument(after)?;
                let (third, after) = argument(after_options(after))?;
                self.out
                    .push_str(&format!("{first}–{second} {}", unit(third)));
                Some(after)
            }
            "ang" => {
                self.out.push_str(&format!("{first}°"));
                Some(after)
            }
            _ => None,
        }
    }

    /// The rest after a command that shows nothing; the spaces after it count only if none precede it.
    fn after_word<'t>(&self, rest: &'t str) -> &'t str {
        match self.out.is_empty() || self.out.ends_with(char::is_whitespace) {
            true => rest.trim_start_matches(' '),
            false => rest,
        }
    }

    fn item<'t>(&mut self, after: &'t str) -> Result<&'t str, ReadError> {
        // The label of an item stands in brackets.
        if let Some((label, rest)) = label(after) {
            self.begin_item("-");
            let label = self.words(label)?;
            self.out.push_str(&format!("{label}: "));
            return Ok(rest.trim_start());
        }
        match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                let mark = format!("{number}.");
                self.begin_item(&mark);
            }
            _ => self.begin_item("-"),
        }
        Ok(after_options(after).trim_start())
    }

    fn begin_item(&mut self, mark: &str) {
        let kept = self.out.trim_end().len();
        self.out.truncate(kept);
        self.out.push_str(&format!("\n{mark} "));
    }

    /// Writes raised text, marked where it would change the number before it.
    fn raise(&mut self, raised: &str) {
        if changes_number(&self.out, raised) {
            self.out.push('^');
        }
        self.out.push_str(raised);
    }

    /// Copies the text of `\verb`, which ends with the sign that it begins with; returns the rest after it.
    fn verb<'t>(&mut self, text: &'t str) -> &'t str {
        let mut characters = text.strip_prefix('*').unwrap_or(text).chars();
        let Some(mark) = characters.next() else {
            return text;
        };
        let inside = characters.as_str();
        let close = if mark == '{' { '}' } else { mark };
        let mut near = inside.char_indices().take(LONGEST_VERB);
        match near.find(|&(_, character)| character == close || character == '\n') {
            Some((end, character)) if character == close => {
                self.out.push_str(&inside[..end]);
                &inside[end + close.len_utf8()..]
            }
            _ => text,
        }
    }

    /// Writes the text of a command of one sign.
    fn sign<'t>(&mut self, text: &'t str) -> Result<&'t str, ReadError> {
        let mut characters = text.chars();
        let Some(mark) = characters.next() else {
            return Ok(text);
        };
        let rest = characters.as_str();
        if let Some(accent) = combining(mark.encode_utf8(&mut [0; 4])) {
            let (letter, rest) = loose_argument(rest);
            push_accented(accent, letter, &mut self.out);
            return Ok(rest);
        }
        match mark {
            '\\' => {
                self.end_row()?;
                return Ok(after_options(rest));
            }
            '[' | '(' => {
                let end = if mark == '[' { "\\]" } else { "\\)" };
                if let Some((formula, rest)) = self.until(rest, end) {
                    match mark {
                        '[' => self.display(formula),
                        _ => self.out.push_str(&format!("${}$", formula.trim())),
                    }
                    return Ok(rest);
                }
            }
            ']' => self.out.push('\n'),
            ')' | '-' | '/' | '!' | '@' => {}
            ',' | ';' | ':' | ' ' | '>' => self.out.push(' '),
            other => self.out.push(other),
        }
        Ok(rest)
    }
}

fn after_space(text: &str) -> &str {
    text.strip_prefix(' ').unwrap_or(text)
}

/// A text without the sides, such as `(lr)`, that a rule of a table begins with.
fn after_sides(text: &str) -> &str {
    let sides = text.strip_prefix('(').unwrap_or_default();
    let end = sides
        .bytes()
        .take(LONGEST_SIDES)
        .position(|byte| byte == b')');
    end.map_or(text, |end| &sides[end + 1..])
}

/// Whether an argument holds no commands.
fn is_address((address, _): (&str, &str)) -> bool {
    !address.contains('\\')
}
