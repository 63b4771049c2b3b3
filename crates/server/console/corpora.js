// Corpora: which there are, and one of them: putting documents in, searching, leaving out, bringing back.

import { escaped, get, post, remove } from "./api.js";
import { documentsPanel } from "./documents.js";
import { button, confirmed, field, make, notice, table, told } from "./dom.js";
import { count, time } from "./format.js";
import { prunedPanel } from "./pruned.js";
import { searchPanel } from "./search.js";
import { uploadPanel } from "./upload.js";

/** @typedef {import("./access.js").Access} Access */

/** @param {Access} access */
export async function corporaPage(access) {
  const list = make("div");
  const place = make("div");
  let chosen = "";

  async function refresh() {
    const { corpora } = await get("/v1/ken/corpora");
    if (!corpora.some((corpus) => corpus.name === chosen)) chosen = corpora[0]?.name ?? "";
    list.replaceChildren(table("Corpora", ["corpus", "#generation", "#passages", "embedder"],
      corpora.map((corpus) => [
        make("a", { href: `#documents/${encodeURIComponent(corpus.name)}`,
          "aria-current": corpus.name === chosen ? "true" : null }, corpus.title ?? corpus.name),
        count(corpus.generation), corpus.passages === undefined ? null : count(corpus.passages), corpus.embedder,
      ]), "There are no corpora yet: create one, and add documents to it."));
  }
  /** Shows a corpus, or the first one. @param {string} name */
  async function open(name) {
    chosen = name;
    await refresh();
    place.replaceChildren();
    if (chosen) place.replaceChildren(await corpusView(chosen, access, refresh, () => open("")));
  }

  const element = make("div", {},
    make("section", { class: "panel", "aria-labelledby": "corpora-title" },
      make("h2", { id: "corpora-title" }, "Corpora"), list, making(access)),
    place);
  return {
    element,
    enter: (/** @type {string} */ name) => {
      told(() => (place.firstChild && (!name || name === chosen) ? refresh() : open(name)));
    },
  };
}

/** What keeps this key from changing corpora; nothing where it may. @param {Access} access */
function cannotWrite(access) {
  if (!access.takesDocuments) {
    return "This server takes no documents in: it was started without a folder for that (the setting server_data).";
  }
  return access.may("write") ? "" : access.lacks("write", "change corpora");
}

/** @param {Access} access */
function making(access) {
  const refused = cannotWrite(access);
  if (refused) return make("p", { class: "dim" }, refused);
  const name = make("input", { required: true, pattern: "[A-Za-z0-9_\\-]{1,64}", autocomplete: "off", spellcheck: "false",
    title: "up to 64 letters, digits, - and _" });
  const form = make("form", { class: "row" }, field("New corpus", name), make("button", { class: "quiet" }, "Create"));
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    told(async () => {
      await post("/v1/ken/corpora", { name: name.value });
      location.hash = `#documents/${encodeURIComponent(name.value)}`;
      name.value = "";
    });
  });
  return form;
}

/**
 * @param {string} name
 * @param {Access} access
 * @param {() => Promise<void>} refreshList
 * @param {() => Promise<void>} gone called when it was removed
 */
async function corpusView(name, access, refreshList, gone) {
  const history = make("div");
  const path = `/v1/ken/corpora/${escaped(name)}`;
  async function changed() {
    const corpus = await get(path);
    history.replaceChildren(generations(corpus, path, access, changed));
    await documents.show(corpus);
    await pruned.show(corpus);
    await refreshList();
  }
  const mayWrite = !cannotWrite(access);
  const documents = documentsPanel(name, path, access, mayWrite, changed);
  const pruned = prunedPanel(path, access, mayWrite, changed);
  const element = make("div", { class: "columns" },
    make("section", { class: "panel wide", "aria-labelledby": "documents-title" },
      make("h2", { id: "documents-title" }, `Documents of ${name}`),
      mayWrite ? uploadPanel(name, path, changed) : make("p", { class: "dim" }, cannotWrite(access)),
      documents.element, mayWrite && removing(name, path, gone)),
    searchPanel(name, access),
    pruned.element,
    make("section", { class: "panel wide", "aria-labelledby": "generations-title" },
      make("h2", { id: "generations-title" }, "Generations"), history));
  await changed();
  return element;
}

/** @param {string} name @param {string} path @param {() => Promise<void>} gone */
function removing(name, path, gone) {
  return make("p", { class: "row" }, button("Remove this corpus …", () => told(async () => {
    const title = `Remove ${name}?`;
    if (!await confirmed(title, "All of its documents and generations are deleted. This cannot be undone.", "Remove")) return;
    await remove(path);
    await gone();
    notice(`${name} is removed.`);
  })));
}

/**
 * The generations that can be brought back, newest first.
 * @param {any} corpus
 * @param {string} path
 * @param {Access} access
 * @param {() => Promise<void>} changed
 */
function generations(corpus, path, access, changed) {
  const back = (/** @type {number} */ generation) => button("Bring back", () => told(async () => {
    const job = await post(`${path}/rollback`, { generation });
    await changed();
    notice(`Generation ${generation} is back, as generation ${job.generation}.`);
  }), { "aria-label": `Bring back generation ${generation}` });
  const mayWrite = !cannotWrite(access);
  const rows = corpus.history.toReversed().map((past) => [
    String(past.generation), past.change, time(past.created_at), count(past.documents), count(past.passages),
    past.pruned ? count(past.pruned) : "–",
    past.current ? make("strong", {}, "current") : mayWrite ? back(past.generation) : "",
  ]);
  return table("Generations", ["generation", "change", "when", "#documents", "#passages", "#pruned", ""], rows,
    "None yet: nothing was put in, or the corpus is in Milvus, which keeps no history.");
}
