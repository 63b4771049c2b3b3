// Studies: what was studied, compared and probed, in the folder that the server's settings name.

import { escaped, get, text } from "./api.js";
import { color, curves, swatch } from "./chart.js";
import { button, field, make, saveAs, table, told } from "./dom.js";
import { count, counted, time } from "./format.js";
import { compared, read as readComparison } from "./policies.js";
import { probed, read as readProbe } from "./probed.js";

/**
 * @typedef {{name: string, kind: string, changed_at: number, datasets: {name: string, questions: number | null}[],
 *   models: {name: string, parameters: number}[], scales: number[], missing: number, questions: number | null,
 *   page: string | null, data: string | null, files: {name: string, bytes: number}[]}} Study
 * @typedef {{value: number | null, interval: [number, number] | null}} Measure
 * @typedef {{order: string, pruned: number, k: number} | null} Retrieval
 * @typedef {{dataset: string, model: string, parameters: number, retrieval: Retrieval, known: Measure,
 *   scales: ({n: number} & Record<string, any>)[]}} Series
 * @typedef {{dataset: string, smaller: string, larger: string, n_star: number | null,
 *   by_metric: {em: number | null, f1: number | null}, missing: any[], retrieval: Retrieval}} Compensation
 * @typedef {{compensation: Compensation[], series: Series[]}} Report
 */

/** What can be drawn by scale, as reports name it. */
const MEASURES = [
  ["em", "exact match"], ["f1", "F1"], ["contains", "answer contains a right one"], ["coverage", "a right answer is in what is read"],
  ["benefited", "right of those wrong from memory"], ["harmed", "wrong of those right from memory"],
  ["gain", "gain over the scale before"], ["utilization", "utilization"],
];

/** The most numbers below a drawing. */
const TICKS = 14;

/** @param {import("./access.js").Access} access */
export async function studiesPage(access) {
  const list = make("div");
  const place = make("div");
  const refused = !access.showsStudies
    ? "This server shows no studies: it was started without a folder of them (the setting studies)."
    : access.may("admin") ? "" : access.lacks("admin", "see studies");
  if (refused) list.replaceChildren(make("p", { class: "dim" }, refused));

  /** @param {string} name of what is chosen; the first where that is not there */
  async function open(name) {
    if (refused) return;
    const { studies } = await get("/v1/ken/studies");
    const chosen = studies.find((one) => one.name === name) ?? studies[0];
    list.replaceChildren(table("Studies", ["name", "kind", "~measured", "changed"], studies.map((/** @type {Study} */ one) => [
      make("a", { href: `#studies/${encodeURIComponent(one.name)}`, "aria-current": one === chosen ? "true" : null }, one.name),
      one.kind, measuredOf(one), time(one.changed_at),
    ]), "The folder holds none yet."));
    place.replaceChildren(...(chosen ? await shown(chosen, access) : []));
  }
  const element = make("div", {},
    make("section", { class: "panel", "aria-labelledby": "studies-title" },
      make("h2", { id: "studies-title" }, "Studies"),
      make("p", {}, "Models against corpus scales, policies against each other, and what models know:"),
      make("pre", { class: "scroll", tabindex: "0" }, "ken study run questions.jsonl --corpus notes.ken --out measured/sizes …"),
      list),
    place);
  return { element, enter: (/** @type {string} */ name) => { told(() => open(name)); } };
}

/** What was measured, in a line. @param {Study} study */
function measuredOf({ kind, datasets, models, scales, missing, questions }) {
  if (kind !== "study") return questions == null ? "" : counted(questions, "question");
  const sets = datasets.map(({ name, questions: own }) => (own == null ? name : `${name} (${count(own)})`)).join(", ");
  return `${models.map((model) => model.name).join(", ")}; scales ${scales.join(", ")}; questions of ${sets}` +
    (missing ? `; ${counted(missing, "cell")} missing` : "");
}

