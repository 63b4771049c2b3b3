// What is pruned of a corpus: by which run, which documents; pruning and restoring.

import { get, post } from "./api.js";
import { button, field, make, notice, table, told } from "./dom.js";
import { count, counted, measured, share } from "./format.js";

/** Documents that are listed. */
const LISTED = 50;

/**
 * @param {string} path of the corpus
 * @param {import("./access.js").Access} access
 * @param {boolean} mayWrite
 * @param {() => Promise<void>} changed called when something was pruned or restored
 */
export function prunedPanel(path, access, mayWrite, changed) {
  const shown = make("div");

  /** @param {string} kind @param {any} body @param {string} what */
  async function change(kind, body, what) {
    const job = await post(`${path}/${kind}`, body);
    await changed();
    notice(job.status === "done"
      ? `${what} as of generation ${job.generation}.`
      : "Other changes of the corpus come first; this one is done without you.");
  }
  /** @param {string} label @param {any} body @param {string} what @param {string} name */
  const restoring = (label, body, what, name) => button(label,
    () => told(() => change("restore", body, `${what} back`)), { "aria-label": `${label} ${name}` });

  /** @param {any} corpus as the server describes it */
  async function show(corpus) {
    const { prunings, passages } = corpus;
    const pruned = prunings.reduce((sum, one) => sum + one.passages, 0);
    const runs = prunings.map(({ reason, passages: own, documents, lowest_score: low, highest_score: high }) => [
      reason, count(own), count(documents), low === high ? measured(low) : `${measured(low)} – ${measured(high)}`,
      mayWrite && restoring("Undo", { reasons: [reason] }, `${counted(own, "passage")} of “${reason}” ${own === 1 ? "is" : "are"}`, reason),
    ]);
    const listed = pruned ? await documents() : null;
    shown.replaceChildren(...[
      pruned ? make("p", {}, `${count(pruned)} of ${counted(pruned + passages, "passage")} (${share(pruned, pruned + passages)}) ` +
        `${pruned === 1 ? "is" : "are"} pruned: left out of every result, and in the corpus until a compaction.`) : "",
      table("Pruned, by reason", ["~reason", "#passages", "#documents", "#score", ""], runs, "Nothing is pruned."),
      listed,
    ].filter(Boolean));
  }

  async function documents() {
    if (!access.may("search")) return make("p", { class: "dim" }, access.lacks("search", "see the documents"));
    const { data, has_more: isMore } = await get(`${path}/pruned?limit=${LISTED}`);
    const rows = data.map((one) => {
      const reasons = [...new Set(one.pruned.map((mark) => mark.reason))].join("; ");
      return [one.doc_id, one.title, `${count(one.pruned.length)} of ${count(one.passages)}`, reasons,
        mayWrite && restoring("Restore", { documents: [one.doc_id] }, `${one.doc_id} is`, one.doc_id)];
    });
    return make("details", { open: rows.length <= 10 }, make("summary", {}, "Documents"),
      table("Documents with pruned passages", ["~document", "~title", "#pruned", "~reason", ""], rows, "None."),
      isMore && make("p", { class: "dim small" }, `The newest ${LISTED}.`));
  }

  const element = make("section", { class: "panel wide", "aria-labelledby": "pruned-title" },
    make("h2", { id: "pruned-title" }, "Pruned"), shown, mayWrite && byHand(change), mayWrite && byPlan(change));
  return { element, show };
}

/** @typedef {(kind: string, body: any, what: string) => Promise<void>} Change */

/** @param {Change} change */
function byHand(change) {
  const id = make("input", { required: true, autocomplete: "off", spellcheck: "false", placeholder: "its id, such as boat.md" });
  const reason = make("input", { autocomplete: "off", maxlength: "100", placeholder: "by hand" });
  const form = make("form", { class: "row" }, field("Prune a document", id), field("Reason", reason),
    make("button", { class: "quiet" }, "Prune"));
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    told(async () => {
      await change("prune", { documents: [id.value], ...(reason.value.trim() && { reason: reason.value.trim() }) }, `${id.value} is pruned`);
      id.value = "";
    });
  });
  return form;
}

/** @param {Change} change */
function byPlan(change) {
  const file = make("input", { type: "file", required: true, accept: ".jsonl" });
  const form = make("form", { class: "row" }, field("Plan of ken prune", file), make("button", { class: "quiet" }, "Apply"));
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    told(async () => {
      const passages = marks(await file.files[0].text());
      await change("prune", { passages }, `${counted(passages.length, "passage")} ${passages.length === 1 ? "is" : "are"} pruned`);
      file.value = "";
    });
  });
  return form;
}

/** The passages that the lines of a plan name. @param {string} text */
function marks(text) {
  const lines = text.split("\n").map((line, place) => ({ line: line.trim(), place })).filter(({ line }) => line);
  return lines.map(({ line, place }) => {
    let mark;
    try {
      mark = JSON.parse(line);
    } catch {
      // Told below, as any other line that names no passage.
    }
    if (typeof mark?.passage_id !== "string") {
      throw new Error(`Line ${place + 1} names no passage. A plan is written by: ken prune apply --dry-run --out plan.jsonl`);
    }
    return { passage_id: mark.passage_id, score: mark.score ?? 0, ...(mark.reason && { reason: mark.reason }) };
  });
}
