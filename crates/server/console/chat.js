// Conversations: asking and going on, and those that were had before.

import { get } from "./api.js";
import { newChat, openChats } from "./chats.js";
import { button, confirmed, make, notice, told } from "./dom.js";
import { exchangeView } from "./exchange.js";
import { questionForm } from "./question.js";

/** @typedef {import("./chats.js").Chat} Chat */

/** Before a policy in the address of the page. */
const WITH = "with/";

/** @param {import("./access.js").Access} access */
export async function chatPage(access) {
  if (!access.may("ask")) {
    return { element: make("p", { class: "panel" }, access.lacks("ask", "ask questions")) };
  }
  const { data } = await get("/v1/models");
  /** @type {string[]} */
  const models = data.map((model) => model.id).filter((id) => !["ken", "ken/embedder"].includes(id));
  const chats = openChats(access.key);
  const asking = questionForm(models);
  const list = make("ul");
  const head = make("div", { class: "row" });
  const place = make("div", { "aria-label": "Conversation", role: "region" });
  const empty = make("p", { class: "dim empty" });
  const page = { access, models, run, keep, isKept: (/** @type {Chat} */ own) => Boolean(chats.find(own.id)) };
  /** @type {Chat | undefined} */
  let chat;
  let running = new AbortController();

  /** @param {(options: object, signal: AbortSignal) => Promise<unknown>} work */
  async function run(work) {
    running.abort();
    const own = running = new AbortController();
    asking.stop.disabled = false;
    await work(asking.options(), own.signal);
    if (running === own) asking.stop.disabled = true;
  }
  /** @param {Chat} own */
  function keep(own) {
    if (!chats.put(own)) notice("This browser has no room to keep the conversation.");
    showList();
  }
  function showList() {
    list.replaceChildren(...chats.list().map((one) => make("li", {},
      make("a", { href: `#chat/${one.id}`, "aria-current": one.id === chat?.id ? "true" : null }, one.title))));
    list.hidden = !list.firstChild;
    // A name that is being written stays.
    if (!head.querySelector("form")) head.replaceChildren(...(chat ? heading(chat, chats, keep) : []));
    empty.hidden = Boolean(chat);
    asking.follow(Boolean(chat));
  }
  /** Shows a conversation, or that a new one begins. @param {string} id */
  function open(id) {
    running.abort();
    head.replaceChildren();
    const found = chat = chats.find(id);
    place.replaceChildren(...(found?.exchanges ?? []).map((exchange) => exchangeView(found, exchange, page).element));
    showList();
  }
  /** Has the page's address be that of the conversation. */
  const address = () => history.replaceState(null, "", chat ? `#chat/${chat.id}` : "#chat");

  asking.stop.addEventListener("click", () => running.abort());
  asking.element.addEventListener("submit", (event) => {
    event.preventDefault();
    const question = asking.question.value.trim();
    if (!question) return;
    chat ??= newChat(question);
    const exchange = { question, answers: [], lead: 0 };
    chat.exchanges.push(exchange);
    const { element, ask } = exchangeView(chat, exchange, page);
    place.append(element);
    asking.question.value = "";
    ask(asking.chosen());
    address();
    element.scrollIntoView({ block: "start" });
  });
  const refresh = () => offerCorpora(asking, empty);
  open("");
  await refresh();
  return {
    element: make("div", { class: "chat" }, side(list), make("div", { class: "thread" }, head, place, empty, asking.element)),
    enter: (/** @type {string} */ rest) => {
      told(refresh);
      if (rest.startsWith(WITH)) asking.compareWith(rest.slice(WITH.length));
      else if (rest && rest !== chat?.id) open(rest);
      address();
      asking.question.focus();
    },
  };
}

/** The conversations that there are. @param {Element} list */
const side = (list) => make("details", { class: "panel side", open: matchMedia("(min-width: 60rem)").matches },
  make("summary", {}, "Conversations"), make("a", { href: "#chat/new" }, "New chat"),
  make("nav", { "aria-label": "Conversations" }, list), make("p", { class: "dim small" }, "Kept in this browser."));

/** The name of a conversation, and what can be done with it. @param {Chat} chat @param {ReturnType<typeof openChats>} chats @param {(chat: Chat) => void} keep */
function heading(chat, chats, keep) {
  const title = make("h2", {}, chat.title);
  const rename = button("Rename", () => {
    const name = make("input", { "aria-label": "Name of the conversation", required: true, maxlength: "100", value: chat.title });
    const form = make("form", { class: "row" }, name, make("button", { class: "quiet" }, "Rename"));
    form.addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      chat.title = name.value.trim() || chat.title;
      form.remove();
      keep(chat);
    });
    rename.remove();
    title.replaceWith(form);
    name.select();
  });
  const remove = button("Delete", async () => {
    if (!await confirmed(`Delete “${chat.title}”?`, "It is kept in this browser only.", "Delete it")) return;
    chats.remove(chat.id);
    location.hash = "#chat/new";
  });
  return [title, rename, remove];
}

/** Offers the corpora that there are, and says what to do where nothing was asked. @param {ReturnType<typeof questionForm>} asking @param {Element} empty */
async function offerCorpora(asking, empty) {
  const { corpora } = await get("/v1/ken/corpora");
  asking.offer(corpora.map((corpus) => corpus.name));
  const filled = corpora.filter((corpus) => corpus.passages !== 0).map((corpus) => corpus.name);
  empty.replaceChildren(...(filled.length
    ? [`Ask about ${filled.join(" or ")}. A number in an answer opens the passage that it rests on.`]
    : ["There are no documents to search yet. ", make("a", { href: "#documents" }, "Add some"), ", or ask what the model knows."]));
}
