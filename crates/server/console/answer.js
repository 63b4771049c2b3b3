// An answer: while it is written, and then with what it rests on and how it came about.

import { stream } from "./api.js";
import { make } from "./dom.js";
import { duration, count } from "./format.js";
import { feedbackForm } from "./feedback.js";
import { openPassage, titleOf } from "./passage.js";
import { details } from "./trace.js";

/**
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {import("./trace.js").Citation} Citation
 */

/**
 * A card for the answer of one policy.
 * @param {string} model
 * @param {import("./access.js").Access} access
 */
export function answerCard(model, access) {
  const title = make("h2", {}, model === "ken" ? "settings" : model.slice("ken/".length));
  const route = make("span", { class: "badge", hidden: true });
  const cost = make("span", { class: "dim" });
  const text = make("p", { class: "answer", "aria-live": "polite", "aria-busy": "true" },
    make("span", { class: "dim waits" }, "waiting …"));
  const reason = make("p", { class: "dim reason" });
  const more = make("div");
  const element = make("article", { class: "panel", "aria-label": `Answer of ${title.textContent}` },
    make("header", { class: "row" }, title, route, cost), text, reason, more);

  /** @param {Trace} trace */
  function known(trace) {
    title.textContent = trace.policy;
    element.setAttribute("aria-label", `Answer of ${trace.policy}`);
    reason.textContent = trace.small_talk ? "small talk: nothing is retrieved" : trace.reason;
    if (!trace.route) return;
    route.hidden = false;
    route.textContent = trace.route === "self" ? "from memory" : "retrieved";
    route.className = `badge ${trace.route === "self" ? "self" : "corpus"}`;
  }

  /**
   * Asks, and returns the answer; nothing where there is none.
   * @param {{role: string, content: string}[]} messages
   * @param {object} ken
   * @param {AbortSignal} signal
   * @returns {Promise<string | undefined>}
   */
  async function ask(messages, ken, signal) {
    const body = { model, messages, ken, stream: true, stream_options: { include_usage: true } };
    let written = "";
    /** @type {Trace | undefined} */
    let trace;
    let usage = null;
    try {
      for await (const chunk of stream("/v1/chat/completions", body, signal)) {
        written += chunk.choices[0]?.delta.content ?? "";
        usage = chunk.usage ?? usage;
        if (chunk.ken) known(trace = chunk.ken);
        if (written) text.textContent = written;
      }
      if (!trace) return undefined;
      text.replaceChildren(...cited(written, trace, access));
      const tokens = usage ? `${count(usage.total_tokens)} tokens` : "";
      cost.textContent = [duration(trace.timing_ms.total), tokens].filter(Boolean).join(" · ");
      more.replaceChildren(sources(trace, access), feedbackForm(trace, written, access), details(trace, usage, access));
      return written;
    } catch (error) {
      if (!written) text.replaceChildren();
      const message = signal.aborted ? "stopped" : error.message;
      more.replaceChildren(make("p", { class: signal.aborted ? "dim" : "warn", role: "alert" }, message));
      return undefined;
    } finally {
      text.setAttribute("aria-busy", "false");
    }
  }
  return { element, ask };
}

/** A button that opens a passage. @param {Citation} citation @param {Trace} trace @param {import("./access.js").Access} access */
function mark(citation, trace, access) {
  const title = titleOf(citation);
  return make("button", {
    type: "button", class: "cite", "aria-label": `Passage ${citation.number}: ${title}`, title,
    onclick: () => openPassage({ corpus: trace.corpus, ...citation }, access),
  }, String(citation.number));
}

/**
 * The text, with a button in the place of each number of a passage. Places are in code points.
 * @param {string} text
 * @param {Trace} trace
 * @param {import("./access.js").Access} access
 */
export function cited(text, trace, access) {
  const points = [...text];
  const places = trace.citations.flatMap((citation) =>
    citation.places.map((place) => ({ ...place, shown: () => mark(citation, trace, access) })));
  places.push(...trace.unfounded.map((place) => ({
    ...place,
    shown: () => make("span", { class: "unfounded", title: "names a passage that was not read" },
      points.slice(place.start, place.end).join("")),
  })));
  places.sort((one, other) => one.start - other.start);
  const parts = [];
  let at = 0;
  for (const place of places.filter((one) => one.end <= points.length)) {
    if (place.start < at) continue;
    parts.push(points.slice(at, place.start).join(""), place.shown());
    at = place.end;
  }
  parts.push(points.slice(at).join(""));
  return parts;
}

/** What the answer rests on. @param {Trace} trace @param {import("./access.js").Access} access */
function sources(trace, access) {
  if (!trace.citations.length) return "";
  return make("p", { class: "sources" }, "Rests on ",
    trace.citations.map((citation) => make("span", { class: "source" }, mark(citation, trace, access), " ",
      titleOf(citation))));
}
