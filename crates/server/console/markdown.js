// Markdown as elements: the part of it that models write. No text is read as markup of the page, no picture is
// loaded, and links lead to addresses of the web and of mail only.

import { button, make, outside } from "./dom.js";

/** @typedef {(text: string) => any[]} Plain what stands for a piece of text */
/** @typedef {{node: any, next: number}} Block an element, and the line behind it */

/** How deep quotes and lists are nested; what is deeper is text. */
const DEEPEST = 8;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,12})([-*+]|\d{1,9}[.)])( +)(?=\S)/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

const INLINE = new RegExp([
  /\\(?<escaped>[!-/:-@[-`{-~])/,
  /(?<ticks>`+)(?<code>[^]{1,2000}?)(?<!`)\k<ticks>(?!`)/,
  /!?\[(?<label>[^\]\n]{0,300})\]\(<?(?<target>(?:[^\s()<>]|\([^\s()<>]*\)){1,2000})>?(?:\s+"[^"\n]{0,300}")?\)/,
  /<?(?<bare>(?:https?:\/\/|mailto:)[^\s<>"'`]{1,2000})>?/,
  /\*\*(?=\S)(?<strong>[^]{1,1000}?)(?<=\S)\*\*/,
  /(?<![\w*_])(?<star>[*_])(?=[^\s*_])(?<em>[^]{1,1000}?)(?<=[^\s*_])\k<star>(?![\w*_])/,
].map((pattern) => pattern.source).join("|"), "gu");

/**
 * The elements of a text.
 * @param {string} text
 * @param {Plain} [plain]
 */
export const markdown = (text, plain = (piece) => [piece]) => blocks(text.split("\n"), plain, 0);

/** @param {string[]} lines @param {Plain} plain @param {number} depth @returns {any[]} */
function blocks(lines, plain, depth) {
  const nodes = [];
  for (let at = 0; at < lines.length;) {
    const { node, next } = fence(lines, at, plain) ?? heading(lines, at, plain) ?? rule(lines, at)
      ?? quote(lines, at, plain, depth) ?? table(lines, at, plain) ?? list(lines, at, plain, depth)
      ?? paragraph(lines, at, plain);
    if (node) nodes.push(node);
    at = next;
  }
  return nodes;
}

/** Whether a paragraph ends before a line. @param {string} line */
const begins = (line) => !line.trim() || [FENCE, HEADING, RULE, QUOTE, ITEM].some((kind) => kind.test(line));

/** The place behind the last line in a row for which something holds. @param {string[]} lines @param {number} at @param {(line: string, at: number) => boolean} holds */
function behind(lines, at, holds) {
  while (at < lines.length && holds(lines[at], at)) at += 1;
  return at;
}

/** @param {string[]} lines @param {number} at @param {Plain} plain @returns {Block | null} */
function fence(lines, at, plain) {
  const opened = FENCE.exec(lines[at]);
  if (!opened) return null;
  // One that is not closed is still being written.
  const end = behind(lines, at + 1, (line) => !(line.trim().startsWith(opened[1]) && !line.trim().replaceAll(opened[1][0], "")));
  const code = lines.slice(at + 1, end).join("\n");
  const copy = navigator.clipboard && button("Copy", () => navigator.clipboard.writeText(code), { class: "link" });
  const name = opened[2] ? `Code, ${opened[2]}` : "Code";
  const node = make("div", { class: "code" }, make("div", { class: "row small dim" }, make("span", {}, opened[2] || "code"), copy),
    make("pre", { tabindex: "0", role: "group", "aria-label": name }, make("code", {}, plain(code))));
  return { node, next: end + 1 };
}

/** @param {string[]} lines @param {number} at @param {Plain} plain @returns {Block | null} */
function heading(lines, at, plain) {
  const found = HEADING.exec(lines[at]);
  // Over it are those of the page, the conversation and the answer.
  return found && { node: make(`h${Math.min(6, found[1].length + 3)}`, {}, inline(found[2], plain)), next: at + 1 };
}

/** @param {string[]} lines @param {number} at @returns {Block | null} */
const rule = (lines, at) => (RULE.test(lines[at]) ? { node: make("hr"), next: at + 1 } : null);

/** @param {string[]} lines @param {number} at @param {Plain} plain @param {number} depth @returns {Block | null} */
function quote(lines, at, plain, depth) {
  if (depth >= DEEPEST || !QUOTE.test(lines[at])) return null;
  const next = behind(lines, at, (line) => QUOTE.test(line));
  const inner = lines.slice(at, next).map((line) => line.replace(QUOTE, ""));
  return { node: make("blockquote", {}, blocks(inner, plain, depth + 1)), next };
}

/** @param {string[]} lines @param {number} at @param {Plain} plain @returns {Block | null} */
function table(lines, at, plain) {
  if (!lines[at].includes("|") || !lines[at + 1]?.includes("-") || !DIVIDER.test(lines[at + 1])) return null;
  const next = behind(lines, at + 2, (line) => line.includes("|"));
  const cells = (/** @type {string} */ line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/);
  const row = (/** @type {string} */ line, /** @type {string} */ kind) =>
    make("tr", {}, cells(line).map((cell) => make(kind, {}, inline(cell.trim(), plain))));
  const node = make("div", { class: "scroll", role: "group", "aria-label": "Table", tabindex: "0" }, make("table", {},
    make("thead", {}, row(lines[at], "th")), make("tbody", {}, lines.slice(at + 2, next).map((line) => row(line, "td")))));
  return { node, next };
}

/** @param {string[]} lines @param {number} at @param {Plain} plain @param {number} depth @returns {Block | null} */
function list(lines, at, plain, depth) {
  const first = ITEM.exec(lines[at]);
  if (!first || depth >= DEEPEST) return null;
  const isOrdered = /\d/.test(first[2]);
  const items = [];
  let next = at;
  for (let begun = first; begun && /\d/.test(begun[2]) === isOrdered && begun[1].length <= first[1].length + 1;
    begun = /** @type {RegExpExecArray} */ (ITEM.exec(lines[next] ?? ""))) {
    const indent = begun[1].length + 2;
    const isInside = (/** @type {string} */ line, /** @type {number} */ place) =>
      (line.trim() ? line.startsWith(" ".repeat(indent)) || !begins(line) : lines[place + 1]?.startsWith(" ".repeat(indent)));
    const from = next;
    next = behind(lines, next + 1, isInside);
    const inner = [lines[from].slice(begun[0].length), ...lines.slice(from + 1, next).map((line) => line.replace(/^ {1,4}/, ""))];
    items.push(make("li", {}, blocks(inner, plain, depth + 1)));
    // Items may stand apart.
    if (ITEM.test(lines[next + 1] ?? "") && !lines[next].trim()) next += 1;
  }
  const start = isOrdered && Number.parseInt(first[2], 10) !== 1 ? Number.parseInt(first[2], 10) : null;
  return { node: make(isOrdered ? "ol" : "ul", { start }, items), next };
}

/** @param {string[]} lines @param {number} at @param {Plain} plain @returns {Block} */
function paragraph(lines, at, plain) {
  if (!lines[at].trim()) return { node: null, next: at + 1 };
  const next = behind(lines, at + 1, (line) => !begins(line));
  return { node: make("p", {}, inline(lines.slice(at, next).join("\n"), plain)), next };
}

/** The parts of a line of text. @param {string} text @param {Plain} plain @returns {any[]} */
function inline(text, plain) {
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    nodes.push(...plain(text.slice(at, found.index)), ...part(found.groups ?? {}, found[0], plain));
    at = found.index + found[0].length;
  }
  return [...nodes, ...plain(text.slice(at))];
}

/** @param {Record<string, string>} groups @param {string} whole @param {Plain} plain @returns {any[]} */
function part({ escaped, code, label, target, bare, strong, em }, whole, plain) {
  if (escaped) return [escaped];
  if (code) return [make("code", {}, plain(code))];
  if (strong) return [make("strong", {}, inline(strong, plain))];
  if (em) return [make("em", {}, inline(em, plain))];
  if (target) return link(target, plain(label || target)) ?? plain(whole);
  const address = bare.replace(/[.,;:!?)\]]+$/, "");
  const [before, after] = whole.split(address);
  return whole.startsWith("<") && whole.endsWith(">")
    ? link(address, [address]) ?? plain(whole)
    : [...plain(before), ...link(address, [address]) ?? plain(address), ...plain(after)];
}

/** A link, if it leads to where links may lead. @param {string} target @param {any[]} label */
function link(target, label) {
  const href = outside(target);
  return href ? [make("a", { href, target: "_blank", rel: "noopener noreferrer" }, label)] : null;
}
