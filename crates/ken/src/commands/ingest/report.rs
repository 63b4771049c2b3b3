//! The report of an ingest: what it read and left out, and the state of the corpus.

use ken_documents::{Notice, Notices, ReadError, SkipReason, Skipped, Unread};
use ken_ingest::{Preview, Report};
use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;
use crate::terminal::remark;

/// How many skipped files are listed one by one.
const MOST_TOLD: usize = 20;

/// What was not read of folders and archives.
pub(super) struct LeftOut {
    /// Links, special files, and folders that may not be read.
    pub(super) skipped: usize,
    /// Files and folders that patterns exclude, or that programs can make again.
    pub(super) excluded: usize,
    /// Files in formats that ken does not read.
    pub(super) unread: Unread,
    /// What readers report about the files that they read.
    pub(super) notices: Notices,
}

impl LeftOut {
    /// The unread files, by extension.
    fn unread(&self) -> Value {
        let kinds = self.unread.kinds().into_iter();
        kinds
            .map(|kind| {
                json!({
                    "extension": kind.extension,
                    "files": kind.files,
                    "example": kind.example.to_string_lossy(),
                })
            })
            .collect()
    }
}

/// Reports what was not read of the folders.
pub(super) fn tell_of_skipped(skipped: &[Skipped]) {
    for Skipped { path, reason } in skipped.iter().take(MOST_TOLD) {
        let remedy = match reason {
            SkipReason::LinkOutside => "; --follow-links reads what it leads to",
            SkipReason::LinkToFolder => "; name that folder to read it",
            SkipReason::LinkToNothing | SkipReason::Special | SkipReason::Unreadable => "",
        };
        remark(format_args!(
            "skipped: {}: {reason}{remedy}",
            path.display()
        ));
    }
    if let more @ 1.. = skipped.len().saturating_sub(MOST_TOLD) {
        remark(format_args!(
            "skipped: {more} more links, special files and folders"
        ));
    }
}

/// Reports a document that is left out.
pub(super) fn warn(error: &ReadError) {
    remark(format_args!("skipped: {error}"));
}

/// The changes of documents in one line; a run without sync shows no zeros for it.
fn counts(added: usize, moved: usize, replaced: usize, deleted: usize) -> String {
    let mut counts = output::counted(added, "document") + " added";
    if moved > 0 {
        counts += &format!(", {moved} moved");
    }
    counts += &format!(", {replaced} replaced");
    if deleted > 0 {
        counts += &format!(", {deleted} deleted");
    }
    counts
}

pub(super) fn show_preview(preview: &Preview, json: bool) -> Result<()> {
    if preview.interrupted {
        return Err(Failure::stopped("stopped before everything was read"));
    }
    if json {
        return output::json(&json!({
            "dry_run": true,
            "added": preview.added,
            "moved": preview.moved.iter().map(|(old, new)| json!({"from": old, "to": new})).collect::<Vec<_>>(),
            "replaced": preview.replaced,
            "deleted": preview.deleted,
            "unchanged": preview.unchanged,
            "broken": preview.broken,
        }));
    }
    for (change, ids) in [
        ("add", &preview.added),
        ("replace", &preview.replaced),
        ("delete", &preview.deleted),
    ] {
        for id in ids {
            output::line(format!("{change:<8}{id}"))?;
        }
    }
    for (old, new) in &preview.moved {
        output::line(format!("move    {old} -> {new}"))?;
    }
    let counts = counts(
        preview.added.len(),
        preview.moved.len(),
        preview.replaced.len(),
        preview.deleted.len(),
    );
    let unchanged = preview.unchanged;
    output::sentence(format!(
        "nothing was changed; without --dry-run: {counts}, {unchanged} unchanged"
    ))
}

pub(super) fn show(report: &Report, left_out: &LeftOut, session: &Session<'_>) -> Result<()> {
    let notices = left_out.notices.take();
    if session.json {
        // An interrupted run ends in an error object instead.
        if report.interrupted {
            return Ok(());
        }
        return output::json(&as_json(report, left_out, &notices, session));
    }
    let changes = counts(report.added, report.moved, report.replaced, report.deleted);
    let (unchanged, generation) = (report.unchanged, report.generation);
    let written = output::counted(report.passages, "passage");
    output::sentence(format!(
        "{changes}, {unchanged} unchanged; {written} written; generation {generation}"
    ))?;
    if report.not_synced {
        output::sentence("nothing was deleted, since not everything could be read")?;
    }
    if report.broken > 0 {
        let broken = output::counted(report.broken, "document");
        output::line(format!("{broken} could not be read"))?;
    }
    if session.quiet {
        return Ok(());
    }
    if left_out.excluded > 0 {
        output::line(format!("excluded files and folders: {}", left_out.excluded))?;
    }
    let unread = left_out.unread.to_string();
    if !unread.is_empty() {
        output::sentence(format!("files of formats that are not read: {unread}"))?;
    }
    for notice in notices.iter().take(MOST_TOLD) {
        output::sentence(format!("note: {notice}"))?;
    }
    if let more @ 1.. = notices.len().saturating_sub(MOST_TOLD) {
        output::line(format!("note: {more} more files were not read as they are"))?;
    }
    if report.other_shards > 0 {
        let others = output::counted(report.other_shards, "document");
        output::line(format!("in other shards: {others}"))?;
    }
    if report.longer_than_embedder > 0 {
        let longer = output::counted(report.longer_than_embedder, "passage");
        output::sentence(format!(
            "longer than the embedder reads: {longer}; --segment auto would cut them"
        ))?;
    }
    Ok(())
}

fn as_json(
    report: &Report,
    left_out: &LeftOut,
    notices: &[Notice],
    session: &Session<'_>,
) -> Value {
    json!({
        "corpus": session.settings.corpus,
        "generation": report.generation,
        "documents": {
            "added": report.added,
            "moved": report.moved,
            "replaced": report.replaced,
            "deleted": report.deleted,
            "unchanged": report.unchanged,
        },
        "broken": report.broken,
        "skipped": left_out.skipped,
        "excluded": left_out.excluded,
        "unread": left_out.unread(),
        "notices": notices.iter().map(Notice::to_string).collect::<Vec<_>>(),
        "other_shards": report.other_shards,
        "passages": report.passages,
        "reused": report.reused,
        "longer_than_embedder": report.longer_than_embedder,
    })
}
