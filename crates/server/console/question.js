// What is asked, and how: the form below a conversation.

import { button, field, make } from "./dom.js";

/** @param {string[]} models that can be asked; the first is that of the settings */
export function questionForm(models) {
  const named = models.map((id) => id.slice("ken/".length));
  const choice = (/** @type {string[][]} */ choices) =>
    make("select", {}, choices.map(([value, label]) => make("option", { value }, label)));
  const question = make("textarea", { rows: "1", required: true, autocomplete: "off", enterkeyhint: "send" });
  const label = make("span", {}, "Question");
  const policy = choice([["ken", `${named[0]}, as in the settings`], ...named.slice(1).map((name) => [`ken/${name}`, name])]);
  const corpus = make("select");
  const corpusField = field("Corpus", corpus);
  const style = choice([["", "as in the settings"], ["short", "a few words"], ["full", "sentences"]]);
  const mode = choice([["", "as in the settings"], ["hybrid", "hybrid"], ["dense", "dense"], ["lexical", "lexical"]]);
  const k = make("input", { type: "number", min: "1", max: "100", placeholder: "as in the settings" });
  const filter = make("input", { placeholder: "year>=2020 AND lang IN (de, en)", autocomplete: "off" });
  const other = make("input", { placeholder: "certainty@0.4", autocomplete: "off", spellcheck: "false" });
  const boxes = named.map((name, place) => make("input", { type: "checkbox", value: place ? `ken/${name}` : "ken" }));
  const stop = button("Stop", () => {}, { disabled: true });
  const options = make("details", {}, make("summary", {}, "Options"),
    make("div", { class: "row" }, field("Policy", policy),
      named.length > 1 && make("fieldset", {}, make("legend", {}, "Compare with"),
        boxes.map((box, place) => make("label", { class: "check" }, box, named[place])))),
    make("div", { class: "row" },
      field("Another policy to compare with", other), field("Style of the answer", style), field("Search", mode),
      field("Passages", k), field("Only documents with", filter)));
  const element = make("form", { class: "panel composer", "aria-label": "Question" },
    make("label", {}, label, question),
    make("div", { class: "row" }, make("button", {}, "Ask"), stop, corpusField, options));
  question.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    element.requestSubmit();
  });
  return {
    element, question, stop,
    /** Says whether something was asked before. @param {boolean} isFollowUp */
    follow(isFollowUp) {
      label.textContent = isFollowUp ? "Follow-up" : "Question";
    },
    /** @param {string[]} names of the corpora that there are */
    offer(names) {
      const chosen = corpus.value;
      corpus.replaceChildren(...names.map((name) => make("option", { selected: name === chosen }, name)));
      corpusField.hidden = names.length < 2;
    },
    /** Has another policy be compared with. @param {string} name */
    compareWith(name) {
      other.value = name;
      options.open = true;
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
        ...(corpus.value && { corpus: corpus.value }),
        ...(style.value && { style: style.value }),
        ...(mode.value && { mode: mode.value }),
        ...(k.value && { k: Number(k.value) }),
        ...(condition && { filter: [condition] }),
      };
    },
  };
}
