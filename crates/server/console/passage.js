// The dialog that shows a passage, and those before and after it.

import { escaped, get } from "./api.js";
import { byId, notice, terms, told } from "./dom.js";

/**
 * @typedef {{name: string, generation: number}} CorpusState
 * @typedef {{corpus: CorpusState | null, passage_id: string, doc_id: string, title: string, text: string,
 *   heading?: string, page?: number, last_page?: number, url?: string, metadata?: Record<string, unknown>}} Passage
 */

/** What a passage is called: its document's title, and its page where there are pages. @param {any} passage */
export const titleOf = (passage) => [passage.title || passage.doc_id, passage.page && `p. ${passage.page}`].filter(Boolean).join(", ");

/**
 * Shows what is known of a passage at once, and the whole of it where the key may read it.
 * @param {Passage} passage
 * @param {import("./access.js").Access} access
 */
export async function openPassage(passage, access) {
  fill(passage);
  byId("passage-dialog").showModal();
  const { corpus } = passage;
  const mayRead = corpus && access.may("search");
  for (const id of ["passage-before", "passage-after"]) byId(id).hidden = !mayRead;
  if (!mayRead) return;
  try {
    await read(corpus.name, passage.passage_id);
  } catch (error) {
    // A later generation may be without it: what was read still stands there.
    notice(error.message);
  }
}

/** @param {string} corpus @param {string} id */
async function read(corpus, id) {
  fill(await get(`/v1/ken/corpora/${escaped(corpus)}/passages/${escaped(id)}`));
  const place = id.lastIndexOf("#");
  const number = Number(id.slice(place + 1));
  for (const [name, next] of [["passage-before", number - 1], ["passage-after", number + 1]]) {
    byId(name).disabled = Number(next) < 0;
    byId(name).onclick = () => told(() => read(corpus, `${id.slice(0, place)}#${next}`));
  }
}

/** @param {Passage} passage */
function fill(passage) {
  byId("passage-title").textContent = titleOf(passage);
  const { corpus } = passage;
  const of = corpus?.generation ? `${passage.passage_id} in ${corpus.name}, generation ${corpus.generation}` : passage.passage_id;
  const pages = passage.last_page && `pages ${passage.page} to ${passage.last_page}`;
  byId("passage-place").textContent = [passage.heading, pages, of].filter(Boolean).join(" · ");
  byId("passage-url").hidden = !passage.url;
  if (passage.url) byId("passage-url").href = passage.url;
  byId("passage-text").textContent = passage.text;
  const metadata = Object.entries(passage.metadata ?? {});
  const worded = metadata.map(([name, value]) =>
    /** @type {[string, string]} */ ([name, typeof value === "string" ? value : JSON.stringify(value)]));
  byId("passage-metadata").replaceChildren(...terms(worded).children);
}
