// Policies: what each would have answered on questions with known answers, measured by the server; or, at every
// threshold, as a file of the person's own tells, which is read here and sent nowhere.

import { get } from "./api.js";
import { field, make, table, terms, told } from "./dom.js";
import { drawn } from "./figure.js";
import { count, share } from "./format.js";
import { measurePanel } from "./measure.js";
import { drifted, promise, standing } from "./trace.js";

/**
 * @typedef {{retrieval_ratio: number, em: number, threshold: number | null}} Point
 * @typedef {{policy: string, em: number | null, em_interval: [number, number] | null, retrieval_ratio: number | null,
 *   tokens: {prompt: {mean: number | null}, completion: {mean: number | null}},
 *   vs_better: {em_difference: number | null, interval: [number, number] | null}, curve: Point[]}} Policy
 * @typedef {{n: number, style?: string, never_em: number, always_em: number, policies: Policy[]}} Comparison
 */

/** Why a file is not taken. */
const NO_COMPARISON = "This is no comparison of policies with thresholds: make one as above.";

/** @param {import("./access.js").Access} access */
export async function policiesPage(access) {
  const measure = measurePanel(access);
  const file = make("input", { type: "file", accept: ".json,application/json" });
  const refused = make("p", { class: "warn", role: "alert" });
  const shown = make("div");
  // So that the same file can be chosen again when it has changed.
  file.addEventListener("click", () => { file.value = ""; });
  file.addEventListener("change", async () => {
    refused.textContent = "";
    if (!file.files[0]) return;
    const comparison = read(await file.files[0].text());
    shown.replaceChildren(...(comparison ? compared(comparison) : []));
    if (!comparison) refused.textContent = NO_COMPARISON;
  });
  const inForce = make("div");
  const enter = () => {
    told(measure.enter);
    if (access.hasGuarantee) told(async () => inForce.replaceChildren(guaranteed(await get("/v1/ken/guarantee"))));
  };
  const element = make("div", {}, inForce, measure.element,
    make("section", { class: "panel", "aria-labelledby": "policies-title" },
      make("h2", { id: "policies-title" }, "Policies compared"),
      make("p", {}, "What the command line compared is shown at every threshold:"),
      make("pre", { class: "scroll", tabindex: "0" },
        "ken eval questions.jsonl --corpus notes.ken --policy never,always,prompt,certainty --out compared --json > compared.json"),
      make("p", {}, "Then choose the file. It stays in this page."),
      make("div", { class: "row" }, field("Comparison", file)), refused),
    shown);
  return { element, enter };
}

/** The policy that is relied on, and whether questions are still like those that it was calibrated on. @param {any} state */
function guaranteed(state) {
  return make("section", { class: "panel", "aria-label": "Guarantee" }, make("h2", {}, "Guarantee in force"),
    terms([
      ["policy", state.policy],
      ["promise", promise(state)],
      ["state", standing(state.standing)],
      ["against calibration", make("span", { class: state.drift?.drifted ? "warn" : "" }, drifted(state.drift))],
    ]));
}

/** The comparison in a text; nothing where it is none. @param {string} text @returns {Comparison | null} */
export function read(text) {
  try {
    const read = JSON.parse(text);
    const curved = read.policies.filter((policy) => policy.curve.some((point) => typeof point.threshold === "number"));
    const isWhole = typeof read.never_em === "number" && typeof read.always_em === "number" && read.policies.every((one) => one.vs_better);
    return curved.length && isWhole ? read : null;
  } catch {
    return null;
  }
}

