//! Jupyter notebooks: the cells in order, with Markdown as is, code with its lines, and the short texts
//! that the code printed.

use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::format::Format;
use crate::html::{self, HtmlPart};
use crate::jsonl;
use crate::place::Place;
use crate::prose::{Prose, marked_headings};
use crate::record::Contents;
use crate::terminal;
use crate::watch::Watch;

/// Longer outputs are cut, in characters.
const LONGEST_OUTPUT: usize = 1000;

/// The document of a notebook.
pub(crate) fn contents(text: &str, place: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    let broken = |reason: String| ReadError::broken(&place.path, Format::Notebook, reason);
    jsonl::check_values(text, place, watch)?;
    let notebook: Value = serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
    // Before version 4 the cells stood in worksheets.
    let sheets = list(&notebook, "worksheets");
    let old = sheets.iter().flat_map(|sheet| list(sheet, "cells"));
    let cells: Vec<&Value> = list(&notebook, "cells").iter().chain(old).collect();
    if cells.is_empty() && notebook.get("nbformat").is_none() {
        return Err(broken("it has no cells".to_owned()));
    }
    let mut prose = Prose::new(place, watch);
    let mut title = None;
    for cell in cells {
        match cell.get("cell_type").and_then(Value::as_str) {
            Some("code") => {
                let source = lines(cell.get("source").or_else(|| cell.get("input")));
                prose.paragraph(&source)?;
                for output in list(cell, "outputs") {
                    let shown = shown(output, watch)?;
                    if !shown.trim().is_empty() {
                        prose.paragraph(&format!("Output: {}", cut(shown.trim())))?;
                    }
                }
            }
            Some("heading") => {
                let level = cell.get("level").and_then(Value::as_u64).unwrap_or(1);
                let level = usize::try_from(level).unwrap_or(1);
                prose.heading(level, &lines(cell.get("source")))?;
            }
            _ => {
                let source = lines(cell.get("source"));
                title = title.or_else(|| heading(&source));
                prose.part(&source, &marked_headings(&source))?;
            }
        }
    }
    let metadata = notebook.get("metadata");
    let given = metadata.and_then(|metadata| metadata.get("title")?.as_str());
    let title = given.map(str::to_owned).or(title);
    let language =
        metadata.and_then(|metadata| metadata.get("kernelspec")?.get("language")?.as_str());
    let mut fields = Map::new();
    if let Some(language) = language {
        fields.insert("language".to_owned(), language.into());
    }
    Ok(prose.finish(title, fields))
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    let list = value.get(name).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// A text, or the lines of one.
fn lines(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// The text of an output.
fn shown(output: &Value, watch: &Watch) -> Result<String, ReadError> {
    if let Some(name) = output.get("ename").and_then(Value::as_str) {
        return Ok(format!("{name}: {}", lines(output.get("evalue"))));
    }
    if let Some(printed) = output.get("text") {
        return Ok(terminal::shown(&lines(Some(printed))).into_owned());
    }
    let data = output.get("data").unwrap_or(output);
    let is_alone = data.as_object().is_none_or(|forms| forms.len() == 1);
    let says_something =
        |text: &String| !text.trim().is_empty() && (is_alone || !is_name_of_object(text));
    let forms = ["text/plain", "text/markdown", "text/latex"];
    let mut texts = forms.into_iter().map(|form| lines(data.get(form)));
    match texts.find(says_something) {
        Some(text) => Ok(terminal::shown(&text).into_owned()),
        None => {
            let page = lines(data.get("text/html"));
            Ok(html::contents(&page, HtmlPart::All, watch)?.text)
        }
    }
}

/// Whether a text may only name what another form shows, as `<Figure size 640x480 with 1 Axes>` does.
fn is_name_of_object(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('<') && text.ends_with('>') && !text.contains('\n')
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_OUTPUT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first heading of Markdown.
fn heading(markdown: &str) -> Option<String> {
    let line = markdown.lines().find(|line| line.starts_with('#'))?;
    let words = line
        .trim_start_matches('#')
        .trim()
        .trim_end_matches('#')
        .trim();
    (!words.is_empty()).then(|| words.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ken_testing::has;

    use super::*;

    fn read(text: &str) -> Result<Contents, ReadError> {
        contents(text, &Place::whole(Path::new("n.ipynb")), &Watch::default())
    }

    #[test]
    fn cells_in_order() {
        let notebook = r##"{"nbformat":4,"metadata":{"kernelspec":{"language":"python"}},"cells":[
            {"cell_type":"markdown","source":["# Tides\n","\n","High *water*."]},
            {"cell_type":"code","source":"x = 1\nx","outputs":[
                {"output_type":"execute_result","data":{"image/png":"AAAA","text/plain":["1"]}},
                {"output_type":"stream","text":["two\n"]},
                {"output_type":"error","ename":"ValueError","evalue":"no"}]}]}"##;
        let contents = read(notebook).unwrap();
        has!(contents, title.as_deref(): Some("Tides"),
            text: "# Tides\n\nHigh *water*.\n\nx = 1\nx\n\nOutput: 1\n\nOutput: two\n\nOutput: ValueError: no",
            metadata["language"]: "python");
    }

    #[test]
    fn outputs_without_plain_text_or_with_colors() {
        let notebook = r##"{"nbformat":4,"cells":[{"cell_type":"code","source":"x","outputs":[
            {"output_type":"display_data","data":{"text/markdown":["**nine**"],"text/html":"<b>nine</b>"}},
            {"output_type":"display_data","data":{"text/plain":"<Figure size 640x480 with 1 Axes>","image/png":"AAAA"}},
            {"output_type":"execute_result","data":{"text/plain":"<Quantity 9 bar>"}},
            {"output_type":"display_data","data":{"text/plain":"<IPython.core.display.HTML object>","text/html":"<p>ten <b>bar</b>"}},
            {"output_type":"stream","text":"\u001b[1;31mred\u001b[0m [1]"}]}]}"##;
        let text = read(notebook).unwrap().text;
        assert_eq!(
            text,
            "x\n\nOutput: **nine**\n\nOutput: <Quantity 9 bar>\n\nOutput: ten bar\n\nOutput: red [1]"
        );
    }

    #[test]
    fn what_is_no_notebook() {
        assert!(read("{}").is_err());
        assert!(read("{\"cells\":").is_err());
        assert!(read(&"[".repeat(1 << 20)).is_err());
    }
}
