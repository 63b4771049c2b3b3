// Asking: a question, how it is to be answered, and the answers of several policies side by side.

import { answerCard } from "./answer.js";
import { get } from "./api.js";
import { button, field, make } from "./dom.js";

/** @typedef {{question: string, answer: string}} Exchange */

/** Before a policy in the address of the page. */
const WITH = "with/";

/** @param {import("./access.js").Access} access */
export async function askPage(access) {
  if (!access.may("ask")) {
    return { element: make("p", { class: "panel" }, access.lacks("ask", "ask questions")) };
  }
  const [models, { corpora }] = await Promise.all([get("/v1/models"), get("/v1/ken/corpora")]);
  /** @type {string[]} */
  const policies = models.data.map((model) => model.id).filter((id) => id !== "ken/embedder");
  const asking = form(policies, corpora.map((corpus) => corpus.name));
  const before = make("section", { "aria-label": "Earlier in this conversation", hidden: true });
  const answers = make("div", { class: "answers" });
  /** What was said, by the first policy. @type {Exchange[]} */
  let conversation = [];
  let running = new AbortController();

  async function ask() {
    const question = asking.question.value.trim();
    if (!question) return;
    running.abort();
    const own = running = new AbortController();
    if (!asking.follows.checked) conversation = [];
    before.hidden = !conversation.length;
    before.replaceChildren(...conversation.map((said) =>
      make("p", { class: "said" }, make("strong", {}, said.question), " ", said.answer)));
    const messages = conversation.flatMap((said) => [
      { role: "user", content: said.question }, { role: "assistant", content: said.answer },
    ]);
    messages.push({ role: "user", content: question });
    const cards = asking.chosen().map((model) => answerCard(model, access));
    answers.replaceChildren(...cards.map((card) => card.element));
    asking.stop.disabled = false;
    const options = asking.options();
    const texts = await Promise.all(cards.map((card) => card.ask(messages, options, own.signal)));
    if (running !== own) return;
    asking.stop.disabled = true;
    if (texts[0]) {
      conversation = [...conversation, { question, answer: texts[0] }];
      asking.follow.hidden = false;
    }
  }

  asking.stop.addEventListener("click", () => running.abort());
  asking.element.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  return {
    element: make("div", {}, asking.element, before, answers),
    enter: (/** @type {string} */ rest) => {
      if (rest.startsWith(WITH)) asking.compareWith(rest.slice(WITH.length));
      asking.question.focus();
    },
  };
}

/** What is asked, and how. @param {string[]} policies @param {string[]} corpora */
function form(policies, corpora) {
  const named = policies.map((id) => id.slice("ken/".length));
  const choice = (/** @type {[string, string][]} */ choices) =>
    make("select", {}, choices.map(([value, label]) => make("option", { value }, label)));
  const question = make("textarea", { rows: "2", required: true, autocomplete: "off", enterkeyhint: "send" });
  // The first one is that of the settings.
  const policy = choice([["ken", `${named[0]}, as in the settings`], ...named.slice(1).map((name) => /** @type {[string, string]} */ ([`ken/${name}`, name]))]);
  const corpus = choice(corpora.map((name) => [name, name]));
  const style = choice([["", "as in the settings"], ["short", "a few words"], ["full", "sentences"]]);
  const mode = choice([["", "as in the settings"], ["hybrid", "hybrid"], ["dense", "dense"], ["lexical", "lexical"]]);
  const k = make("input", { type: "number", min: "1", max: "100", placeholder: "as in the settings" });
  const filter = make("input", { placeholder: "year>=2020 AND lang IN (de, en)", autocomplete: "off" });
  const other = make("input", { placeholder: "certainty@0.4", autocomplete: "off", spellcheck: "false" });
  const boxes = named.map((name, place) => make("input", { type: "checkbox", value: place ? `ken/${name}` : "ken" }));
  const follows = make("input", { type: "checkbox" });
  const follow = make("label", { class: "check", hidden: true }, follows, "Goes on from the last answer");
  const stop = button("Stop", () => {}, { disabled: true });
  const more = make("details", {}, make("summary", {}, "More"),
    make("div", { class: "row" },
      field("Another policy to compare with", other), field("Style of the answer", style), field("Search", mode),
      field("Passages", k), field("Only documents with", filter)));
  const element = make("form", { class: "panel", "aria-label": "Question" },
    field("Question", question),
    make("div", { class: "row" },
      field("Policy", policy), corpora.length > 1 && field("Corpus", corpus),
      make("fieldset", {}, make("legend", {}, "Compare with"),
        boxes.map((box, place) => make("label", { class: "check" }, box, named[place])))),
    more,
    make("div", { class: "row" }, make("button", {}, "Ask"), stop, follow));
  question.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    element.requestSubmit();
  });
  return {
    element, question, stop, follow, follows,
    /** Has another policy be compared with. @param {string} name */
    compareWith(name) {
      other.value = name;
      more.open = true;
    },
    /** The models that are asked; the first leads the conversation. @returns {string[]} */
    chosen() {
      const beside = boxes.filter((box) => box.checked).map((box) => box.value);
      const another = other.value.trim() && `ken/${other.value.trim()}`;
      return [...new Set([policy.value, ...beside, another])].filter(Boolean);
    },
    /** What goes into `ken` of the request. */
    options() {
      const condition = filter.value.trim();
      return {
        trace: true,
        ...(corpora.length && { corpus: corpus.value }),
        ...(style.value && { style: style.value }),
        ...(mode.value && { mode: mode.value }),
        ...(k.value && { k: Number(k.value) }),
        ...(condition && { filter: [condition] }),
      };
    },
  };
}
