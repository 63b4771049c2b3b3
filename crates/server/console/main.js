// Which page is shown, by the part of the address behind `#`; and the key, where the server asks for one.

import { readAccess } from "./access.js";
import { get, setKey } from "./api.js";
import { chatPage } from "./chat.js";
import { corporaPage } from "./corpora.js";
import { byId, make, notice, told } from "./dom.js";
import { knowledgePage } from "./knowledge.js";
import { policiesPage } from "./policies.js";
import { studiesPage } from "./studies.js";
import { trafficPage } from "./traffic.js";

/**
 * @typedef {import("./access.js").Access} Access
 * @typedef {{element: HTMLElement, enter?: (rest: string) => void, leave?: () => void}} Page
 */

/** @type {Record<string, (access: Access) => Promise<Page>>} */
const PAGES = { chat: chatPage, documents: corporaPage, traffic: trafficPage, policies: policiesPage, knowledge: knowledgePage,
  studies: studiesPage };

const main = byId("main");
/** Pages that were visited keep what they show. @type {Map<string, Page>} */
let pages = new Map();
/** @type {Access | null} */
let access = null;
/** @type {Page | undefined} */
let shown;
/** How often a page was asked for: what is ready too late is not shown. */
let turns = 0;

async function show() {
  const turn = ++turns;
  const [first, ...rest] = location.hash.slice(1).split("/");
  const name = Object.hasOwn(PAGES, first) ? first : "chat";
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") !== `#${name}`) link.removeAttribute("aria-current");
    else {
      link.setAttribute("aria-current", "page");
      // On a phone not all fit beside each other.
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} – ken`;
  shown?.leave?.();
  shown = undefined;
  try {
    access ??= await readAccess();
    byId("key-button").hidden = access.key == null;
    const served = access;
    told(() => about(served));
    const page = pages.get(name) ?? await PAGES[name](access);
    pages.set(name, page);
    if (turn !== turns) return;
    main.replaceChildren(page.element);
    shown = page;
    page.enter?.(rest.map(decodeURIComponent).join("/"));
  } catch (error) {
    main.replaceChildren();
    if (error.status === 401) askForKey(error.code === "missing_api_key" ? "" : error.message);
    else notice(error.message);
  }
}

/** Says what is served here. @param {Access} access */
async function about({ model, version }) {
  const { corpora } = await get("/v1/ken/corpora");
  const names = corpora.map((corpus) => corpus.name).join(", ");
  byId("about").replaceChildren(...[["model", model], ["corpus", names || "none yet"], ["ken", version]].map(([term, value]) =>
    make("span", {}, `${term} `, make("strong", {}, value))));
}

/** @param {string} refused why the last key was not taken */
function askForKey(refused) {
  byId("key-button").hidden = false;
  byId("key-refused").textContent = refused;
  byId("key-input").value = "";
  const dialog = byId("key-dialog");
  dialog.returnValue = "cancel";
  if (!dialog.open) dialog.showModal();
}

byId("key-button").addEventListener("click", () => askForKey(""));
byId("key-dialog").addEventListener("close", () => {
  const key = byId("key-input").value.trim();
  byId("key-input").value = "";
  if (byId("key-dialog").returnValue !== "use") return;
  setKey(key);
  shown?.leave?.();
  shown = undefined;
  access = null;
  pages = new Map();
  show();
});
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", async () => {
  await show();
  if (!main.contains(document.activeElement)) main.focus();
});
show();
