//! TeX and LaTeX: sections as headings, the words of other commands, lists and tables, verbatim text. Commands that the
//! document defines stand for their text. The preamble, comments, labels and the keys of citations are left out; formulas
//! stay as they are.

mod argument;
mod characters;
mod command;
mod environment;
mod macros;
mod remark;

use serde_json::Map;

use self::argument::{LONGEST_ARGUMENT, argument_of};
use self::environment::Grid;
use self::macros::Macros;
use crate::error::ReadError;
use crate::place::Place;
use crate::prose::Prose;
use crate::record::{Contents, one_line};
use crate::watch::Watch;

/// How often a command is searched for in the preamble.
const MOST_SEARCHES: usize = 16;
/// Commands between two checks of the stop flag.
const COMMANDS_PER_CHECK: usize = 4096;
/// The most arguments that are read within each other; further ones are copied.
const DEEPEST_ARGUMENT: usize = 16;
/// The most columns of a cell.
const MOST_COLUMNS: usize = 64;

/// The signs that are not copied.
const MARKS: [char; 12] = ['\\', '{', '}', '~', '$', '&', '`', '\'', '-', '?', '!', '"'];

/// Signs that stand for one character together.
const LIGATURES: [(&str, &str); 6] = [
    ("``", "“"),
    ("''", "”"),
    ("---", "—"),
    ("--", "–"),
    ("?`", "¿"),
    ("!`", "¡"),
];

/// The ways to ask for babel's German, in which `"a` is ä.
const GERMAN: [&str; 3] = ["ngerman", "{german", "[german"];

pub(super) fn contents(text: &str, place: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    let text = remark::without_remarks(text);
    let (preamble, body) = text
        .split_once("\\begin{document}")
        .unwrap_or(("", text.as_str()));
    let body = body
        .split_once("\\end{document}")
        .map_or(body, |(body, _)| body);
    let mut writer = Writer {
        watch,
        place,
        prose: Prose::new(place, watch),
        macros: Macros::default(),
        out: String::new(),
        table: None,
        lists: Vec::new(),
        arguments: 0,
        expansions: 0,
        steps: 0,
        is_german: GERMAN.iter().any(|language| preamble.contains(language)),
        endless: Vec::new(),
    };
    writer.macros.collect(preamble);
    let mut named = |command: &str| -> Result<Option<String>, ReadError> {
        let Some(words) = argument_of(command, &text, MOST_SEARCHES) else {
            return Ok(None);
        };
        Ok(one_line(&writer.words(words)?))
    };
    let (title, author) = (named("\\title")?, named("\\author")?);
    writer.write(body)?;
    writer.end_table()?;
    writer.flush()?;
    let mut metadata = Map::new();
    if let Some(author) = author {
        metadata.insert("author".to_owned(), author.into());
    }
    Ok(writer.prose.finish(title, metadata))
}

/// A document so far.
struct Writer<'w> {
    watch: &'w Watch,
    place: &'w Place,
    prose: Prose,
    macros: Macros,
    /// The text of the open paragraphs, cell or argument.
    out: String,
    table: Option<Grid>,
    /// The numbers of the last items of the open lists; `None` for lists without numbers.
    lists: Vec<Option<u64>>,
    /// How many arguments the text is in. They show neither headings nor tables.
    arguments: usize,
    /// How many commands of the document stand for the text.
    expansions: usize,
    steps: usize,
    is_german: bool,
    /// Marks of which no more follow, so that each is searched for once.
    endless: Vec<String>,
}

