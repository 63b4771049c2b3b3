//! Self-contained pages of HTML, their tables and diagrams.

mod diagram;

pub(crate) use diagram::{Axis, Diagram};

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid #ddd}\
th:first-child,td:first-child{text-align:left}\
svg{max-width:100%}svg text{font:12px sans-serif;fill:#444}\
.row{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0}figcaption{color:#555}";

/// A whole page.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n{body}</body></html>\n",
        title = escaped(title),
    )
}

/// A table under a row of names. Cells are escaped already.
pub(crate) fn table<'n>(
    names: impl IntoIterator<Item = &'n str>,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let names = names
        .into_iter()
        .map(|name| format!("<th>{}</th>", escaped(name)));
    let rows = rows.map(|cells| {
        let cells = cells.iter().map(|cell| format!("<td>{cell}</td>"));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    });
    let (names, rows) = (names.collect::<String>(), rows.collect::<String>());
    format!("<table><tr>{names}</tr>\n{rows}</table>\n")
}

/// A diagram with its caption, which is escaped already.
pub(crate) fn figure(diagram: &Diagram<'_>, caption: &str) -> String {
    format!(
        "<figure>{}<figcaption>{caption}</figcaption></figure>",
        diagram.svg()
    )
}

/// A text, escaped for HTML.
pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