/** @param {Study} study @param {import("./access.js").Access} access */
async function shown(study, access) {
  const address = (/** @type {string} */ file) => `/v1/ken/studies/${escaped(study.name)}/${escaped(file)}`;
  const saved = async (/** @type {string} */ file) =>
    saveAs(file.replace(/^.*\//, ""), "application/octet-stream", await text(address(file)));
  // A link carries no key; and the page stands alone, so that nothing in it reads this one.
  const page = study.page && (access.needsKey
    ? button("Save the page", () => told(() => saved(study.page ?? "")))
    : make("a", { href: address(study.page), target: "_blank", rel: "noopener noreferrer" }, "Open the page"));
  const files = study.files.filter((file) => file.name !== study.page);
  const about = make("section", { class: "panel", "aria-label": study.name },
    make("h2", {}, study.name),
    study.models.length > 0 && make("p", { class: "dim" },
      study.models.map((model) => `${model.name}: ${parameters(model.parameters)}`).join(", ")),
    page ? make("p", { class: "row" }, page)
      : study.kind === "study" && make("p", { class: "dim" }, `No report yet: ken study report ${study.name} writes it.`),
    files.length > 0 && make("details", {}, make("summary", {}, "Data"), make("ul", {}, files.map((file) =>
      make("li", {}, button(file.name, () => told(() => saved(file.name)), { class: "link" }), ` ${size(file.bytes)}`)))));
  return [about, ...await drawn(study, address)];
}

/** What is drawn of its data. @param {Study} study @param {(file: string) => string} address @returns {Promise<any[]>} */
async function drawn({ kind, data }, address) {
  if (!data) return [];
  const path = address(data);
  if (kind === "study") return studied(await get(path));
  if (kind === "probe") return probed(readProbe(await text(path)));
  if (data.endsWith(".csv")) return [scores(await text(path))];
  const comparison = readComparison(await text(path));
  return comparison ? compared(comparison) : [];
}

/** @param {number} number */
const parameters = (number) => (number >= 1e9 ? `${(number / 1e9).toPrecision(3)} billion` : `${(number / 1e6).toPrecision(3)} million`);

/** @param {number} bytes */
const size = (bytes) => (bytes < 1e5 ? `${count(bytes)} bytes` : `${(bytes / 1e6).toFixed(1)} MB`);

/** The curves of a study, what makes up for a larger model, and the numbers. @param {Report} report */
function studied(report) {
  const sets = [...new Set(report.series.map((one) => one.dataset))];
  const known = MEASURES.filter(([key]) => report.series.some((one) => one.scales.some((at) => at[key]?.value != null)));
  if (!known.length) return [];
  const option = (/** @type {string} */ value, label = value) => make("option", { value }, label);
  const dataset = make("select", {}, sets.map((name) => option(name)));
  const measure = make("select", {}, known.map(([key, name]) => option(key, name)));
  const drawing = make("div");
  const numbers = make("div");
  function chosen() {
    const series = report.series.filter((one) => one.dataset === dataset.value);
    drawing.replaceChildren(...byScale(report, series, measure.value));
    numbers.replaceChildren(numbersOf(series));
  }
  dataset.addEventListener("change", chosen);
  measure.addEventListener("change", chosen);
  chosen();
  const panel = (/** @type {string} */ title, /** @type {any[]} */ ...children) =>
    make("section", { class: "panel", "aria-label": title }, make("h2", {}, title), children);
  return [
    panel("By corpus scale", make("div", { class: "row" }, field("Data set", dataset), field("Measure", measure)), drawing, numbers),
    panel("n*: how much corpus makes up for a larger model", compensation(report),
      make("p", { class: "dim small" }, "The least corpus scale at which the smaller model is at least as good as the larger one with one shard.")),
  ];
}

/** What a line is called: the model, and how it retrieves where that differs. @param {Series} one @param {Series[]} all */
function lineName({ model, retrieval }, all) {
  /** @type {[(of: NonNullable<Retrieval>) => unknown, (of: NonNullable<Retrieval>) => string][]} */
  const parts = [[(of) => of.order, (of) => of.order], [(of) => of.k, (of) => `k ${of.k}`], [(of) => of.pruned, (of) => `pruned ${of.pruned}`]];
  if (!retrieval) return model;
  const differing = parts.filter(([value]) => all.some((other) => other.retrieval && value(other.retrieval) !== value(retrieval)));
  return [model, ...differing.map(([, name]) => name(retrieval))].join(", ");
}

/** @param {Report} report @param {Series[]} series of one data set @param {string} key */
function byScale(report, series, key) {
  const scales = [...new Set(series.flatMap((one) => one.scales.map((at) => at.n)))].sort((one, other) => one - other);
  const every = Math.ceil(scales.length / TICKS);
  /** @type {(one: Series) => [number, number][]} */
  const points = (one) => one.scales.filter((at) => at[key]?.value != null).map((at) => [at.n, at[key].value]);
  const lines = series.map((one, place) => ({ name: lineName(one, series), class: color(place), points: points(one) }));
  if (!lines.some((line) => line.points.length)) return [make("p", { class: "dim" }, "Nothing was measured of that.")];
  const same = (/** @type {Retrieval} */ one, /** @type {Retrieval} */ other) => JSON.stringify(one) === JSON.stringify(other);
  const rings = report.compensation.flatMap((pair) => {
    const place = series.findIndex((one) => one.model === pair.smaller && one.dataset === pair.dataset && same(one.retrieval, pair.retrieval));
    const n = key === "em" ? pair.by_metric.em : key === "f1" ? pair.by_metric.f1 : null;
    const at = n == null || place < 0 ? undefined : lines[place].points.find((point) => point[0] === n);
    return at ? [{ class: color(place), at, name: `${pair.smaller} is as good as ${pair.larger} with one shard` }] : [];
  });
  return [
    make("p", { class: "row legend" }, lines.map((line, place) => make("span", {}, swatch(place), line.name)),
      rings.length > 0 && make("span", { class: "dim" }, "ring: n*")),
    curves({
      label: "The measure at every corpus scale; the table below says the same in numbers",
      across: { name: "corpus scale, in shards", low: scales[0], high: scales[scales.length - 1],
        ticks: scales.filter((_, place) => place % every === 0).map((n) => [n, String(n)]) },
      lines: lines.filter((line) => line.points.length), rings,
    }),
  ];
}

/** @param {Measure | undefined} measure */
const withInterval = (measure) => (measure?.value == null ? "–"
  : measure.value.toFixed(3) + (measure.interval ? ` [${measure.interval[0].toFixed(3)}, ${measure.interval[1].toFixed(3)}]` : ""));

/** @param {Series[]} series */
function numbersOf(series) {
  const rows = series.flatMap((one) => [
    ...(one.known.value == null ? [] : [[lineName(one, series), "0", withInterval(one.known), "–", "–"]]),
    ...one.scales.map((at) => [lineName(one, series), String(at.n), withInterval(at.em), withInterval(at.f1), withInterval(at.coverage)]),
  ]);
  return make("details", {}, make("summary", {}, "In numbers"),
    table("In numbers", ["model", "#shards", "#exact match", "#F1", "#coverage"], rows, "–"));
}

/** @param {Report} report */
function compensation({ compensation: pairs }) {
  const one = (/** @type {number | null} */ n) => (n == null ? "never" : String(n));
  const bound = (/** @type {Compensation} */ { n_star: n, missing }) =>
    (missing.length ? (n == null ? "unknown" : `at most ${n}`) : one(n));
  return table("n*", ["data set", "smaller", "larger", "retrieval", "#n*", "#by exact match", "#by F1"], pairs.map((pair) => [
    pair.dataset, pair.smaller, pair.larger,
    pair.retrieval ? `${pair.retrieval.order}, k ${pair.retrieval.k}${pair.retrieval.pruned ? `, pruned ${pair.retrieval.pruned}` : ""}` : "–",
    bound(pair), one(pair.by_metric.em), one(pair.by_metric.f1),
  ]), "There is one model only.");
}

/** The columns of compared policies that are shown, as the table names them. */
const SCORES = [
  ["policy", "policy"], ["em", "#exact match"], ["f1", "#F1"], ["retrieval_ratio", "#retrieve"],
];

/** The table of compared policies. @param {string} csv no field of which holds a comma */
function scores(csv) {
  const [head, ...lines] = csv.trim().split("\n").map((line) => line.split(","));
  const columns = SCORES.filter(([name]) => head.includes(name));
  const rows = lines.map((line) => columns.map(([name]) => {
    const value = line[head.indexOf(name)];
    return name === "policy" || value === "" || Number.isNaN(Number(value)) ? value || "–" : Number(value).toFixed(3);
  }));
  return make("section", { class: "panel", "aria-label": "Policies" }, make("h2", {}, "Policies"),
    table("Policies", columns.map(([, label]) => label), rows, "–"));
}