/** The curves and the numbers of a comparison. @param {Comparison} comparison */
export function compared(comparison) {
  const curved = comparison.policies.filter((policy) => policy.curve.length > 1);
  const drawing = make("div");
  const policy = make("select", {}, curved.map((one, place) => make("option", { value: String(place) }, one.policy)));
  const slider = make("input", { type: "range", min: "0", step: "1" });
  const said = make("p", { role: "status" });
  const link = make("a", {});

  function moved() {
    const place = Number(policy.value);
    const point = curved[place].curve[Number(slider.value)];
    const named = at(curved[place].policy, point);
    const against = (/** @type {string} */ name, /** @type {number} */ em) =>
      `${name} ${em.toFixed(3)} (${point.em >= em ? "+" : "−"}${Math.abs(point.em - em).toFixed(3)})`;
    const text = `${named}: ${share(point.retrieval_ratio, 1)} of the questions retrieve, ${measure(comparison)} ${point.em.toFixed(3)}; ` +
      `${against("always", comparison.always_em)}, ${against("never", comparison.never_em)}`;
    said.textContent = text;
    slider.setAttribute("aria-valuetext", text);
    link.textContent = `Ask with ${named}`;
    link.href = `#chat/with/${encodeURIComponent(named)}`;
    drawing.replaceChildren(chart(comparison, curved, point));
  }
  function chosen() {
    const { curve } = curved[Number(policy.value)];
    slider.max = String(curve.length - 1);
    slider.value = String(best(curve));
    moved();
  }
  policy.addEventListener("change", chosen);
  slider.addEventListener("input", moved);
  chosen();
  return [
    make("section", { class: "panel", "aria-label": "Accuracy against retrieval ratio" },
      make("h2", {}, `Accuracy against retrieval ratio, on ${count(comparison.n)} questions`),
      drawing,
      make("div", { class: "row" }, field("Policy", policy), field("Threshold", slider)), said, make("p", {}, link)),
    make("section", { class: "panel", "aria-label": "As compared" },
      make("h2", {}, "As compared"),
      make("p", { class: "dim small" }, "A policy without a threshold of its own uses, on each half of the questions, the best of the other half."),
      summary(comparison)),
  ];
}

/** A policy with the threshold of a point. @param {string} policy @param {Point} point */
const at = (policy, { threshold }) => (threshold == null ? "always" : `${policy.replace(/@.*/, "")}@${threshold}`);

/** What the share of right answers is called. @param {Comparison} comparison */
const measure = ({ style }) => (style === "full" ? "right answers" : "exact match");

/** Where most answers are right; of equals, where least is retrieved. @param {Point[]} curve */
const best = (curve) => curve.reduce((found, point, place) => (point.em > curve[found].em ? place : found), 0);

/** The curves, with a mark where the slider is. @param {Comparison} comparison @param {Policy[]} curved @param {Point} marked */
function chart(comparison, curved, marked) {
  const place = (/** @type {Point} */ { retrieval_ratio: x, em: y }) => ({ x, y });
  return drawn({
    name: "accuracy", caption: "Accuracy at every share of questions that retrieve; the table and the slider say the same in numbers",
    across: { name: "share of questions that retrieve", range: [0, 1] }, up: { name: measure(comparison) },
    series: [
      { name: "by chance", mark: "dashed", color: null, points: [{ x: 0, y: comparison.never_em }, { x: 1, y: comparison.always_em }] },
      ...curved.map((one, color) => ({ name: one.policy, mark: /** @type {"line"} */ ("line"), color, points: one.curve.map(place) })),
      { name: "threshold", mark: "dots", color: null, points: [place(marked)] },
    ],
  });
}

/** @param {Comparison} comparison */
function summary(comparison) {
  const range = (/** @type {[number, number] | null} */ interval) =>
    (interval ? `[${interval[0].toFixed(3)}, ${interval[1].toFixed(3)}]` : "");
  const rows = comparison.policies.map((one) => [
    one.policy, `${one.em?.toFixed(3)} ${range(one.em_interval)}`, share(one.retrieval_ratio ?? 0, 1),
    count((one.tokens.prompt.mean ?? 0) + (one.tokens.completion.mean ?? 0)),
    `${one.vs_better.em_difference?.toFixed(3)} ${range(one.vs_better.interval)}`,
  ]);
  return table("As compared", ["policy", `#${measure(comparison)}`, "#retrieve", "#tokens", "#against the better arm"], rows, "–");
}
