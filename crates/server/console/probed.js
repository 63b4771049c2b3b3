// What probing found, from a file of the person's own: it is read here and sent nowhere.

import { field, make, table } from "./dom.js";
import { draw } from "./figure.js";
import { count, counted, share, shortened } from "./format.js";

/**
 * @typedef {{self: number | null, corpus: number | null, masked: number | null}} ByCondition
 * @typedef {{id: string, question: string, golden_answers: string[], confidence: ByCondition,
 *   effect: {confidence: string | null}, greedy: {self: {text: string} | null} | null, evidence: string[]}} Probed
 */

/** Bars of the histogram, each as wide. */
const BINS = 10;

/** Questions and documents that are listed at most. */
const LISTED = 100;

export function probedPanel() {
  const file = make("input", { type: "file", accept: ".jsonl" });
  const refused = make("p", { class: "warn", role: "alert" });
  const shown = make("div");
  // So that the same file can be chosen again when it has changed.
  file.addEventListener("click", () => { file.value = ""; });
  file.addEventListener("change", async () => {
    refused.textContent = "";
    if (!file.files[0]) return;
    const records = read(await file.files[0].text());
    shown.replaceChildren(...(records.length ? probed(records) : []));
    if (!records.length) refused.textContent = "This file has no records of probed questions: make one as above.";
  });
  return make("div", {},
    make("section", { class: "panel", "aria-labelledby": "probed-title" },
      make("h2", { id: "probed-title" }, "What probing found"),
      make("p", {}, "How sure is the model from memory, and does evidence help it? Probe it on questions with known answers:"),
      make("pre", { class: "scroll", tabindex: "0" }, "ken probe questions.jsonl --corpus notes.ken --out known.jsonl"),
      make("p", {}, "Then choose the file. It stays in this page."),
      make("div", { class: "row" }, field("Probe records", file)), refused),
    shown);
}

/** The records in a text that have a confidence from memory. @param {string} text @returns {Probed[]} */
export function read(text) {
  const lines = text.split("\n").filter(Boolean);
  return lines.flatMap((line) => {
    try {
      const record = JSON.parse(line);
      return typeof record.question === "string" && record.confidence?.self != null ? [record] : [];
    } catch {
      // A last line that was cut off, or another file.
      return [];
    }
  });
}

/** @param {number[]} values */
const mean = (values) => values.reduce((total, one) => total + one, 0) / values.length;

/** What was found. @param {Probed[]} records */
export function probed(records) {
  const figure = (/** @type {string} */ label, /** @type {string} */ value) =>
    make("p", { class: "figure" }, make("strong", {}, value), label);
  const confidence = (/** @type {keyof ByCondition} */ condition) => {
    const values = records.map((one) => one.confidence[condition]).filter((one) => one != null);
    return values.length ? mean(values).toFixed(3) : "–";
  };
  const withEffect = records.filter((one) => one.effect?.confidence != null);
  const effect = (/** @type {string} */ kind) =>
    share(withEffect.filter((one) => one.effect.confidence === kind).length, withEffect.length);
  const kind = make("select", {}, ["all", "beneficial", "neutral", "harmful"].map((one) => make("option", { value: one }, one)));
  const list = make("div");
  const listed = () => list.replaceChildren(questions(kind.value === "all" ? records
    : records.filter((one) => one.effect?.confidence === kind.value)));
  kind.addEventListener("change", listed);
  listed();
  const panel = (/** @type {string} */ title, /** @type {any[]} */ ...children) =>
    make("section", { class: "panel", "aria-label": title }, make("h2", {}, title), children);
  return [
    panel(`${counted(records.length, "question")}`, make("div", { class: "figures" },
      figure("confidence from memory", confidence("self")), figure("with evidence", confidence("corpus")),
      figure("with the answer masked", confidence("masked")),
      figure("evidence beneficial", effect("beneficial")), figure("evidence neutral", effect("neutral")),
      figure("evidence harmful", effect("harmful")))),
    make("div", { class: "columns" },
      panel("Confidence from memory", histogram(records)), panel("By the document found first", documents(records))),
    panel("Questions", make("div", { class: "row" }, field("Evidence that is", kind)), list),
  ];
}

/** @param {Probed[]} records */
function histogram(records) {
  const bins = Array.from({ length: BINS }, () => 0);
  for (const { confidence } of records) bins[Math.min(BINS - 1, Math.floor(BINS * Number(confidence.self)))] += 1;
  const most = Math.max(...bins);
  const label = bins.map((number, place) => `${place / BINS} to ${(place + 1) / BINS}: ${number}`).join(", ");
  return make("div", {},
    draw("svg", { class: "chart", viewBox: `0 0 ${BINS} 30`, preserveAspectRatio: "none", role: "img", "aria-label": label },
      bins.map((number, place) => number > 0 && draw("rect", { class: "self", x: place + 0.05, width: 0.9,
        y: 30 - 30 * number / most, height: 30 * number / most }))),
    make("p", { class: "row ends dim small" }, make("span", {}, "0: never right"),
      make("span", {}, `highest bar: ${count(most)}`), make("span", {}, "1: always right")));
}

/** Of each document that was found first, how sure the model is without it, least first. @param {Probed[]} records */
function documents(records) {
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (const { evidence, confidence } of records) {
    if (!evidence?.length) continue;
    const name = evidence[0].replace(/#\d+$/, "");
    groups.set(name, [...(groups.get(name) ?? []), Number(confidence.self)]);
  }
  const sorted = [...groups].map(([name, values]) => ({ name, number: values.length, known: mean(values) }))
    .sort((one, other) => one.known - other.known || other.number - one.number);
  return [
    table("By the document found first", ["document", "#questions", "#confidence from memory"],
      sorted.slice(0, LISTED).map((one) => [one.name, count(one.number), one.known.toFixed(3)]), "Nothing was retrieved."),
    sorted.length > LISTED && make("p", { class: "dim small" }, `The ${LISTED} least known of ${count(sorted.length)} documents.`),
  ];
}

/** @param {Probed[]} records */
function questions(records) {
  const rows = records.slice(0, LISTED).map((one) => [
    shortened(one.question, 160), shortened(one.golden_answers.join(" | "), 80), shortened(one.greedy?.self?.text ?? "", 80),
    one.confidence.self?.toFixed(2), one.confidence.corpus?.toFixed(2), one.effect?.confidence ?? "–",
  ]);
  return make("div", {},
    table("Questions", ["~question", "right", "from memory", "#confidence", "#with evidence", "evidence"], rows, "None."),
    records.length > LISTED && make("p", { class: "dim small" }, `The first ${LISTED} of ${count(records.length)}.`));
}
