// Traffic: how many questions come, which route they take, what that saves, and how the guarantee stands.

import { get, text } from "./api.js";
import { SHOWN, bars } from "./chart.js";
import { changed, make, notice, table, terms } from "./dom.js";
import { count, duration, measured, share } from "./format.js";
import { by, quantile, samples, sum } from "./metrics.js";
import { drifted, promise, standing } from "./trace.js";
import { tracesPanel } from "./traces.js";

/** How often the server is looked at, in milliseconds. */
const EVERY = 2000;

/** Routes that the console itself asks, beside which nothing else would be seen. */
const OWN = new Set(["", "/", "/console/{version}/{file}", "/metrics", "/v1/ken/access", "/v1/ken/guarantee",
  "/v1/ken/traces", "/openapi.json", "/health", "/ready"]);

/** @param {{element: Element}} traces */
const lastQuestions = (traces) =>
  make("section", { class: "panel", "aria-label": "Last questions" }, make("h2", {}, "Last questions"), traces.element);

/** @param {import("./access.js").Access} access */
export async function trafficPage(access) {
  if (!access.may("admin")) {
    return { element: make("p", { class: "panel" }, access.lacks("admin", "read metrics")) };
  }
  const traces = access.keepsTraces ? tracesPanel(access) : null;
  if (!access.seesAll) {
    const why = make("p", { class: "panel" }, "This key is for some corpora, and metrics are of all corpora together.");
    return { element: make("div", {}, why, traces && lastQuestions(traces)), enter: () => traces?.load(), leave: () => {} };
  }
  const figures = make("div", { class: "figures" });
  const live = make("div");
  const guarantee = make("div");
  const policies = make("div");
  const times = make("div");
  const requests = make("div");
  const panel = (/** @type {string} */ title, /** @type {any[]} */ ...children) =>
    make("section", { class: "panel", "aria-label": title }, make("h2", {}, title), children);
  const element = make("div", {},
    make("section", { class: "panel", "aria-label": "Since the server started" }, figures),
    panel("Live", live),
    make("div", { class: "columns" }, panel("Guarantee", guarantee), panel("Answers by policy", policies),
      panel("Times", times), panel("Requests", requests)),
    traces && lastQuestions(traces));

  /** @type {{corpus: number, self: number}[]} */
  const series = [];
  /** @type {{corpus: number, self: number} | undefined} */
  let before;
  async function refresh() {
    const all = samples(await text("/metrics"));
    const isWatched = all.some((one) => one.name === "ken_guarantee");
    const state = isWatched ? await get("/v1/ken/guarantee") : null;
    const answers = { corpus: 0, self: sum(all, "ken_answers_total", { source: "self" }) };
    answers.corpus = sum(all, "ken_answers_total") - answers.self;
    // A server that was started anew counts from zero.
    const isAnew = before && answers.corpus + answers.self < before.corpus + before.self;
    if (before && !isAnew) series.push({ corpus: answers.corpus - before.corpus, self: answers.self - before.self });
    before = answers;
    changed(figures, ...sums(all, answers));
    changed(live, ...chart(series));
    changed(guarantee, state ? report(state, all) : make("p", { class: "dim" },
      "None is watched: the server was started without a calibration."));
    changed(policies, table("Answers by policy", ["policy", "source", "#answers"],
      by(all, "ken_answers_total", ["policy", "source"]).map(([labels, value]) => [...labels, count(value)]),
      "Nothing was asked yet."));
    changed(times, ...latencies(all));
    changed(requests, ...responses(all));
  }

  let timer = 0;
  let isFailing = false;
  async function tick() {
    if (document.hidden) {
      // What came meanwhile is no bar of its own.
      before = undefined;
      return;
    }
    try {
      await refresh();
      isFailing = false;
    } catch (error) {
      if (!isFailing) notice(error.message);
      isFailing = true;
    }
  }
  await refresh();
  return {
    element,
    enter: () => {
      timer = setInterval(tick, EVERY);
      traces?.load();
    },
    leave: () => {
      clearInterval(timer);
      before = undefined;
    },
  };
}

