// Makes elements. What comes from the server is set as text, never read as markup.

/**
 * An element with its attributes and children. Attributes that begin with `on` are listeners.
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 * @param {...any} children
 * @returns {any}
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.flat(2).filter((child) => child != null && child !== false));
  return element;
}

/**
 * A labelled control.
 * @param {string} label
 * @param {Element} control
 */
export const field = (label, control) => make("label", {}, label, control);

/** A button that sends no form. @param {string} label @param {() => void} onclick @param {Record<string, any>} [more] */
export const button = (label, onclick, more = {}) =>
  make("button", { type: "button", class: "quiet", onclick, ...more }, label);

/**
 * A table that scrolls sideways where it does not fit. Columns whose name begins with `#` hold numbers, and those
 * with `~` texts.
 * @param {string} name what it is, for screen readers
 * @param {string[]} columns
 * @param {any[][]} rows
 * @param {string} empty what stands there where there are no rows
 */
export function table(name, columns, rows, empty) {
  if (!rows.length) return make("p", { class: "dim" }, empty);
  /** @type {Record<string, string>} */
  const kinds = { "#": "number", "~": "text" };
  const heads = columns.map((column) => [column.replace(/^[#~]/, ""), kinds[column[0]] ?? null]);
  return make("div", { class: "scroll", role: "group", "aria-label": name, tabindex: "0" },
    make("table", {},
      make("thead", {}, make("tr", {}, heads.map(([label, kind]) =>
        (label ? make("th", { scope: "col", class: kind }, label) : make("td"))))),
      make("tbody", {}, rows.map((row) =>
        make("tr", {}, row.map((cell, place) => make("td", { class: heads[place][1] }, cell ?? "–")))))));
}

/** Terms with what they are; those without are left out. @param {any[][]} pairs */
export function terms(pairs) {
  const given = pairs.filter(([, value]) => value != null && value !== "");
  return make("dl", {}, given.map(([term, value]) => [make("dt", {}, term), make("dd", {}, value)]));
}

/** Has the browser save a text as a file. @param {string} name @param {string} type @param {string} text */
export function saveAs(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

let noticeEnds = 0;

/** Says something at the lower edge for a while. @param {string} message */
export function notice(message) {
  const place = byId("notice");
  place.textContent = message;
  clearTimeout(noticeEnds);
  noticeEnds = setTimeout(() => { place.textContent = ""; }, 8000);
}

/** Does something, and says what goes wrong. @template T @param {() => Promise<T>} work */
export async function told(work) {
  try {
    return await work();
  } catch (error) {
    notice(error.message);
    return undefined;
  }
}

/**
 * Shows something else, unless it is the same: what is focused or selected there stays so.
 * @param {Element} place
 * @param {...any} children
 */
export function changed(place, ...children) {
  const next = make("div", {}, ...children);
  if (next.innerHTML !== place.innerHTML) place.replaceChildren(...next.childNodes);
}

/** Where a link may lead: to addresses of the web and of mail; nothing for others. @param {string} text */
export function outside(text) {
  const address = URL.canParse(text) ? new URL(text) : null;
  return address && ["http:", "https:", "mailto:"].includes(address.protocol) ? address.href : null;
}

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/**
 * Asks whether something is meant.
 * @param {string} title
 * @param {string} consequence
 * @param {string} action what the button says
 * @returns {Promise<boolean>}
 */
export function confirmed(title, consequence, action) {
  const dialog = byId("confirm-dialog");
  byId("confirm-title").textContent = title;
  byId("confirm-text").textContent = consequence;
  byId("confirm-yes").textContent = action;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
