// Policies: what each would have answered, at every threshold, on questions with known answers. The comparison
// is a file of the person's own; it is read here and sent nowhere.

import { get } from "./api.js";
import { draw, field, make, notice, table, terms } from "./dom.js";
import { count, share } from "./format.js";
import { drifted, promise, standing } from "./trace.js";

/**
 * @typedef {{retrieval_ratio: number, em: number, threshold: number | null}} Point
 * @typedef {{policy: string, em: number | null, em_interval: [number, number] | null, retrieval_ratio: number | null,
 *   tokens: {prompt: {mean: number | null}, completion: {mean: number | null}},
 *   vs_always: {em_difference: number | null, interval: [number, number] | null}, curve: Point[]}} Policy
 * @typedef {{n: number, never_em: number, always_em: number, policies: Policy[]}} Comparison
 */

/** The colors of curves in the style sheet. */
const COLORS = 6;

/** The drawing, in its own units. */
const WIDTH = 640, HEIGHT = 360, LEFT = 46, RIGHT = 24, TOP = 10, BOTTOM = 40;

/** Why a file is not taken. */
const NO_COMPARISON = "This is no comparison of policies with thresholds: make one as above.";

/** @param {import("./access.js").Access} access */
export async function policiesPage({ hasGuarantee }) {
  const file = make("input", { type: "file", accept: ".json,application/json" });
  const refused = make("p", { class: "warn", role: "alert" });
  const shown = make("div");
  // So that the same file can be chosen again when it has changed.
  file.addEventListener("click", () => { file.value = ""; });
  file.addEventListener("change", async () => {
    refused.textContent = "";
    if (!file.files[0]) return;
    const comparison = await read(file.files[0]);
    shown.replaceChildren(...(comparison ? view(comparison) : []));
    if (!comparison) refused.textContent = NO_COMPARISON;
  });
  const inForce = make("div");
  const enter = async () => {
    if (!hasGuarantee) return;
    try {
      inForce.replaceChildren(guaranteed(await get("/v1/ken/guarantee")));
    } catch (error) {
      notice(error.message);
    }
  };
  const element = make("div", {}, inForce,
    make("section", { class: "panel", "aria-labelledby": "policies-title" },
      make("h2", { id: "policies-title" }, "Policies compared"),
      make("p", {}, "How accurate would each policy be, and how often would it retrieve? Compare them on questions with known answers:"),
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

/** The comparison in a file; nothing where it is none. @param {File} file @returns {Promise<Comparison | null>} */
async function read(file) {
  try {
    const read = JSON.parse(await file.text());
    const curved = read.policies.filter((policy) => policy.curve.some((point) => typeof point.threshold === "number"));
    return curved.length && typeof read.never_em === "number" && typeof read.always_em === "number" ? read : null;
  } catch {
    return null;
  }
}

/** @param {Comparison} comparison */
function view(comparison) {
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
    const text = `${named}: ${share(point.retrieval_ratio, 1)} of the questions retrieve, exact match ${point.em.toFixed(3)}; ` +
      `${against("always", comparison.always_em)}, ${against("never", comparison.never_em)}`;
    said.textContent = text;
    slider.setAttribute("aria-valuetext", text);
    link.textContent = `Ask with ${named}`;
    link.href = `#ask/with/${encodeURIComponent(named)}`;
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
      make("p", { class: "row legend" },
        curved.map((one, place) => make("span", {}, swatch(place), one.policy)),
        make("span", { class: "dim" }, "dashed: by chance")),
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

/** Where exact match is highest; of equals, where least is retrieved. @param {Point[]} curve */
const best = (curve) => curve.reduce((found, point, place) => (point.em > curve[found].em ? place : found), 0);

/** @param {number} place */
function swatch(place) {
  return draw("svg", { class: "swatch", viewBox: "0 0 1 1", "aria-hidden": "true" },
    draw("rect", { class: `color-${place % COLORS}`, width: 1, height: 1 }));
}

/** The curves, with a mark where the slider is. @param {Comparison} comparison @param {Policy[]} curved @param {Point} marked */
function chart(comparison, curved, marked) {
  const ends = [comparison.never_em, comparison.always_em];
  const values = [...ends, ...curved.flatMap((one) => one.curve.map((point) => point.em))];
  const step = niceStep((Math.max(...values) - Math.min(...values)) / 4 || 0.1);
  const low = Math.max(0, Math.floor(Math.min(...values) / step) * step);
  const high = Math.ceil(Math.max(...values) / step + 1e-9) * step;
  const x = (/** @type {number} */ ratio) => LEFT + (WIDTH - LEFT - RIGHT) * ratio;
  const y = (/** @type {number} */ em) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (em - low) / (high - low);
  const path = (/** @type {number[][]} */ points) => points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ");
  const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, place) => low + place * step);
  const shares = [0, 0.25, 0.5, 0.75, 1];
  return draw("svg", { class: "curves", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": "Exact match at every share of questions that retrieve; the table and the slider say the same in numbers" },
    ticks.map((em) => [
      draw("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(em), y2: y(em) }),
      draw("text", { x: LEFT - 6, y: y(em) + 4, "text-anchor": "end" }, em.toFixed(step < 0.01 ? 3 : 2)),
    ]),
    shares.map((ratio) => draw("text", { x: x(ratio), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, ratio.toFixed(2))),
    draw("text", { x: x(0.5), y: HEIGHT - 4, "text-anchor": "middle" }, "share of questions that retrieve"),
    draw("polyline", { class: "chance", points: path([[0, ends[0]], [1, ends[1]]]) }),
    curved.map((one, place) => draw("polyline", { class: `color-${place % COLORS}`,
      points: path(one.curve.map((point) => [point.retrieval_ratio, point.em])) })),
    draw("circle", { cx: x(marked.retrieval_ratio), cy: y(marked.em), r: 6 }));
}

/** The next of 1, 2 or 5 times a power of ten. @param {number} least */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least * (1 - 1e-9)) ?? least;
}

/** @param {Comparison} comparison */
function summary({ policies }) {
  const range = (/** @type {[number, number] | null} */ interval) =>
    (interval ? `[${interval[0].toFixed(3)}, ${interval[1].toFixed(3)}]` : "");
  const rows = policies.map((one) => [
    one.policy, `${one.em?.toFixed(3)} ${range(one.em_interval)}`, share(one.retrieval_ratio ?? 0, 1),
    count((one.tokens.prompt.mean ?? 0) + (one.tokens.completion.mean ?? 0)),
    `${one.vs_always.em_difference?.toFixed(3)} ${range(one.vs_always.interval)}`,
  ]);
  return table("As compared", ["policy", "#exact match", "#retrieve", "#tokens", "#against always"], rows, "–");
}