/** @param {import("./metrics.js").Sample[]} all @param {{corpus: number, self: number}} answers */
function sums(all, { corpus, self }) {
  const figure = (/** @type {string} */ label, /** @type {string} */ value) =>
    make("p", { class: "figure" }, make("strong", {}, value), label);
  return [
    figure("questions answered", count(corpus + self)),
    figure("retrievals saved", count(self)),
    figure("from memory", share(self, corpus + self)),
    figure("withheld", share(sum(all, "ken_withheld_total"), corpus + self)),
    figure("tokens read", count(sum(all, "ken_tokens_total", { kind: "prompt" }))),
    figure("tokens written", count(sum(all, "ken_tokens_total", { kind: "completion" }))),
    figure("working, waiting", `${count(sum(all, "ken_working"))}, ${count(sum(all, "ken_waiting"))}`),
  ];
}

/** @param {{corpus: number, self: number}[]} series */
function chart(series) {
  const seconds = Math.min(series.length, SHOWN) * EVERY / 1000;
  const recent = series.slice(-SHOWN).reduce((total, { corpus, self }) => total + corpus + self, 0);
  const rate = `${(60 * recent / Math.max(1, seconds)).toFixed(1)} questions a minute over ${seconds} s`;
  const { chart, most } = bars(series, `${recent} questions in the last ${seconds} seconds`);
  return [
    make("p", { class: "row legend" },
      make("span", {}, make("span", { class: "swatch corpus" }), "retrieved"),
      make("span", {}, make("span", { class: "swatch self" }), "from memory"),
      make("span", { class: "dim" }, seconds ? `${rate}; highest bar: ${most} in ${EVERY / 1000} s` : `a bar every ${EVERY / 1000} s`)),
    chart,
  ];
}

/** @param {any} state @param {import("./metrics.js").Sample[]} all */
function report(state, all) {
  const rows = state.tests.map((test) => [
    test.test, measured(test.limit), measured(test.mean), count(test.observed),
    `${measured(test.evidence)} of ${count(test.rejects_at)}`,
  ]);
  const watched = by(all, "ken_watched_total", ["outcome"]).map(([[outcome], value]) => `${count(value)} ${outcome}`);
  return make("div", {},
    terms([
      ["state", make("strong", { class: state.standing === "holds" ? "good" : "warn" }, standing(state.standing))],
      ["policy", state.policy],
      ["promise", promise(state)],
      ["calibrated on", `${count(state.questions)} questions of ${state.records}`],
      ["watched on", `${share(state.share, 1)} of the questions`],
      ["drawn", watched.join(", ")],
      ["against calibration", make("span", { class: state.drift?.drifted ? "warn" : "" }, drifted(state.drift))],
    ]),
    table("Tests of the guarantee", ["test", state.max_error == null ? "#allowed loss" : "#allowed errors",
      state.max_error == null ? "#mean loss" : "#errors", "#questions", "#evidence"], rows, "–"));
}

/** @param {import("./metrics.js").Sample[]} all */
function latencies(all) {
  const row = (/** @type {string} */ label, /** @type {string} */ name) => {
    const at = (/** @type {number} */ q) => {
      const seconds = quantile(all, name, q);
      return duration(seconds == null ? null : 1000 * seconds);
    };
    return [label, at(0.5), at(0.95)];
  };
  const counts = new Map(by(all, "ken_stage_seconds_count", ["stage"]).map(([[stage], value]) => [stage, value]));
  const stages = by(all, "ken_stage_seconds_sum", ["stage"]).map(([[stage], seconds]) =>
    [stage, duration(1000 * seconds / (counts.get(stage) ?? 1)), count(counts.get(stage) ?? 0)]);
  return [
    table("Times to answer", ["", "#p50", "#p95"], [
      row("first token", "ken_first_token_seconds"), row("whole answer", "ken_answer_seconds"),
    ], "–"),
    make("p", { class: "dim small" }, "Interpolated within the buckets of the histograms."),
    table("Mean time by stage", ["stage", "#mean", "#times"], stages, "No stage was timed yet."),
  ];
}

/** @param {import("./metrics.js").Sample[]} all */
function responses(all) {
  const rows = by(all, "ken_requests_total", ["route", "status"]).filter(([[route]]) => !OWN.has(route));
  const failures = by(all, "ken_failures_total", ["code"]).map(([[code], value]) => [code, count(value)]);
  return [
    table("Requests", ["route", "status", "#requests"],
      rows.map(([[route, status], value]) => [route, Number(status) < 400 ? status : make("span", { class: "warn" }, status), count(value)]),
      "None but those of this page."),
    failures.length ? table("Questions that were not answered", ["not answered because of", "#questions"], failures, "") : "",
  ];
}
