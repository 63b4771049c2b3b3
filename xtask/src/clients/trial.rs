//! `cargo xtask clients try`: tries clients that others wrote, in pinned versions, against running servers. The
//! scripts in `xtask/clients` start the servers and say what is tried; this provides what they need.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{REQUIREMENTS, ensure_modules, node_of};
use crate::bench::{build_program, target_folder};
use crate::{environment, models, run};

/// What pip installs besides the official clients, pinned, by environment: the frameworks do not agree on a version
/// of OpenAI's client.
const ENVIRONMENTS: [(&str, &[&str]); 3] = [
    (
        "frameworks",
        &[
            "haystack-ai==3.4.1",
            "instructor==1.17.0",
            "langchain-openai==1.7.4",
            "openai-agents==0.24.0",
            "openai==3.3.0",
            "pydantic-ai-slim[openai]==2.38.0",
            "smolagents[openai]==1.26.0",
        ],
    ),
    ("litellm", &["litellm[proxy]==1.108.7"]),
    // The last package is published as sources only, and needs no compiler.
    (
        "others",
        &[
            "llama-index-llms-openai-like==0.8.1",
            "lm-eval[api]==0.4.13",
            "--no-binary=rouge-score,sqlitedict,word2number",
        ],
    ),
];

/// What npm installs, pinned.
const PACKAGES: [&str; 5] = [
    "@ai-sdk/openai-compatible@3.0.92",
    "@modelcontextprotocol/inspector@2.12.0",
    "ai@7.0.173",
    "openai@7.57.0",
    "zod@4.6.7",
];

/// Tries all clients, or those that `options` name. Fails if one of them does.
pub(crate) fn try_out(root: &Path, options: &[&str]) -> Result<()> {
    let mut command = Command::new(models::find_python()?);
    command.arg(root.join("xtask/clients/trial.py"));
    let clients = environment::ensure_installed("clients", &REQUIREMENTS)?;
    let python = environment::program(&clients, "python");
    let node = node_of(&python)?;
    command.arg("--clients").arg(&python);
    command.arg("--node").arg(&node.program);
    command.arg("--modules").arg(ensure_modules(
        &node,
        &PACKAGES.join("+").replace('/', "-"),
        &PACKAGES,
    )?);
    for (name, requirements) in ENVIRONMENTS {
        let folder = environment::ensure_installed(&format!("clients-{name}"), requirements)?;
        let python = environment::program(&folder, "python");
        command.arg(format!("--{name}")).arg(python);
    }
    let models = models::ensure()?;
    command.arg("--embedder").arg(models.join(models::ENCODER));
    if !options.contains(&"--model") {
        command.arg("--model").arg(models.join(models::DECODER));
    }
    if !options.contains(&"--ken") {
        command.arg("--ken").arg(build_program(root)?);
    }
    if !options.contains(&"--out") {
        command
            .arg("--out")
            .arg(target_folder(root).join("clients.csv"));
    }
    run(command.args(options))
}