impl Writer<'_> {
    /// Writes the text that a piece of TeX shows.
    fn write(&mut self, tex: &str) -> Result<(), ReadError> {
        let mut rest = tex;
        while let Some(at) = rest.find(MARKS) {
            self.out.push_str(&rest[..at]);
            rest = &rest[at..];
            self.steps += 1;
            if self.steps.is_multiple_of(COMMANDS_PER_CHECK) {
                self.watch.check()?;
                self.prose.admit(self.out.len())?;
            }
            let ligature = LIGATURES.iter().find(|(signs, _)| rest.starts_with(signs));
            if let Some((signs, shown)) = ligature {
                self.out.push_str(shown);
                rest = &rest[signs.len()..];
                continue;
            }
            let mut characters = rest.chars();
            let mark = characters.next().unwrap_or_default();
            let after = characters.as_str();
            rest = match mark {
                '\\' => self.command(after)?,
                '{' | '}' => after,
                '~' => {
                    self.out.push(' ');
                    after
                }
                '&' => {
                    self.end_cell()?;
                    after
                }
                '$' => self.formula(rest),
                '"' if self.is_german => self.shorthand(after),
                other => {
                    self.out.push(other);
                    after
                }
            };
        }
        self.out.push_str(rest);
        Ok(())
    }

    /// The text that an argument shows.
    fn words(&mut self, tex: &str) -> Result<String, ReadError> {
        let outer = std::mem::take(&mut self.out);
        self.arguments += 1;
        match self.arguments <= DEEPEST_ARGUMENT {
            true => self.write(tex)?,
            false => self.out.push_str(tex),
        }
        self.arguments -= 1;
        Ok(std::mem::replace(&mut self.out, outer))
    }

    /// Writes a heading.
    fn heading(&mut self, level: usize, tex: &str) -> Result<(), ReadError> {
        let words = self.words(tex)?;
        if self.arguments > 0 {
            self.out.push_str(&format!("\n{words}\n"));
            return Ok(());
        }
        if self.table.is_some() {
            self.end_table()?;
        }
        self.flush()?;
        self.prose.heading(level, &words)
    }

    /// Writes the open paragraphs.
    fn flush(&mut self) -> Result<(), ReadError> {
        let text = tidy(&std::mem::take(&mut self.out));
        let mut paragraphs = text.split("\n\n");
        paragraphs.try_for_each(|paragraph| self.prose.paragraph(paragraph))
    }

    /// The text up to a mark, and the rest after it.
    fn until<'t>(&mut self, text: &'t str, mark: &str) -> Option<(&'t str, &'t str)> {
        if self.endless.iter().any(|known| known == mark) {
            return None;
        }
        let parts = text.split_once(mark);
        // Within an argument, others may follow.
        if parts.is_none() && self.arguments == 0 && self.expansions == 0 {
            self.endless.push(mark.to_owned());
        }
        parts
    }

    /// Writes a letter or sign of babel's German, of which `text` is the rest after the quote.
    fn shorthand<'t>(&mut self, text: &'t str) -> &'t str {
        let (shown, rest) = characters::german(text).unwrap_or(("\"", text));
        self.out.push_str(shown);
        rest
    }

    /// Writes a formula on lines of its own.
    fn display(&mut self, formula: &str) {
        let formula = without_labels(formula);
        self.out.push_str(&format!("\n$${}$$\n", formula.trim()));
    }

    /// Copies the formula that a text begins with; returns the rest after it.
    fn formula<'t>(&mut self, text: &'t str) -> &'t str {
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
        self.out.push_str(formula);
        rest
    }
}

