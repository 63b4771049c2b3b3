// A question of a conversation with its answers, of which there may be more than one.

import { answerCard } from "./answer.js";
import { messages } from "./chats.js";
import { make } from "./dom.js";

/**
 * @typedef {import("./chats.js").Chat} Chat
 * @typedef {import("./chats.js").Exchange} Exchange
 * @typedef {object} Page
 * @property {import("./access.js").Access} access
 * @property {string[]} models that can be asked
 * @property {(work: (options: object, signal: AbortSignal) => Promise<unknown>) => Promise<void>} run does what is stopped by the next
 * @property {(chat: Chat) => void} keep
 * @property {(chat: Chat) => boolean} isKept
 */

/** @param {Chat} chat @param {Exchange} exchange @param {Page} page */
export function exchangeView(chat, exchange, { access, models, run, keep, isKept }) {
  const cards = make("div", { class: "answers" });
  const isAsked = (/** @type {string} */ model) =>
    exchange.answers.some((one) => one.model === model || `ken/${one.trace?.policy}` === model);
  const actions = {
    keep: () => keep(chat),
    again: (/** @type {string} */ model) => ask([model]),
    mayAsk: (/** @type {string} */ model) => models.includes(model) && !isAsked(model),
  };
  /** @param {import("./chats.js").Answer} answer */
  function card(answer) {
    const made = answerCard(answer, access, actions);
    cards.append(made.element);
    return made;
  }
  /** Asks models, side by side. @param {string[]} asked */
  async function ask(asked) {
    const lead = exchange.answers.length;
    // What a page that is closed meanwhile leaves.
    const made = asked.map((model) => ({ model, text: "", failed: "interrupted" }));
    exchange.answers.push(...made);
    keep(chat);
    const before = messages(chat.exchanges.slice(0, chat.exchanges.indexOf(exchange)));
    const all = [...before, { role: "user", content: exchange.question }];
    await run((options, signal) => Promise.all(made.map((answer) => card(answer).ask(all, options, signal))));
    // The conversation goes on from what was asked for last.
    if (!exchange.answers[lead].failed) exchange.lead = lead;
    if (isKept(chat)) keep(chat);
  }
  for (const answer of exchange.answers) card(answer).show();
  const element = make("section", { class: "exchange", "aria-label": exchange.question },
    make("p", { class: "question" }, exchange.question), cards);
  return { element, ask };
}
