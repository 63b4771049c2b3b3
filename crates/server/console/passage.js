// The dialog that shows a passage.

import { escaped, get } from "./api.js";
import { byId, notice, terms } from "./dom.js";

/**
 * @typedef {{name: string, generation: number}} CorpusState
 * @typedef {{corpus: CorpusState | null, passage_id: string, doc_id: string, title: string, text: string,
 *   metadata?: Record<string, unknown>}} Passage
 */

/**
 * Shows what is known of a passage at once, and the whole of it where the key may read it.
 * @param {Passage} passage
 * @param {import("./access.js").Access} access
 */
export async function openPassage(passage, access) {
  fill(passage);
  byId("passage-dialog").showModal();
  if (!passage.corpus || !access.may("search")) return;
  try {
    fill(await get(`/v1/ken/corpora/${escaped(passage.corpus.name)}/passages/${escaped(passage.passage_id)}`));
  } catch (error) {
    // A later generation may be without it: what was read still stands there.
    notice(error.message);
  }
}

/** @param {Passage} passage */
function fill(passage) {
  byId("passage-title").textContent = passage.title || passage.doc_id;
  const { corpus } = passage;
  byId("passage-place").textContent =
    corpus ? `${passage.passage_id} in ${corpus.name}, generation ${corpus.generation}` : passage.passage_id;
  byId("passage-text").textContent = passage.text;
  const metadata = Object.entries(passage.metadata ?? {});
  const worded = metadata.map(([name, value]) =>
    /** @type {[string, string]} */ ([name, typeof value === "string" ? value : JSON.stringify(value)]));
  byId("passage-metadata").replaceChildren(...terms(worded).children);
}
