// The last questions: how each was answered, and the slow and the bad among them.

import { get, post, text } from "./api.js";
import { button, byId, field, make, notice, saveAs, table, told } from "./dom.js";
import { count, duration, measured, shortened, time } from "./format.js";
import { markdown } from "./markdown.js";
import { details } from "./trace.js";

/**
 * @typedef {import("./trace.js").Trace & {id: string, created_at: number, answer: string | null, prompt_tokens: number,
 *   completion_tokens: number, ms: number, watched: string | null,
 *   feedback: {rating: string | null, answers: string[], source?: string} | null}} Past
 */

/** How many are shown at once. */
const PAGE = 50;

/** What can be looked for, as the server is asked for it. */
const KINDS = [
  ["", "all"], ["rating=bad", "rated bad"], ["rating=good", "rated good"],
  ["route=self", "from memory"], ["route=corpus", "retrieved"],
];

/** @param {import("./access.js").Access} access */
export function tracesPanel(access) {
  const kind = make("select", {}, KINDS.map(([value, label]) => make("option", { value }, label)));
  const slower = make("input", { type: "number", min: "0", step: "any", placeholder: "any" });
  const place = make("div");
  const form = make("form", { class: "row", "aria-label": "Which questions" },
    field("Show", kind), field("Slower than, in ms", slower), make("button", { class: "quiet" }, "Refresh"),
    button("Save the questions rated bad", () => told(() => save("/v1/ken/traces/questions?rating=bad"))),
    button("Save the evaluation set", () => told(() => save("/v1/ken/evals/questions"))),
    access.may("admin") && button("Save the corrections", () => told(() => save("/v1/ken/corrections"))));
  /** @type {Past[]} */
  let listed = [];

  /** @param {string} [after] the id of the last one before */
  async function load(after) {
    const conditions = [kind.value, slower.value && `slower_than_ms=${encodeURIComponent(slower.value)}`,
      after && `after=${encodeURIComponent(after)}`, `limit=${PAGE}`];
    const page = await get(`/v1/ken/traces?${conditions.filter(Boolean).join("&")}`);
    listed = after ? [...listed, ...page.data] : page.data;
    place.replaceChildren(saved(listed), list(listed, (one) => open(one, access, () => told(() => load()))),
      page.has_more ? button("Older", () => told(() => load(page.last_id))) : "");
  }
  const again = () => told(() => load());
  kind.addEventListener("change", again);
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    again();
  });
  return { element: make("div", {}, form, place), load: again };
}

/** What retrieval takes on average, and what is saved without. @param {Past[]} listed */
function saved(listed) {
  const mean = (/** @type {Past[]} */ some) =>
    some.reduce((total, one) => total + one.prompt_tokens + one.completion_tokens, 0) / some.length;
  const self = listed.filter((one) => one.route === "self" && !one.small_talk);
  const corpus = listed.filter((one) => one.route !== "self");
  if (!self.length || !corpus.length) return "";
  const less = mean(corpus) - mean(self);
  const took = `Of these, one that retrieved took ${count(mean(corpus))} tokens on average, one from memory ${count(mean(self))}`;
  return make("p", { class: "dim small" },
    less > 0 ? `${took}: the ${count(self.length)} from memory saved about ${count(less * self.length)}.` : `${took}.`);
}

/** @param {Past[]} listed @param {(one: Past) => void} onOpen */
function list(listed, onOpen) {
  const rows = listed.map((one) => [
    time(one.created_at),
    button(one.question ? shortened(one.question, 120) : one.id, () => onOpen(one), { class: "link" }),
    one.answer == null ? "" : shortened(one.answer, 80), one.policy, one.route, duration(one.ms),
    count(one.prompt_tokens + one.completion_tokens), rating(one),
  ]);
  return table("Last questions", ["when", "~question", "~answer", "policy", "route", "#time", "#tokens", "rated"], rows, "None.");
}

/** @param {Past} one */
function rating({ feedback }) {
  if (!feedback) return "";
  if (feedback.rating) return feedback.rating === "bad" ? make("span", { class: "warn" }, "bad") : "good";
  return feedback.source ? "corrected" : "answered";
}

/** Shows one, and takes right answers. @param {Past} one @param {import("./access.js").Access} access @param {() => void} changed */
function open(one, access, changed) {
  const shown = details(one, one, access);
  shown.open = true;
  byId("trace-title").textContent = one.question || one.id;
  byId("trace-body").replaceChildren(
    make("div", { class: "answer" }, markdown(one.answer ?? "")), make("p", { class: "dim reason" }, one.reason),
    ...(one.question
      ? [rightAnswer(one, changed), access.sources.length > 0 ? rightSource(one, access, changed) : ""]
      : [make("p", { class: "dim" }, "This server does not keep what was asked (the setting keep_questions).")]),
    shown);
  byId("trace-dialog").showModal();
}

/** Makes a question one to evaluate on. @param {Past} one @param {() => void} changed */
function rightAnswer(one, changed) {
  const right = make("input", { required: true, autocomplete: "off", maxlength: "1000", value: one.feedback?.answers[0] ?? "" });
  const form = make("form", { class: "row" }, field("Right answer", right), make("button", { class: "quiet" }, "Evaluate on it"));
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    told(async () => {
      await post("/v1/ken/evals/questions", { trace: one.id, golden_answers: [right.value.trim()] });
      notice("The question is now one to evaluate on.");
      byId("trace-dialog").close();
      changed();
    });
  });
  return form;
}

/** What a source is called. @param {string} source */
const sourceName = (source) => (source === "self" ? "the model's memory" : source);

/**
 * Corrects where a question is answered from.
 * @param {Past} one
 * @param {import("./access.js").Access} access
 * @param {() => void} changed
 */
function rightSource(one, access, changed) {
  const said = make("p", { class: "dim", role: "status" },
    one.feedback?.source ? `Corrected: the right source is ${sourceName(one.feedback.source)}.` : "");
  const correct = (/** @type {string} */ source) => told(async () => {
    const { votes } = await post("/v1/ken/corrections", { trace: one.id, source });
    const shares = Object.entries(votes?.shares ?? {}).map(([name, share]) => `${sourceName(name)} ${measured(share)}`);
    said.textContent = votes
      ? `The datastore votes so from the next question on. Votes on this one: ${shares.join(", ")}.`
      : "The correction is kept. No datastore votes here: save the corrections for ken datastore import.";
    changed();
  });
  return make("div", {},
    make("div", { class: "row", role: "group", "aria-label": "Which source was right?" }, make("p", {}, "The right source was"),
      access.sources.map((source) => button(sourceName(source), () => correct(source), { "aria-label": `Right source: ${source}` }))),
    said);
}

/** Saves lines of questions as a file. @param {string} path */
async function save(path) {
  const lines = await text(path);
  if (lines) saveAs("questions.jsonl", "application/jsonl", lines);
  else notice("There are no such questions.");
}
