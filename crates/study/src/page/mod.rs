//! Pages of HTML that need nothing else: how they begin, and the diagrams on them.

mod diagram;

pub(crate) use diagram::{Axis, Diagram};

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid #ddd}\
th:first-child,td:first-child{text-align:left}\
svg{max-width:100%}svg text{font:12px sans-serif;fill:#444}\
.row{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0}figcaption{color:#555}";

/// How a page begins: all up to its first paragraph.
pub(crate) fn begin(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n",
        title = escaped(title),
    )
}

/// A text as it is written between tags.
pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
