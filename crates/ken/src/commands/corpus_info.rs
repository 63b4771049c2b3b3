//! What a corpus holds, for people or as JSON.

use crate::failure::Result;
use ken_corpus::CorpusInfo;

use crate::output;

pub(super) fn show_info(info: &CorpusInfo, json: bool) -> Result<()> {
    if json {
        return output::json(info);
    }
    output::line(format!(
        "generation {}: {}, {}, {} pruned, {}",
        info.generation,
        output::counted(info.documents, "document"),
        output::counted(info.passages, "passage"),
        info.pruned,
        output::size(info.bytes)
    ))?;
    output::line(format!(
        "embedded by {} ({} dimensions), segmented by {}, dense search {}",
        info.embedder, info.dimensions, info.segmentation, info.dense
    ))?;
    if !info.scores.is_empty() {
        let names: Vec<&str> = info.scores.iter().map(String::as_str).collect();
        output::line(format!("scores of passages: {}", names.join(", ")))?;
    }
    if info.shards.len() < 2 {
        return Ok(());
    }
    let rows = info.shards.iter().map(|shard| {
        vec![
            shard.id.to_string(),
            shard.documents.to_string(),
            shard.passages.to_string(),
            output::size(shard.bytes),
        ]
    });
    output::columns("shard|documents|passages|size", rows)
}
