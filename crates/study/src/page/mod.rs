//! Self-contained pages of HTML, their tables and figures: dark where the reader's system is, readable on
//! a phone. Figures can be saved as SVG, and their data as CSV.

mod axis;
mod diagram;
mod export;

pub(crate) use axis::Axis;
pub(crate) use diagram::Diagram;

/// Colors that are distinct to most people, after Okabe and Ito, on light and on dark ground.
pub(crate) const COLORS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#888888", "#8a7a00",
];

/// The color of what others are compared with.
pub(crate) const PLAIN: &str = "#999999";

const STYLE: &str = ":root{color-scheme:light dark;--ink:#222;--ground:#fff;--faint:#666;--line:#ddd}\
@media(prefers-color-scheme:dark){:root{--ink:#ddd;--ground:#16181c;--faint:#999;--line:#3a3d44}}\
body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:var(--ink);background:var(--ground)}\
.box{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}\
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:var(--ground)}\
svg{max-width:100%;height:auto}.row{display:flex;flex-wrap:wrap;gap:1em}\
figure{margin:0 0 1em;max-width:100%}figcaption{color:var(--faint)}\
button{font:inherit;font-size:.85em;color:var(--faint);background:none;border:1px solid var(--line);border-radius:.3em}";

/// Saves what a figure shows, or its data.
const SCRIPT: &str = "document.addEventListener('click',e=>{const as=e.target.dataset&&e.target.dataset.save;if(!as)return;\
const f=e.target.closest('figure'),svg=as==='svg',\
text=svg?new XMLSerializer().serializeToString(f.querySelector('svg')):f.querySelector('.data').textContent,\
a=document.createElement('a');a.download=f.id+'.'+as;\
a.href=URL.createObjectURL(new Blob([text],{type:svg?'image/svg+xml':'text/csv'}));a.click();URL.revokeObjectURL(a.href)})";

/// A whole page.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n{body}<script>{SCRIPT}</script></body></html>\n",
        title = escaped(title),
    )
}

/// A table under a row of names, in a box of its own where it is wider than the page. Cells are escaped
/// already. A column in which no cell says anything, be it empty or a dash, is left out.
pub(crate) fn table<'n>(
    names: impl IntoIterator<Item = &'n str>,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let rows: Vec<Vec<String>> = rows.collect();
    let says = |column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(column));
        rows.is_empty() || cells.any(|cell| !cell.is_empty() && cell != "–")
    };
    let names = names.into_iter().enumerate();
    let named: Vec<(usize, &str)> = names.filter(|(column, _)| says(*column)).collect();
    let head = named
        .iter()
        .map(|(_, name)| format!("<th>{}</th>", escaped(name)));
    let lines = rows.iter().map(|row| {
        let cells = named.iter().filter_map(|(column, _)| row.get(*column));
        let cells = cells.map(|cell| format!("<td>{cell}</td>"));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    });
    let (head, lines) = (head.collect::<String>(), lines.collect::<String>());
    format!("<div class=\"box\"><table><tr>{head}</tr>\n{lines}</table></div>\n")
}

/// A diagram with its caption, which is escaped already, and what saves it. `name` is that of the
/// files that are saved.
pub(crate) fn figure(name: &str, diagram: &Diagram<'_>, caption: &str) -> String {
    format!(
        "<figure id=\"{}\">{}<figcaption>{caption} <button data-save=\"svg\">SVG</button> \
         <button data-save=\"csv\">CSV</button></figcaption><pre class=\"data\" hidden>{}</pre></figure>",
        file_name(name),
        diagram.svg(),
        escaped(&diagram.csv()),
    )
}

/// A name of which nothing is left that a file name or an id may not hold.
pub(crate) fn file_name(name: &str) -> String {
    let kept = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    name.chars().map(kept).collect()
}

/// A text, escaped for HTML.
pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_say_nothing_are_left_out() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["a", "–", ""]), row(["b", "–", "2"])];
        let html = table(["name", "k", "n"], rows.into_iter());
        let cells = "<tr><th>name</th><th>n</th></tr>\n<tr><td>a</td><td></td></tr>\n<tr><td>b</td><td>2</td></tr>\n";
        assert!(html.contains(cells), "{html}");
        assert!(table(["name"], std::iter::empty()).contains("<th>name</th>"));
    }
}
