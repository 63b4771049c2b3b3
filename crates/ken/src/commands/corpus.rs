//! `ken corpus`: looks into a corpus, checks it, and changes what it holds.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{
    Active, ByteProgress, Corpus, CorpusError, CorpusInfo, Damage, ListedDocument, Writer, backup,
    history, verify,
};
use ken_ingest::compact;
use ken_setup::CorpusAddress;
use ken_storage::AtomicFile;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::arguments::corpus::CorpusVerb;
use crate::commands::corpus_info::show_info;
use crate::commands::push;
use crate::failure::{Context, Failure, Reported, Result};
use crate::output;
use crate::progress::{Display, Unit};
use crate::session::Session;

pub(crate) fn run(verb: &CorpusVerb, session: &Session<'_>) -> Result<()> {
    if let (CorpusVerb::Info, CorpusAddress::Milvus(address)) = (verb, session.settings.corpus()?) {
        return show_info(
            session.setup().collection(address, Active::All)?.info(),
            session.json,
        );
    }
    let corpus = session.settings.folder()?;
    match verb {
        CorpusVerb::Info => {}
        CorpusVerb::Push(arguments) => return push::run(corpus, arguments, session),
        CorpusVerb::Verify { repair, .. } => return check(corpus, *repair, session.json),
        CorpusVerb::List {
            prefix,
            limit,
            after,
            ..
        } => {
            let corpus = Corpus::open(corpus)?;
            let documents = corpus.documents(after.as_deref(), false);
            return list(documents, prefix, limit.unwrap_or(usize::MAX), session.json);
        }
        CorpusVerb::History => return show_history(corpus, session.json),
        CorpusVerb::Backup { to } => return back_up(corpus, to, session),
        CorpusVerb::Export { to, .. } => return export(corpus, to.as_deref(), session.stop),
        CorpusVerb::Rollback { generation, .. } => {
            Writer::rollback(corpus, *generation)?;
        }
        CorpusVerb::Delete { documents, .. } => {
            Writer::open(corpus)?.delete(documents)?;
        }
        CorpusVerb::Compact => compact_all(corpus, session.stop)?,
        CorpusVerb::Join { parts, partial } => {
            let mut show = drawn("joining");
            ken_corpus::join(corpus, parts, !partial, &mut show)?;
        }
    }
    show_info(&CorpusInfo::read(corpus)?, session.json)
}

/// Draws how many of all bytes are done, until it is dropped.
fn drawn(label: &'static str) -> impl FnMut(ByteProgress) {
    let mut display = Display::new();
    move |step| display.show(label, Unit::Bytes, step.bytes, Some(step.bytes_total))
}

fn compact_all(corpus: &Path, stop: &AtomicBool) -> Result<()> {
    let mut writer = Writer::open(corpus)?;
    let mut display = Display::new();
    let (_, stopped) = compact(
        &mut writer,
        &mut |step| display.show_items("compacting", step.passages, step.passages_total),
        stop,
    )?;
    match stopped {
        false => Ok(()),
        true => Err(Failure::resumable(
            "stopped before all shards were compacted",
        )),
    }
}

fn back_up(corpus: &Path, to: &Path, session: &Session<'_>) -> Result<()> {
    let done = backup(corpus, to, &mut drawn("copying"), session.stop)?;
    let done = done.ok_or_else(|| Failure::resumable("stopped before the backup was complete"))?;
    if session.json {
        return output::json(&done);
    }
    let [copied, all] = [done.copied_bytes, done.bytes].map(output::size);
    let (generation, to) = (done.generation, to.display());
    let files = output::counted(done.copied_files, "file");
    output::line(format!(
        "backed up generation {generation} to {to}: {files} ({copied}) copied, {all} in all"
    ))
}

fn check(corpus: &Path, repair: bool, json: bool) -> Result<()> {
    let damaged = verify(corpus, &mut drawn("checking"))?;
    if repair && !damaged.is_empty() {
        Writer::repair(corpus, &damaged)?;
        return show_info(&CorpusInfo::read(corpus)?, json);
    }
    if json {
        output::json(&json!({ "ok": damaged.is_empty(), "damaged": damaged }))?;
    } else {
        for damage in &damaged {
            output::line(described(damage))?;
        }
        if damaged.is_empty() {
            output::line("all files are intact")?;
        }
    }
    match damaged.is_empty() {
        true => Ok(()),
        false => Err(Reported.into()),
    }
}

/// A damaged file in one line, and what it keeps from working, if not everything.
fn described(damage: &Damage) -> String {
    let Damage { file, reason, .. } = damage;
    let described = format!("{}: {reason}", file.display());
    if damage.current {
        return described;
    }
    let numbers: Vec<String> = damage.generations.iter().map(u64::to_string).collect();
    format!(
        "{described} (needed to roll back to {})",
        numbers.join(", ")
    )
}

fn list(
    documents: impl Iterator<Item = std::result::Result<ListedDocument, CorpusError>>,
    prefix: &str,
    limit: usize,
    json: bool,
) -> Result<()> {
    let chosen = documents.filter(|document| match document {
        Ok(document) => document.id.starts_with(prefix),
        Err(_) => true,
    });
    for document in chosen.take(limit) {
        let document = document?;
        if json {
            output::json(&document)?;
            continue;
        }
        let passages = output::counted(document.passages, "passage");
        let pruned = match document.pruned {
            0 => String::new(),
            pruned => format!(", {pruned} pruned"),
        };
        let ListedDocument { id, title, .. } = document;
        output::line(format!("{id}  {title}  ({passages}{pruned})"))?;
    }
    Ok(())
}

fn show_history(corpus: &Path, json: bool) -> Result<()> {
    let mut rows = Vec::new();
    for past in history(corpus)? {
        if json {
            output::json(&past)?;
            continue;
        }
        rows.push(vec![
            past.generation.to_string(),
            published(past.created_unix_s),
            past.change.to_string(),
            output::counted(past.documents, "document"),
            output::counted(past.passages, "passage"),
            format!("{} pruned", past.pruned),
            if past.current { "current" } else { "" }.to_owned(),
        ]);
    }
    output::table(rows)
}

/// A time in seconds since 1970 as people read it, in UTC.
fn published(unix_s: u64) -> String {
    let time = i64::try_from(unix_s).ok();
    let time = time.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    let text = time.and_then(|time| time.format(&Rfc3339).ok());
    text.unwrap_or_default()
}

/// Exports to a file that appears when it is complete, or to stdout.
fn export(corpus: &Path, to: Option<&Path>, stop: &AtomicBool) -> Result<()> {
    let corpus = Corpus::open(corpus)?;
    let Some(path) = to else {
        return write_passages(&corpus, stop, &mut |line| output::json_line(line));
    };
    let cannot = || format!("cannot write {}", path.display());
    let mut file = AtomicFile::output(path)?;
    write_passages(&corpus, stop, &mut |line| {
        writeln!(file, "{line}").context(cannot)
    })?;
    Ok(file.commit()?)
}

fn write_passages(
    corpus: &Corpus,
    stop: &AtomicBool,
    write: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    for passage in corpus.passages() {
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::stopped("stopped before the last passage"));
        }
        let passage = passage?;
        let mut line = json!({
            "id": passage.id,
            "title": passage.title,
            "contents": passage.text,
            "doc_id": passage.doc_id,
            "metadata": passage.metadata,
        });
        output::add_location(&mut line, &passage.location);
        write(&line.to_string())?;
    }
    Ok(())
}
