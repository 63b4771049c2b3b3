// Which sentence of a passage an answer, or a query, is about.

/** The words of a text; short ones say little. @param {string} text */
const words = (text) => new Set((text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
  .flatMap((word) => (/\p{Script=Han}/u.test(word) ? [...word] : word.length > 2 || /\d/.test(word) ? [word] : [])));

/** The sentences of a text with their places. Lines that are only wrapped go on. @param {string} text */
const sentences = (text) =>
  [...new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(text.replace(/(?<!\n)\n(?!\n)/g, " "))];

/** The last sentence of a text. @param {string} text */
export const last = (text) => sentences(text.trim()).at(-1)?.segment ?? "";

/**
 * The sentence of a text that shares most with others, of which the first counts most: where it begins and ends.
 * A word counts more the fewer sentences have it. Nothing where none is shared.
 * @param {string} text
 * @param {string[]} others
 */
export function closest(text, others) {
  const all = sentences(text).map(({ segment, index }) => ({ segment, index, own: words(segment) }));
  const weight = (/** @type {string} */ word) => 1 / all.filter(({ own }) => own.has(word)).length;
  const wanted = others.map(words);
  const shared = (/** @type {Set<string>} */ own) => wanted.reduce((sum, some, place) =>
    sum + [...some].filter((word) => own.has(word)).reduce((part, word) => part + weight(word), 0) / (1 + place), 0);
  let best = { score: 0, start: 0, end: 0 };
  for (const { segment, index, own } of all) {
    const score = shared(own);
    if (score > best.score) best = { score, start: index, end: index + segment.trimEnd().length };
  }
  return best.score > 0 ? best : null;
}

/**
 * About so many characters of a text, around the sentence that shares most with others: before it, it, behind it.
 * @param {string} text
 * @param {string[]} others
 * @param {number} most
 */
export function excerpt(text, others, most) {
  const { start, end } = closest(text, others) ?? { start: 0, end: 0 };
  const around = Math.max(0, most - (end - start));
  const from = Math.max(0, start - Math.floor(around / 3));
  const to = Math.min(text.length, Math.max(end, from + most));
  // It begins with a word.
  const before = text.slice(from, start);
  return [from ? `…${before.replace(/^\S*\s/, "")}` : before, text.slice(start, end), text.slice(end, to) + (to < text.length ? "…" : "")];
}
