//! Reports as a self-contained HTML page: dark if the reader's system is, readable on a phone, and with tables
//! of the numbers in place of figures if scripts are off.

use crate::{FIGURE_SCRIPT, Figure, Report, Section, Table};

const STYLE: &str = include_str!("page.css");

/// Draws the figures of a page, and saves them and their data.
const SCRIPT: &str = include_str!("page.js");

impl Report {
    /// The page.
    pub fn html(&self) -> String {
        let title = escaped(&self.title);
        let is_figure = |section: &Section| matches!(section, Section::Figure(_));
        let together = |section: &Section, next: &Section| is_figure(section) && is_figure(next);
        let body = self.sections.chunk_by(together).map(|sections| {
            let html: String = sections.iter().map(section).collect();
            if is_figure(&sections[0]) {
                format!("<div class=\"row\">{html}</div>\n")
            } else {
                html
            }
        });
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{title}</title>\
             <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n{}{}\
             <script type=\"module\">{FIGURE_SCRIPT}{SCRIPT}</script></body></html>\n",
            body.collect::<String>(),
            self.measured(),
        )
    }

    /// The conditions of the measurements.
    fn measured(&self) -> String {
        if self.provenance.is_empty() {
            return String::new();
        }
        let terms = self.provenance.iter().map(|(name, value)| [name, value]);
        format!(
            "<details><summary>Measured with</summary>{}</details>\n",
            list(terms)
        )
    }
}

fn section(section: &Section) -> String {
    match section {
        Section::Heading(text) => format!("<h2>{}</h2>\n", escaped(text)),
        Section::Subheading(text) => format!("<h3>{}</h3>\n", escaped(text)),
        Section::Text(text) => format!("<p>{}</p>\n", escaped(text)),
        Section::Note(text) => format!("<p class=\"note\">{}</p>\n", escaped(text)),
        Section::Terms(terms) => list(terms.iter().map(|(name, value)| [name, value])),
        Section::Table(table) => self::table(table),
        Section::Details(table) => details(table),
        Section::Figure(figure) => self::figure(figure),
    }
}

fn list<'t>(terms: impl Iterator<Item = [&'t String; 2]>) -> String {
    let terms = terms.map(|term| {
        let [name, value] = term.map(|text| escaped(text));
        format!("<dt>{name}</dt><dd>{value}</dd>")
    });
    format!("<dl>{}</dl>\n", terms.collect::<String>())
}

/// The table in a box of its own, since it may be wider than the page; empty without rows.
fn table(table: &Table) -> String {
    let row = |cells: &[String], tag: &str| {
        let cells = cells
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    match table.shown().split_first() {
        None => String::new(),
        Some((head, rows)) => {
            let rows: String = rows.iter().map(|cells| row(cells, "td")).collect();
            let head = row(head, "th");
            format!("<div class=\"box\"><table>{head}{rows}</table></div>\n")
        }
    }
}

fn details(table: &Table) -> String {
    let rows = self::table(table);
    match rows.as_str() {
        "" => rows,
        rows => format!(
            "<details><summary>{}</summary>{rows}</details>\n",
            escaped(&table.name)
        ),
    }
}

fn figure(figure: &Figure) -> String {
    // In a script, only the escapes of JSON apply.
    let json = serde_json::to_string(figure).unwrap_or_default();
    format!(
        "<figure id=\"{}\"><script type=\"application/json\">{}</script><figcaption>{}</figcaption>\
         <details><summary>In numbers</summary>{}</details></figure>\n",
        file_name(&figure.name),
        json.replace('<', "\\u003c"),
        escaped(&figure.caption),
        table(&figure.numbers()),
    )
}

/// A name without the characters that a file name or an id may not hold.
fn file_name(name: &str) -> String {
    let kept = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    name.replace(|letter| !kept(letter), "-")
}

/// A text, escaped for HTML.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use crate::{Axis, Column, Figure, Report, Section, Series, Table};

    #[test]
    fn nothing_breaks_out_of_a_page() {
        let evil = "</script><b>&\"c\"";
        let column = Column::plain("name", evil);
        let table = Table {
            name: evil.to_owned(),
            columns: vec![column.clone(), column],
            rows: vec![vec![evil.into(), "–".into()], vec![evil.into(), "".into()]],
        };
        let axes = [Axis::share(evil), Axis::around(evil)];
        let series = [Series::line(evil, 0, [(0.0, 1.0)])];
        let figure = Figure::new(evil, evil, axes, series);
        let mut report = Report::new(evil, [table.into(), figure.into()]);
        report.provenance.insert(evil.to_owned(), evil.to_owned());
        let page = report.html();
        assert!(page.contains("<h1>&lt;/script&gt;&lt;b&gt;&amp;&quot;c&quot;</h1>"));
        assert!(!page.contains("<b>"), "{page}");
        assert_eq!(
            page.matches("</script>").count(),
            2,
            "of the data and the program"
        );
        assert!(page.contains("<figure id=\"--script--b---c-\">"), "{page}");
    }

    #[test]
    fn columns_that_say_nothing_are_left_out() {
        let column = |name: &str| Column::plain(name, name);
        let table = Table {
            name: String::new(),
            columns: vec![column("name"), column("k"), column("n")],
            rows: vec![
                vec!["a".into(), None::<f64>.into(), "".into()],
                vec!["b".into(), None::<f64>.into(), 2_usize.into()],
            ],
        };
        let cells = "<tr><th>name</th><th>n</th></tr>\n<tr><td>a</td><td></td></tr>\n<tr><td>b</td><td>2</td></tr>\n";
        let folded = Section::Details(table.clone());
        assert!(Report::new("t", [table.into()]).html().contains(cells));
        let report = Report::new("t", [folded]);
        let opened = format!("<details><summary></summary><div class=\"box\"><table>{cells}");
        assert!(report.html().contains(&opened));
        assert_eq!(report.text(str::to_owned, usize::MAX), "");
    }
}
