// The documents of a corpus: which there are, reading them, deleting them.

import { escaped, get, remove } from "./api.js";
import { button, confirmed, field, make, notice, table, told } from "./dom.js";
import { count } from "./format.js";
import { openPassage } from "./passage.js";

/** Documents of a page. */
const LISTED = 50;

/**
 * @param {string} name of the corpus
 * @param {string} path of the corpus
 * @param {import("./access.js").Access} access
 * @param {boolean} mayWrite
 * @param {() => Promise<void>} changed called when a document was deleted
 */
export function documentsPanel(name, path, access, mayWrite, changed) {
  const shown = make("div", { "aria-live": "polite" });
  const prefix = make("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "how its id begins" });
  const form = make("form", { class: "row", "aria-label": `Documents of ${name}` },
    field("Find a document", prefix), make("button", { class: "quiet" }, "Find"));
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    told(show);
  });

  /** @param {string} id */
  const deleting = (id) => button("Delete", () => told(async () => {
    if (!await confirmed(`Delete ${id}?`, "An earlier generation still has it, and can be brought back.", "Delete it")) return;
    const job = await remove(`${path}/documents/${escaped(id)}`);
    await changed();
    notice(`${id} is deleted as of generation ${job.generation}.`);
  }), { "aria-label": `Delete ${id}` });

  /** @param {any} corpus as the server describes it */
  async function showOf(corpus) {
    if (!access.may("search")) {
      shown.replaceChildren(make("p", { class: "dim" }, access.lacks("search", "see the documents")));
    } else if (corpus.generation) {
      try {
        await show();
      } catch (error) {
        // One in Milvus lists none.
        shown.replaceChildren(make("p", { class: "dim" }, error.message));
      }
    } else {
      shown.replaceChildren(make("p", { class: "dim" }, "There are no documents yet."));
    }
  }

  async function show() {
    const query = new URLSearchParams({ limit: String(LISTED), prefix: prefix.value });
    const { data, has_more: isMore } = await get(`${path}/documents?${query}`);
    const rows = data.map((one) => [
      button(one.doc_id, () => told(() => openFirst(one)), { class: "link", "aria-label": `Read ${one.doc_id}` }),
      one.title, count(one.passages), one.metadata?.pages ? count(one.metadata.pages) : null,
      mayWrite && deleting(one.doc_id),
    ]);
    shown.replaceChildren(...[
      table(`Documents of ${name}, newest first`, ["~document", "~title", "#passages", "#pages", ""], rows,
        prefix.value ? "No document begins so." : "There are no documents yet."),
      isMore && make("p", { class: "dim small" }, `The newest ${LISTED}; find others by how their ids begin.`),
    ].filter(Boolean));
  }

  /** @param {any} document */
  async function openFirst(document) {
    const { data } = await get(`${path}/passages?${new URLSearchParams({ document: document.doc_id, limit: "1" })}`);
    if (!data.length) throw new Error(`${document.doc_id} has no text.`);
    await openPassage({ ...data[0], doc_id: document.doc_id, title: document.title, corpus: { name, generation: 0 } }, access);
  }

  return { element: make("div", {}, form, shown), show: showOf };
}
