// Searching a corpus.

import { post } from "./api.js";
import { button, field, make, table } from "./dom.js";
import { counted, duration } from "./format.js";
import { openPassage, titleOf } from "./passage.js";
import { excerpt } from "./sentences.js";

/** @param {string} name of the corpus @param {import("./access.js").Access} access */
export function searchPanel(name, access) {
  const query = make("input", { type: "search", required: true, autocomplete: "off" });
  const mode = make("select", {}, [["", "as in the settings"], ["hybrid", "hybrid"], ["dense", "dense"], ["lexical", "lexical"]]
    .map(([value, label]) => make("option", { value }, label)));
  const found = make("div", { "aria-live": "polite" });
  const form = make("form", { role: "search", class: "row", "aria-label": `Search ${name}` },
    field("Query", query), field("Mode", mode), make("button", {}, "Search"));
  form.addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    found.setAttribute("aria-busy", "true");
    try {
      const asked = { query: query.value, corpus: name, k: 10, ...(mode.value && { mode: mode.value }) };
      const { corpus, hits, ms } = await post("/v1/ken/search", asked);
      const rows = hits.map((hit) => {
        const [before, at, after] = excerpt(hit.text, [asked.query], 200);
        return [
          button(titleOf(hit), () => openPassage({ ...hit, corpus }, access, [asked.query]), { class: "link" }),
          [hit.heading && make("div", { class: "dim small" }, hit.heading), before, make("mark", {}, at), after], hit.score.toFixed(3),
        ];
      });
      found.replaceChildren(
        make("p", { class: "dim" }, `${counted(hits.length, "passage")} of generation ${corpus.generation} in ${duration(ms)}`),
        table("Passages found", ["document", "~text", "#score"], rows, "Nothing was found."));
    } catch (error) {
      found.replaceChildren(make("p", { class: "warn" }, error.message));
    }
    found.removeAttribute("aria-busy");
  });
  return make("section", { class: "panel wide", "aria-labelledby": "search-title" },
    make("h2", { id: "search-title" }, `Search ${name}`),
    access.may("search") ? [form, found] : make("p", { class: "dim" }, access.lacks("search", "search")));
}
