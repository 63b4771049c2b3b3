// The dialog that shows a passage in its place in the document, and a document from its beginning.

import { escaped, get } from "./api.js";
import { byId, make, notice, outside, terms, told } from "./dom.js";
import { closest } from "./sentences.js";

/**
 * @typedef {{name: string, generation: number}} CorpusState
 * @typedef {{corpus: CorpusState | null, passage_id: string, doc_id: string, title: string, text: string,
 *   heading?: string, page?: number, last_page?: number, url?: string, metadata?: Record<string, unknown>, pruned?: boolean}} Passage
 */

/** Passages that are shown before and after one, and that are added at once. */
const AROUND = 2;
const MORE = 5;

/** What a passage is called: its document's title, and its page where there are pages. @param {any} passage */
export const titleOf = (passage) => [passage.title || passage.doc_id, passage.page && `p. ${passage.page}`].filter(Boolean).join(", ");

/** Where a passage is read. @param {string} corpus */
const pathOf = (corpus) => `/v1/ken/corpora/${escaped(corpus)}/passages`;

/** Its number in its document, from 0. @param {{passage_id: string}} passage */
const numberOf = ({ passage_id: id }) => Number(id.slice(id.lastIndexOf("#") + 1));

/** How often a passage was opened: what comes too late is not shown. */
let turns = 0;

/**
 * A passage of an answer with its corpus, which it names itself where several were searched.
 * @template {{corpus?: string}} P
 * @param {{corpus?: {name: string, generation: number} | null}} trace
 * @param {P} passage
 */
export const withCorpus = ({ corpus }, passage) =>
  ({ ...passage, corpus: passage.corpus ? { name: passage.corpus, generation: 0 } : corpus });

/**
 * Shows what is known of a passage at once, and then its place in the document where the key may read it.
 * @param {Passage} passage
 * @param {import("./access.js").Access} access
 * @param {string[]} [wanted] what the sentence that is marked says; none is marked without
 */
export async function openPassage(passage, access, wanted = []) {
  const turn = ++turns;
  name(passage);
  byId("passage-text").replaceChildren(shown(passage, passage, wanted));
  for (const id of ["passage-before", "passage-after"]) byId(id).hidden = true;
  byId("passage-dialog").showModal();
  const { corpus } = passage;
  if (!corpus || !access.may("search")) return;
  try {
    const whole = await get(`${pathOf(corpus.name)}/${escaped(passage.passage_id)}`)
      .catch((error) => (error.code === "unknown_passage" ? passage : Promise.reject(error)));
    if (turn !== turns) return;
    name(whole);
    byId("passage-text").replaceChildren(shown(whole, whole, wanted));
    await showAround(whole, wanted, turn);
  } catch (error) {
    // A later generation may be without the document, and one in Milvus lists none: what was read still stands there.
    if (error.code !== "documents_not_listed") notice(error.message);
  }
}

/**
 * Shows a document from its beginning.
 * @param {{doc_id: string, title: string}} document
 * @param {string} corpus
 * @param {import("./access.js").Access} access
 */
export async function openDocument({ doc_id, title }, corpus, access) {
  const { data: [first] } = await get(`${pathOf(corpus)}?${new URLSearchParams({ document: doc_id, limit: "1" })}`);
  if (!first) throw new Error(`${doc_id} has no text.`);
  await openPassage({ ...first, doc_id, title, corpus: { name: corpus, generation: 0 } }, access);
}

/** Shows the passages beside one, and offers more of them. @param {Passage} whole @param {string[]} wanted @param {number} turn */
async function showAround(whole, wanted, turn) {
  const { doc_id: document, passage_id: id, corpus } = whole;
  const place = byId("passage-text");
  /** Passages from a number on. @param {number} from @param {number} limit */
  const read = (from, limit) => get(`${pathOf(corpus?.name ?? "")}?${new URLSearchParams({
    document, limit: String(limit), ...(from > 0 && { after: `${document}#${from - 1}` }) })}`);
  let from = Math.max(0, numberOf(whole) - AROUND);
  const { data, has_more: isMore } = await read(from, 2 * AROUND + 1);
  if (turn !== turns) return;
  if (!data.some((one) => one.passage_id === id)) throw new Error("The document is without this passage by now.");
  place.replaceChildren(...data.map((one) => shown(one, whole, wanted)));
  (place.querySelector("mark") ?? place.querySelector("[aria-current]"))?.scrollIntoView({ block: "center" });
  let to = numberOf(data[data.length - 1]) + 1;
  const [before, after] = [byId("passage-before"), byId("passage-after")];
  before.hidden = from === 0;
  after.hidden = !isMore;
  before.onclick = () => told(async () => {
    const start = Math.max(0, from - MORE);
    const page = await read(start, from - start);
    [from, before.hidden] = [start, start === 0];
    place.prepend(...page.data.map((one) => shown(one, whole, wanted)));
    place.firstElementChild?.scrollIntoView({ block: "start" });
  });
  after.onclick = () => told(async () => {
    const page = await read(to, MORE);
    [to, after.hidden] = [to + page.data.length, !page.has_more];
    place.append(...page.data.map((one) => shown(one, whole, wanted)));
    byId(`passage-${to - page.data.length}`)?.scrollIntoView({ block: "start" });
  });
}

/** One of the passages; in the one that was opened, the sentence that is wanted is marked. @param {any} one @param {Passage} whole @param {string[]} wanted */
function shown(one, whole, wanted) {
  const isOpened = one.passage_id === whole.passage_id;
  const found = isOpened && wanted.length ? closest(one.text, wanted) : null;
  const { start, end } = found ?? { start: 0, end: 0 };
  const label = [one.page && `p. ${one.page}`, one.heading].filter(Boolean).join(" · ");
  return make("section", { id: `passage-${numberOf(one)}`, "aria-current": isOpened ? "true" : null },
    make("p", { class: "dim small" }, label, one.pruned && make("span", { class: "badge" }, "pruned")),
    make("p", {}, one.text.slice(0, start), found && make("mark", {}, one.text.slice(start, end)), one.text.slice(end)));
}

/** Says which passage it is. @param {Passage} passage */
function name(passage) {
  const { corpus, passage_id: id, url } = passage;
  byId("passage-title").textContent = titleOf(passage);
  const of = corpus?.generation ? `${id} in ${corpus.name}, generation ${corpus.generation}` : id;
  const pages = passage.last_page && `pages ${passage.page} to ${passage.last_page}`;
  byId("passage-place").textContent = [passage.heading, pages, of].filter(Boolean).join(" · ");
  const address = outside(url ?? "");
  byId("passage-url").hidden = !address;
  if (address) byId("passage-url").href = address;
  const worded = Object.entries(passage.metadata ?? {}).map(([key, value]) =>
    /** @type {[string, string]} */ ([key, typeof value === "string" ? value : JSON.stringify(value)]));
  byId("passage-about").hidden = !worded.length;
  byId("passage-metadata").replaceChildren(...terms(worded).children);
}
