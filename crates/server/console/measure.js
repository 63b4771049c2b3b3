// Measuring policies on questions with known answers, by the server: comparing some, or having one chosen; how far
// that is, and its report.

import { escaped, get, post, text } from "./api.js";
import { chosenIn } from "./chosen.js";
import { field, make } from "./dom.js";
import { dropZone } from "./dropzone.js";
import { count } from "./format.js";
import { follow, isOpen, progressOf } from "./jobs.js";
import { reported } from "./report.js";

/** What can be measured, by the name of its job. @type {Record<string, string>} */
const KINDS = { compare: "Compare policies", tune: "Choose a policy" };

/** The policies that are compared where nobody says; those of them that the model can have. */
const USUAL = ["never", "always", "prompt", "certainty"];

/** @param {import("./access.js").Access} access */
export function measurePanel(access) {
  const refused = !access.may("admin") ? access.lacks("admin", "measure policies")
    : access.measures ? "" : "This server measures nothing: it was started without a folder for that (the setting server_data).";
  const place = make("div", {}, refused && make("p", { class: "dim" }, refused));
  const jobs = make("div");
  const report = make("div");
  let running = false;

  /** Follows a job to its end, and shows what came of it. @param {any} job */
  async function show(job) {
    running = true;
    const shown = progressOf(`${KINDS[job.kind]}: ${job.study}`);
    jobs.replaceChildren(shown.element);
    report.replaceChildren();
    try {
      const ended = await follow(job, shown, howFar);
      shown.end(outcome(ended), ended.status !== "failed");
      if (ended.status === "done") report.replaceChildren(...await found(ended));
    } catch (error) {
      shown.end(error.message, false);
    } finally {
      running = false;
    }
  }
  async function enter() {
    if (refused || running) return;
    const [{ corpora }, { data: models }, lines, { data: all }] = await Promise.all([
      get("/v1/ken/corpora"), get("/v1/models"), text("/v1/ken/evals/questions"), get("/v1/ken/jobs?limit=50")]);
    const collected = lines.split("\n").filter(Boolean).length;
    place.replaceChildren(corpora.length
      ? measureForm({ corpora, models, collected }, (job) => { show(job); })
      : make("p", { class: "dim" }, "There is no corpus yet: put documents in on the page Documents."));
    const last = all.find((/** @type {any} */ job) => Object.hasOwn(KINDS, job.kind));
    if (last && (isOpen(last) || last.status === "done") && !report.childNodes.length) show(last);
  }
  const element = make("div", {},
    make("section", { class: "panel", "aria-labelledby": "measure-title" },
      make("h2", { id: "measure-title" }, "Measure policies here"),
      make("p", {}, "How accurate would each policy be on questions with known answers, and how often would it retrieve? " +
        "The server answers them by its own model, settings and corpus, and whoever asks meanwhile comes first."),
      place, jobs),
    report);
  return { element, enter };
}

/** How far a job is, in words and as a share. @param {any} job @returns {[string, number]} */
function howFar({ status, progress: { questions_done: done, questions_total: total } }) {
  return [total ? `${status}: ${count(done)} of ${count(total)} answers and measurements` : status, total ? done / total : 0];
}

/** What came of a job, in words. @param {any} job */
function outcome({ status, error, study }) {
  if (status === "failed") return `failed: ${error?.message}`;
  return status === "cancelled" ? "cancelled" : `done; its report stays on the page Studies, as ${study}`;
}

/** The report of a job that is done. @param {any} job @returns {Promise<any[]>} */
async function found({ kind, study }) {
  const panels = reported(await get(`/v1/ken/studies/${escaped(study)}/page.json`));
  return [...(kind === "tune" ? await chosenIn(study) : []), ...panels];
}

/**
 * @param {{corpora: any[], models: any[], collected: number}} known
 * @param {(job: any) => void} begun called with a job that has begun
 */
function measureForm({ corpora, models, collected }, begun) {
  const known = models.map((model) => model.id.replace(/^ken\/|@.*$/g, ""));
  const kind = make("select", {}, Object.entries(KINDS).map(([value, label]) => make("option", { value }, label)));
  const policies = make("input", { required: true, autocomplete: "off", spellcheck: "false",
    value: USUAL.filter((name) => known.includes(name)).join(", ") });
  const corpus = make("select", {}, corpora.map(({ name }) => make("option", { value: name }, name)));
  const source = make("select", {}, make("option", { value: "file" }, "in a file"),
    make("option", { value: "collected", disabled: !collected }, `collected here (${count(collected)})`));
  const file = make("input", { type: "file", required: true, accept: ".jsonl,.json" });
  const refused = make("p", { class: "warn", role: "alert" });
  const named = field("Policies, with commas between", policies);
  const zone = dropZone((dropped) => { if (dropped?.files.length) file.files = dropped.files; },
    make("p", {}, "Drop a file of questions here, or choose it. Each line is one:"),
    make("pre", { class: "scroll", tabindex: "0" }, '{"id": "1", "question": "Who changes the oil?", "golden_answers": ["Ida"]}'),
    make("div", { class: "row" }, field("File of questions", file)));
  const form = make("form", { "aria-label": "What to measure" },
    make("div", { class: "row" }, field("What", kind), named, field("Corpus", corpus), field("Questions", source)), zone,
    !collected && make("p", { class: "dim small" }, "None are collected yet: give past questions their right answers on the page Traffic."),
    make("div", { class: "row" }, make("button", {}, "Start")), refused);
  const changed = () => {
    named.hidden = policies.disabled = kind.value === "tune";
    zone.hidden = file.disabled = source.value !== "file";
  };
  kind.addEventListener("change", changed);
  source.addEventListener("change", changed);
  changed();
  form.addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    refused.textContent = "";
    try {
      const compared = policies.value.split(",").map((/** @type {string} */ name) => name.trim()).filter(Boolean);
      begun(await post("/v1/ken/evals/jobs", { kind: kind.value, corpus: corpus.value,
        ...(kind.value === "compare" && { policies: compared }), ...(source.value === "file" && await questionsIn(file.files[0])) }));
    } catch (error) {
      refused.textContent = error.message;
    }
  });
  return form;
}

/** The questions in a file, and what they are called. @param {File} file */
async function questionsIn(file) {
  const name = file.name.replace(/\..*$/, "").replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^[-_]+/, "").slice(0, 64);
  return { questions: await file.text(), ...(name && { name }) };
}
