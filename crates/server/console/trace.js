// How an answer came about.

import { make, button, table, terms } from "./dom.js";
import { draw } from "./figure.js";
import { count, duration, measured, shortened } from "./format.js";
import { openPassage, titleOf, withCorpus } from "./passage.js";

/**
 * @typedef {{start: number, end: number}} Span
 * @typedef {{number: number, passage_id: string, doc_id: string, title: string, heading?: string, text: string,
 *   places: Span[]}} Citation
 * @typedef {{passage_id: string, doc_id: string, title: string, text: string, score?: number, in_prompt?: boolean,
 *   metadata?: Record<string, unknown>}} Retrieved
 * @typedef {{policy: string, abstain?: string, max_loss?: number, max_error?: number, confidence: number,
 *   standing: string, records: string, questions: number}} Guarantee
 * @typedef {{request_id: string, question: string, small_talk: boolean, policy: string, route: string, reason: string,
 *   score: number | null, threshold: number | null, cannot_tell?: boolean, lack?: string, withheld?: string, guarantee?: Guarantee, drawn?: number,
 *   corpus: {name: string, generation: number} | null, citations: Citation[], unfounded: Span[],
 *   named_documents?: string[], retrieved?: Retrieved[], verbalized?: string, model_calls: number, searches: number,
 *   timing_ms: Record<string, number>}} Trace
 * @typedef {{prompt_tokens: number, completion_tokens: number, total_tokens?: number}} Usage
 */

const STANDINGS = {
  holds: "holds",
  lapsed: "does not hold any more: everything retrieves",
  other_corpus: "is for an earlier state of the corpus",
};

/** @param {string} standing */
export const standing = (standing) => STANDINGS[standing] ?? standing;

/** @typedef {{drifted: boolean, after: number | null, observed: number}} Drift */

/** Whether questions of late are like those of calibration, in words. @param {Drift | null} drift */
export const drifted = (drift) =>
  drift == null ? "not compared: the calibration does not tell its scores"
    : drift.drifted ? `different, as showed after ${count(drift.after)} questions; nothing is lost by that alone, and the policy is still used`
      : `no difference found in ${count(drift.observed)} questions`;

/** @param {Guarantee} guarantee */
export function promise({ max_loss, max_error, abstain, confidence }) {
  const promised = max_error == null ? `at most ${measured(max_loss)} less accurate than always retrieving`
    : `at most ${measured(max_error)} of the answers given are wrong, withheld by ${abstain ?? "nothing"}`;
  return `${promised}, at confidence ${confidence}`;
}

/** @param {Trace} trace @param {Usage | null} usage @param {import("./access.js").Access} access */
export function details(trace, usage, access) {
  const { corpus, guarantee } = trace;
  return make("details", {}, make("summary", {}, "Trace"),
    terms([
      ["answered", trace.question],
      ["policy", trace.policy],
      ["route", trace.route],
      ["measured", trace.score != null && trace.threshold != null
        ? `${measured(trace.score)}; above ${measured(trace.threshold)} it retrieves` : measured(trace.score)],
      ["cannot tell", trace.cannot_tell ? "a signal that was to decide: the question was searched for, or the answer withheld" : null],
      ["of 0 to 1", scale(trace)],
      ["no answer", trace.lack],
      ["withheld", trace.withheld],
      ["guarantee", guarantee && `${promise(guarantee)}; ${standing(guarantee.standing)}`],
      ["drawn", trace.drawn == null ? null : `to watch the guarantee, with probability ${measured(trace.drawn)}`],
      ["corpus", corpus && `${corpus.name}, generation ${corpus.generation}`],
      ["searched only", trace.named_documents?.join(", ")],
      ["model wrote", trace.verbalized],
      ["calls", `${trace.model_calls} of the model, ${trace.searches} of the search`],
      ["tokens", usage && `${count(usage.prompt_tokens)} read, ${count(usage.completion_tokens)} written`],
      ["request", trace.request_id],
    ]),
    make("h3", {}, "Time"), stages(trace.timing_ms),
    make("h3", {}, "Retrieved"), passages(trace, access));
}

/**
 * The score against its threshold, where both are shares.
 * @param {{score: number | null, threshold: number | null}} trace
 */
export function scale({ score, threshold }) {
  const isShare = (/** @type {number | null} */ value) => value != null && value >= 0 && value <= 1;
  if (!isShare(score) || !isShare(threshold)) return null;
  const x = (/** @type {number | null} */ value) => 4 + 192 * Number(value);
  return draw("svg", { class: "scale", viewBox: "0 0 200 16", role: "img",
    "aria-label": `score ${measured(score)} on a line from 0 to 1, threshold at ${measured(threshold)}` },
    draw("rect", { class: "self", x: 4, y: 6, width: x(threshold) - 4, height: 4 }),
    draw("rect", { class: "corpus", x: x(threshold), y: 6, width: 196 - x(threshold), height: 4 }),
    draw("rect", { class: "tick", x: x(threshold) - 1, y: 1, width: 2, height: 14 }),
    draw("circle", { cx: x(score), cy: 8, r: 4 }));
}

/** @param {Record<string, number>} timing */
export function stages({ total, ...timing }) {
  const rows = Object.entries(timing).filter(([, ms]) => ms > 0).sort(([, one], [, other]) => other - one);
  const most = Math.max(1e-9, ...rows.map(([, ms]) => ms));
  const bar = (/** @type {number} */ ms) => draw("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { class: "corpus", x: 0, y: 0, width: Math.max(0.5, 100 * ms / most), height: 8 }));
  return table("Time by stage", ["stage", "#time", ""],
    [...rows.map(([stage, ms]) => [stage, duration(ms), bar(ms)]), ["all but waiting", duration(total), ""]],
    "No time was taken.");
}

/** @param {Trace} trace @param {import("./access.js").Access} access */
function passages(trace, access) {
  const rows = (trace.retrieved ?? []).map((one) => [
    button(titleOf(one), () => openPassage(withCorpus(trace, one), access, [trace.question]), { class: "link" }),
    shortened(one.text, 160), one.score?.toFixed(3) ?? "beside", one.in_prompt ? "yes" : "no",
  ]);
  return table("Passages retrieved", ["document", "~text", "#score", "read"], rows, "Nothing was retrieved.");
}