/// A formula without its labels.
fn without_labels(formula: &str) -> String {
    let mut out = String::new();
    let mut rest = formula;
    while let Some((before, after)) = rest.split_once("\\label{") {
        out.push_str(before);
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out.replace("\\nonumber", "").replace("\\notag", "")
}

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
            "## High water\n\nIt rises 5% – by $x_1 < 2$ each day [k]. (Or so.)\n- One\n- Two: three\n\na | b\n\nMüller, café"
        );
    }

    #[track_caller]
    fn check(tex: &str, text: &str) {
        assert_eq!(read(tex).text, text);
    }

    #[test]
    fn letters_and_accents() {
        check(
            r#"\AE sop, \OE uvre, \L\'od\'z, Dvo\v r\'ak, Erd\H os, na\"{\i}ve, \'\i ndice, Gar\c con, \k{a}, \d{u}, \TH or"#,
            "Æsop, Œuvre, Łódź, Dvořák, Erdős, naïve, índice, Garçon, ą, ụ, Þor",
        );
        check(
            r#"\copyright{} 2020, \textcopyright\ 2021, 20\,\textdegree C, \EUR{} 5, a\textasciitilde{}b, x\~{}y, ?`Qu\'e?"#,
            "© 2020, © 2021, 20 °C, € 5, a~b, x~y, ¿Qué?",
        );
        check(
            "\\usepackage[ngerman]{babel}\n\\begin{document}F\"ur die Stra\"se: \"`Gr\"o\"se\"'.\\end{document}",
            "Für die Straße: „Größe“.",
        );
        check("\"Für\" \"alle\"", "\"Für\" \"alle\"");
    }

    #[test]
    fn commands_of_the_document() {
        check(
            "\\newcommand{\\pump}{Kreisel\\-pumpe}\\def\\valve{ball valve}\n\\newcommand{\\of}[2][nine]{#2 at #1 bar}\n\
             \\begin{document}The \\pump{} and \\valve: \\of{open}, \\of[ten]{shut}.\\end{document}",
            "The Kreiselpumpe and ball valve: open at nine bar, shut at ten bar.",
        );
        let explosive = "\\def\\a{\\a\\a x}\\begin{document}\\a{}y\\end{document}";
        assert!(read(explosive).text.ends_with('y'));
    }

    #[test]
    fn verbatim_text_stays() {
        check(
            "\\section{A}\nSee \\verb|50%_\\x| and:\n\\begin{lstlisting}[language=Python]\n# 5% off\ndef f():\n    return \"--\"\n\\end{lstlisting}\nB%\nC",
            "## A\n\nSee 50%_\\x and:\n\n# 5% off\ndef f():\n    return \"--\"\n\nBC",
        );
        assert_eq!(
            read("\\begin{verbatim}\n# no heading\n\\end{verbatim}").title,
            None
        );
        check(
            "a\\begin{comment}\nhidden\n\\end{comment} b \\iffalse hidden \\fi c\\begin{tikzpicture}\\draw (0,0);\\end{tikzpicture}",
            "a b  c",
        );
    }

    #[test]
    fn formulas_stay() {
        check(
            "Let \\(\\frac{a}{b}\\) be.\n\\begin{equation}\\label{e}\n\\frac{a+b}{c} = \\alpha\n\\end{equation}\n\\[ x^2 \\]",
            "Let $\\frac{a}{b}$ be.\n\n$$\\frac{a+b}{c} = \\alpha$$\n\n$$x^2$$",
        );
    }

    #[test]
    fn tables() {
        check(
            "\\begin{tabular*}{\\textwidth}{@{\\extracolsep{\\fill}}lr}\\hline\n\\textbf{Pump} & Bar\\\\[2pt]\\hline\nseven & 9\\\\\n\
             \\multicolumn{2}{c}{Both} \\\\ \\cmidrule(lr){1-2}\n\\multirow{2}{*}{eight} & \\begin{tabular}{c}10\\\\max\\end{tabular}\n\\end{tabular*} End",
            "Pump | Bar\nPump: seven; Bar: 9\nPump: Both\nPump: eight; Bar: 10 max\n\nEnd",
        );
    }

    #[test]
    fn items_of_enumerations_have_their_numbers() {
        check(
            "\\begin{enumerate}\n\\item One\n\\begin{itemize}\n\\item a\n\\end{itemize}\n\\item[Else] b\n\\item Two\n\\end{enumerate}\n\
             \\begin{enumerate}[label=\\roman*, start=7]\n\\item Seven\n\\end{enumerate}\n\
             \\begin{description}\n\\item[Pump] moves water\n\\end{description}\n\\end{enumerate}\\item x",
            "1. One\n- a\n- Else: b\n2. Two\n7. Seven\n- Pump: moves water\n- x",
        );
    }

    #[test]
    fn arguments_that_are_not_shown() {
        check(
            "\\hypertarget{a}{%\n\\section{Rules}\\label{a}}\n\\setlength\\parskip{6pt}\\textcolor{red}{Red} \\parbox[t]{3cm}{box} {\\em old}, see \\ref{a}.",
            "## Rules\n\nRed box old, see [a].",
        );
        check(
            "\\SI{5}{\\kilo\\metre}, \\qty{3}{\\metre\\per\\square\\second}, \\SIrange{1}{2}{\\bar}, 10\\textsuperscript{6}, 3\\textsuperscript{rd}",
            "5 km, 3 m/s², 1–2 bar, 10^6, 3rd",
        );
        let slide = read(
            "\\title[Short]{Long\\thanks{x}}\\author{A \\and B}\\begin{document}\\begin{frame}{One}\n\\item<1-> a\n\\end{frame}\\end{document}",
        );
        has!(slide, title.as_deref(): Some("Long"), metadata["author"]: "A, B", text: "#### One\n\n- a");
    }

    #[test]
    fn references_and_citations_are_their_keys() {
        check(
            "As in \\cite{ito20, doe99}, \\citep[see][p.~3]{k}, \\citet*[12]{m}{\\em so}; Section~\\ref{s}, (\\eqref{e}), \\cref{a,b}, \\crefrange{c}{d}\\ref.",
            "As in [ito20, doe99], [see k, p. 3], [m, 12] so; Section [s], ([e]), [a, b], [c–d].",
        );
        check(
            "\\begin{thebibliography}{9}\\bibitem{ito20} Ito. \\bibitem[Doe(99)]{doe99} Doe.\\end{thebibliography}",
            "## References\n\n- [ito20] Ito.\n- [doe99] Doe.",
        );
    }

    #[test]
    fn addresses_keep_their_signs() {
        check(
            "See \\url{http://a_b.c/%20x%}, \\href{http://d.e/%20}{there} or \\nolinkurl{50%}.% a remark\n It \\href{% a remark\nx}{rises}.",
            "See http://a_b.c/%20x%, there or 50%.It rises.",
        );
    }

    #[test]
    fn theorems_have_their_names() {
        check(
            "\\begin{theorem}[Gauss] It holds.\\end{theorem}\\begin{proof}See.\\end{proof}\\begin{proof}[Proof of it]So.\\end{proof}\\begin{lem}\nSo.\\end{lem}",
            "Theorem (Gauss). It holds.\n\nProof. See.\n\nProof of it. So.\n\nLemma. So.",
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
