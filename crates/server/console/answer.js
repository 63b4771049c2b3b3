// An answer: while it is written, and then with what it rests on and how it came about.

import { stream } from "./api.js";
import { button, make } from "./dom.js";
import { duration, count } from "./format.js";
import { feedbackForm } from "./feedback.js";
import { markdown } from "./markdown.js";
import { openPassage, titleOf, withCorpus } from "./passage.js";
import { excerpt, last } from "./sentences.js";
import { details } from "./trace.js";

/**
 * @typedef {import("./access.js").Access} Access
 * @typedef {import("./chats.js").Answer} Answer
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {import("./trace.js").Citation} Citation
 */

/** Characters of a passage that a footnote shows. */
const QUOTED = 160;

/** The first of the characters that stand for marks while Markdown is read; they mean nothing in any text. */
const MARKS = 0xF0000;
const MARK = /([\u{F0000}-\u{FFFFD}])/u;

/** What is answered without, and with retrieval. */
const WITHOUT = "ken/never";
const WITH = "ken/always";

/**
 * A card for an answer.
 * @param {Answer} answer which is filled, or shown as it is
 * @param {Access} access
 * @param {{again: (model: string) => void, mayAsk: (model: string) => boolean, keep: () => void}} chat
 */
export function answerCard(answer, access, chat) {
  const title = make("h3", {}, answer.model === "ken" ? "settings" : answer.model.slice("ken/".length));
  const route = make("span", { class: "badge", hidden: true });
  const cost = make("span", { class: "dim small" });
  const text = make("div", { class: "answer", "aria-live": "polite", "aria-busy": "false" });
  const reason = make("span", { class: "dim small" });
  const again = make("span");
  const more = make("div");
  const element = make("article", { class: "panel", "aria-label": `Answer of ${title.textContent}` },
    make("header", { class: "row" }, title, cost), text, make("div", { class: "row why" }, route, reason, again), more);

  /** @param {Trace} trace */
  function known(trace) {
    title.textContent = trace.small_talk ? "small talk" : trace.policy;
    element.setAttribute("aria-label", `Answer of ${title.textContent}`);
    reason.textContent = trace.small_talk ? "nothing is retrieved for it" : trace.reason;
    route.hidden = !trace.route;
    route.textContent = trace.withheld != null ? "withheld" : trace.route === "self" ? "from memory" : "retrieved";
    route.className = `badge ${trace.withheld != null ? "withheld" : trace.route === "self" ? "self" : "corpus"}`;
  }

  /** Shows all that is known of it. */
  function show() {
    const { trace, usage, failed } = answer;
    if (trace) known(trace);
    text.replaceChildren(...(trace && !failed ? cited(answer.text, trace, access) : markdown(answer.text)));
    const tokens = usage?.total_tokens ? `${count(usage.total_tokens)} tokens` : "";
    cost.textContent = [trace && !failed && duration(trace.timing_ms.total), tokens].filter(Boolean).join(" · ");
    const is = { class: failed === "stopped" ? "dim" : "warn", role: "alert" };
    more.replaceChildren(...(failed ? [make("p", is, failed)] : trace ? [
      footnotes(trace, answer.text, access),
      feedbackForm(answer, trace, access, chat.keep),
      details(trace, usage ?? null, access),
    ] : []));
    offerAgain(trace, failed);
  }

  /** @param {Trace} [trace] @param {string} [failed] */
  function offerAgain(trace, failed) {
    const [model, how] = trace?.route === "self" ? [WITH, "with"] : [WITHOUT, "without"];
    const isOffered = trace && !failed && !trace.small_talk && chat.mayAsk(model);
    const ask = () => {
      again.replaceChildren();
      chat.again(model);
    };
    again.replaceChildren(isOffered ? button(`Ask again ${how} retrieval`, ask, { class: "link small" }) : "");
  }

  /**
   * Asks for it.
   * @param {{role: string, content: string}[]} messages
   * @param {object} ken
   * @param {AbortSignal} signal
   */
  async function ask(messages, ken, signal) {
    const body = { model: answer.model, messages, ken, stream: true, stream_options: { include_usage: true } };
    delete answer.failed;
    text.setAttribute("aria-busy", "true");
    text.replaceChildren(make("p", { class: "dim waits" }, "waiting …"));
    try {
      for await (const chunk of stream("/v1/chat/completions", body, signal)) {
        answer.text += chunk.choices[0]?.delta.content ?? "";
        answer.usage = chunk.usage ?? answer.usage;
        if (chunk.ken) known(answer.trace = chunk.ken);
        if (answer.text) text.replaceChildren(...markdown(answer.text));
      }
    } catch (error) {
      answer.failed = signal.aborted ? "stopped" : error.message;
    }
    show();
    text.setAttribute("aria-busy", "false");
  }
  return { element, ask, show };
}

/**
 * A button that opens a passage at the sentence that says what is cited for it.
 * @param {Citation} citation
 * @param {Trace} trace
 * @param {Access} access
 * @param {string} said
 */
function mark(citation, trace, access, said) {
  const title = titleOf(citation);
  return make("button", {
    type: "button", class: "cite", "aria-label": `Passage ${citation.number}: ${title}`, title,
    onclick: () => openPassage(withCorpus(trace, citation), access, [said, trace.question]),
  }, String(citation.number));
}

/**
 * The text, with a button in the place of each number of a passage. Places are in code points.
 * @param {string} text
 * @param {Trace} trace
 * @param {Access} access
 */
export function cited(text, trace, access) {
  const points = [...text].map((point) => (MARK.test(point) ? "\uFFFD" : point));
  const places = trace.citations.flatMap((citation) => citation.places.map((place) => ({
    ...place, shown: () => mark(citation, trace, access, last(points.slice(0, place.start).join(""))),
  })));
  places.push(...trace.unfounded.map((place) => ({
    ...place,
    shown: () => make("span", { class: "unfounded", title: "names a passage that was not read" },
      points.slice(place.start, place.end).join("")),
  })));
  places.sort((one, other) => one.start - other.start);
  /** @type {(() => any)[]} */
  const marks = [];
  let marked = "";
  let at = 0;
  for (const place of places.filter((one) => one.end <= points.length)) {
    if (place.start < at) continue;
    marked += points.slice(at, place.start).join("") + String.fromCodePoint(MARKS + marks.push(place.shown) - 1);
    at = place.end;
  }
  marked += points.slice(at).join("");
  return markdown(marked, (plain) => plain.split(MARK).map((piece) =>
    (MARK.test(piece) ? marks[Number(piece.codePointAt(0)) - MARKS]?.() ?? "" : piece)));
}

/** What the answer rests on: each passage with the sentence that fits it best. @param {Trace} trace @param {string} text @param {Access} access */
function footnotes(trace, text, access) {
  if (!trace.citations.length) return "";
  return make("ul", { class: "footnotes", "aria-label": "What the answer rests on" }, trace.citations.map((citation) => {
    const { places, heading } = citation;
    const points = [...text];
    const said = places.length ? places.map(({ start }) => last(points.slice(0, start).join(""))).join(" ") : text;
    const [before, at, after] = excerpt(citation.text, [said, trace.question], QUOTED);
    return make("li", {}, mark(citation, trace, access, said), " ", make("strong", {}, titleOf(citation)), heading && ` · ${heading}`,
      make("div", { class: "dim small" }, before, make("mark", {}, at), after));
  }));
}
