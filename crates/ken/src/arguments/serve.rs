//! The flags of `ken serve` and of the keys of a server. It opens nothing.

use std::num::{NonZeroU32, NonZeroU64};

use clap::{Arg, Args, Subcommand};
use ken_server::Scope;

use super::answer::asking;
use crate::config::{Flag, Key, advanced, count, keys};

/// All settings that an answer depends on, and those of the server.
fn serving() -> Vec<Arg> {
    let own = keys![listen server_keys allowed_origins server_data keep_questions studies];
    let own: Vec<Arg> = own.map(|key| key.flag()).into();
    let watch = advanced(&[Key::calibration, Key::watch_share, Key::watch_judge]);
    let spans = advanced(&[Key::otlp_endpoint, Key::otlp_content]);
    let evidence = advanced(&[Key::evidence_place, Key::evidence_words]);
    let load = advanced(&keys![parallel queue deadline idle_timeout model_wait]);
    [own, asking(), evidence, watch, spans, load].concat()
}

#[derive(Debug, Args)]
#[command(args = serving(), args_conflicts_with_subcommands = true, after_long_help = "\
Examples:
  ken serve --corpus notes.ken
  ken serve --corpus notes.ken --corpus wiki=big/wiki.ken --policy prompt
  ken serve --corpus notes.ken --model http://127.0.0.1:8000/v1 --listen 127.0.0.1:9000
  ken serve --corpus notes.ken --server-data uploads
  ken serve --corpus notes.ken --server-data uploads --keep-questions
  ken serve --corpus notes.ken --studies measured
  ken serve --corpus notes.ken --policy certainty@0.4 --calibration guarantee.json
  ken serve --corpus notes.ken --otlp-endpoint http://127.0.0.1:4318
  ken serve key make \"chat window\" --scope ask

Clients of OpenAI's API find it at http://127.0.0.1:8484/v1; every policy is a model there, such as \
ken/always or ken/prompt. One line of JSON on stderr tells of each request. New generations of a \
corpus are served as soon as they are published. Ctrl-C ends it when what is being answered is \
answered, after ten seconds at the latest.

The last 10,000 questions are shown by /v1/ken/traces: route, reason, tokens and times. The log and, \
unless --keep-questions is given, the traces hold no question, no answer and no title. A POST to \
/v1/ken/reload reads the settings again, and serves the model, corpora and policies that they name; \
who is being answered is answered as before.")]
pub(crate) struct ServeArguments {
    #[command(subcommand)]
    pub(crate) verb: Option<ServeVerb>,
}

/// What `ken serve` does besides serving.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeVerb {
    /// Make, list and revoke the keys that open a server
    #[command(subcommand)]
    Key(KeyVerb),
    /// Serve an agent that starts ken, by MCP on stdin and stdout
    #[command(args = asking(), after_long_help = "\
Examples:
  ken serve mcp --corpus notes.ken
  ken serve mcp --corpus notes.ken --policy prompt --model ./my-model.gguf

The tools are search, fetch, ask and knows. A server offers the same at /mcp.")]
    Mcp,
}

/// What can be done with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyVerb {
    /// Make a key, and print it once
    Make(MakeKeyArguments),
    /// List the keys, which no one can read any more
    #[command(arg = Key::server_keys.flag(), after_long_help = "\
Examples:
  ken serve key list")]
    List,
    /// Revoke a key; a running server refuses it within a second
    #[command(arg = Key::server_keys.flag(), after_long_help = "\
Examples:
  ken serve key revoke 3f6c2a91d0e4")]
    Revoke {
        /// Its id, as listed
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, Args)]
#[command(args = [Key::server_keys.flag()], after_long_help = "\
Examples:
  ken serve key make \"chat window\"
  ken serve key make agent --scope search --only notes --days 30
  ken serve key make importer --scope write --only notes
  ken serve key make prometheus --scope admin
  ken serve key make trial --requests-per-minute 20 --tokens-per-day 100000")]
pub(crate) struct MakeKeyArguments {
    /// What the key is for
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// What it allows: ask, search, write (uploads, changes of corpora), admin (metrics, all traces,
    /// evaluation questions, reload)
    #[arg(
        long,
        value_name = "SCOPES",
        value_delimiter = ',',
        default_value = "ask,search"
    )]
    pub(crate) scope: Vec<Scope>,

    /// Only for the corpus of this name; may be repeated
    #[arg(long, value_name = "CORPUS")]
    pub(crate) only: Vec<String>,

    /// Days until it expires
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>)]
    pub(crate) days: Option<NonZeroU32>,

    /// Most requests a minute
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>)]
    pub(crate) requests_per_minute: Option<NonZeroU32>,

    /// Most tokens a day, read and written
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>)]
    pub(crate) tokens_per_day: Option<NonZeroU64>,
}
