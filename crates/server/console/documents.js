// The documents of a corpus: which there are, reading them, deleting them.

import { escaped, get, remove } from "./api.js";
import { button, confirmed, field, make, notice, table, told } from "./dom.js";
import { count } from "./format.js";
import { openDocument } from "./passage.js";

/** Documents of a page. */
const LISTED = 50;

const EMPTY = "There are no documents yet.";

/**
 * @param {string} name of the corpus
 * @param {string} path of the corpus
 * @param {import("./access.js").Access} access
 * @param {boolean} mayWrite
 * @param {() => Promise<void>} changed called when a document was deleted
 */
export function documentsPanel(name, path, access, mayWrite, changed) {
  const shown = make("div", { class: "listed", "aria-live": "polite" });
  const prefix = make("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "how its id begins" });
  const form = make("form", { class: "row", "aria-label": `Documents of ${name}` },
    field("Find a document", prefix), make("button", { class: "quiet" }, "Find"));
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    told(() => show());
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
      shown.replaceChildren(make("p", { class: "dim" }, EMPTY));
    }
  }

  /** @param {any[]} [before] the documents of the pages before */
  async function show(before = []) {
    const query = new URLSearchParams({ limit: String(LISTED), prefix: prefix.value, after: before.at(-1)?.doc_id ?? "" });
    const page = await get(`${path}/documents?${query}`);
    const listed = [...before, ...page.data];
    const rows = listed.map((one) => [
      button(one.doc_id, () => told(() => openDocument(one, name, access)), { class: "link", "aria-label": `Read ${one.doc_id}` }),
      one.title, count(one.passages), one.pruned ? count(one.pruned) : null, one.metadata?.pages ? count(one.metadata.pages) : null,
      mayWrite && deleting(one.doc_id),
    ]);
    shown.replaceChildren(
      table(`Documents of ${name}, newest first`, ["~document", "~title", "#passages", "#pruned", "#pages", ""], rows,
        prefix.value ? "No document begins so." : EMPTY),
      page.has_more ? button("More documents", () => told(() => show(listed))) : "");
  }

  return { element: make("div", {}, form, shown), show: showOf };
}
