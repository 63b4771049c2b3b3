// Conversations: asking, going on, asking again in another way; and those that were had before.

import { answerCard } from "./answer.js";
import { get } from "./api.js";
import { messages, newChat, openChats } from "./chats.js";
import { button, confirmed, make, notice, told } from "./dom.js";
import { questionForm } from "./question.js";

/** @typedef {import("./chats.js").Chat} Chat @typedef {import("./chats.js").Exchange} Exchange */

/** Before a policy in the address of the page. */
const WITH = "with/";

/** @param {import("./access.js").Access} access */
export async function chatPage(access) {
  if (!access.may("ask")) {
    return { element: make("p", { class: "panel" }, access.lacks("ask", "ask questions")) };
  }
  const { data } = await get("/v1/models");
  /** @type {string[]} */
  const models = data.map((model) => model.id).filter((id) => id !== "ken/embedder");
  const chats = openChats(access.key);
  const asking = questionForm(models);
  const list = make("ul");
  const head = make("div", { class: "row" });
  const place = make("div", { "aria-label": "Conversation", role: "region" });
  const empty = make("p", { class: "dim empty" });
  /** @type {Chat | undefined} */
  let chat;
  let running = new AbortController();

  /** @param {Chat} own */
  function keep(own) {
    if (!chats.put(own)) notice("This browser has no room to keep the conversation.");
    showList();
  }
  function showList() {
    const kept = chats.list();
    list.replaceChildren(...kept.map((one) => make("li", {},
      make("a", { href: `#chat/${one.id}`, "aria-current": one.id === chat?.id ? "true" : null }, one.title))));
    list.hidden = !kept.length;
    head.replaceChildren(...(chat ? [make("h2", {}, chat.title),
      button("Rename", rename), button("Delete", () => told(remove))] : []));
    empty.hidden = Boolean(chat);
    asking.follow(Boolean(chat));
  }
  function rename() {
    const name = make("input", { "aria-label": "Name of the conversation", required: true, maxlength: "100", value: chat?.title });
    const form = make("form", { class: "row" }, name, make("button", { class: "quiet" }, "Rename"));
    form.addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      if (!chat) return;
      chat.title = name.value.trim() || chat.title;
      keep(chat);
    });
    head.replaceChildren(form);
    name.select();
  }
  async function remove() {
    if (!chat || !await confirmed(`Delete “${chat.title}”?`, "It is kept in this browser only.", "Delete")) return;
    chats.remove(chat.id);
    location.hash = "#chat/new";
  }

  /** Shows an exchange; the function asks models in it. @param {Chat} own @param {Exchange} exchange */
  function showExchange(own, exchange) {
    const cards = make("div", { class: "answers" });
    const before = () => messages(own.exchanges.slice(0, own.exchanges.indexOf(exchange)));
    const isAsked = (/** @type {string} */ model) =>
      exchange.answers.some((one) => one.model === model || `ken/${one.trace?.policy}` === model);
    const actions = {
      keep: () => keep(own),
      again: (/** @type {string} */ model) => ask([model]),
      mayAsk: (/** @type {string} */ model) => models.includes(model) && !isAsked(model),
    };
    /** @param {import("./chats.js").Answer} answer */
    function card(answer) {
      const made = answerCard(answer, access, actions);
      cards.append(made.element);
      return made;
    }
    /** @param {string[]} asked */
    async function ask(asked) {
      running.abort();
      const asks = running = new AbortController();
      asking.stop.disabled = false;
      const lead = exchange.answers.length;
      // What a page that is closed meanwhile leaves.
      const made = asked.map((model) => ({ model, text: "", failed: "interrupted" }));
      exchange.answers.push(...made);
      keep(own);
      const texts = [...before(), { role: "user", content: exchange.question }];
      const options = asking.options();
      await Promise.all(made.map((answer) => card(answer).ask(texts, options, asks.signal)));
      // The conversation goes on from what was asked for last.
      if (!exchange.answers[lead].failed) exchange.lead = lead;
      if (running === asks) asking.stop.disabled = true;
      // It may be deleted by now.
      if (chats.find(own.id)) keep(own);
    }
    place.append(make("section", { class: "exchange", "aria-label": exchange.question },
      make("p", { class: "question" }, exchange.question), cards));
    for (const answer of exchange.answers) card(answer).show();
    return ask;
  }
  /** @param {string} question */
  function askNew(question) {
    chat ??= newChat(question);
    const exchange = { question, answers: [], lead: 0 };
    chat.exchanges.push(exchange);
    const ask = showExchange(chat, exchange);
    asking.question.value = "";
    ask(asking.chosen());
    address();
    place.lastElementChild?.scrollIntoView({ block: "start" });
  }
  /** Has the page's address be that of the conversation. */
  function address() {
    history.replaceState(null, "", chat ? `#chat/${chat.id}` : "#chat");
  }
  /** Shows a conversation, or that a new one begins. @param {string} id */
  function open(id) {
    running.abort();
    chat = chats.find(id);
    place.replaceChildren();
    for (const exchange of chat?.exchanges ?? []) showExchange(/** @type {Chat} */ (chat), exchange);
    showList();
  }
  async function refresh() {
    const { corpora } = await get("/v1/ken/corpora");
    asking.offer(corpora.map((corpus) => corpus.name));
    const filled = corpora.filter((corpus) => corpus.passages);
    empty.replaceChildren(...(filled.length
      ? [`Ask about ${filled.map((corpus) => corpus.name).join(" or ")}. A number in an answer opens the passage that it rests on.`]
      : ["There are no documents to search yet. ", make("a", { href: "#documents" }, "Add some"), ", or ask what the model knows."]));
  }

  asking.stop.addEventListener("click", () => running.abort());
  asking.element.addEventListener("submit", (event) => {
    event.preventDefault();
    const question = asking.question.value.trim();
    if (question) askNew(question);
  });
  const side = make("details", { class: "panel side", open: matchMedia("(min-width: 60rem)").matches },
    make("summary", {}, "Conversations"),
    make("a", { href: "#chat/new" }, "New chat"),
    make("nav", { "aria-label": "Conversations" }, list), make("p", { class: "dim small" }, "Kept in this browser."));
  const element = make("div", { class: "chat" }, side, make("div", { class: "thread" }, head, place, empty, asking.element));
  open("");
  await refresh();
  return {
    element,
    enter: (/** @type {string} */ rest) => {
      told(refresh);
      if (rest.startsWith(WITH)) asking.compareWith(rest.slice(WITH.length));
      else if (rest && rest !== chat?.id) open(rest);
      address();
      asking.question.focus();
    },
  };
}
