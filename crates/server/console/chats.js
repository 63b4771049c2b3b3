// The conversations that this browser keeps, newest first; those of each key by themselves.

/**
 * @typedef {{model: string, text: string, trace?: import("./trace.js").Trace, usage?: import("./trace.js").Usage | null,
 *   failed?: string, rating?: string}} Answer
 * @typedef {{question: string, answers: Answer[], lead: number}} Exchange `lead` is the answer that the conversation goes on from
 * @typedef {{id: string, title: string, exchanges: Exchange[]}} Chat
 */

/** Conversations that are kept. */
const MOST = 100;

/** The form in which they are kept; others are not read. */
const FORM = 1;

/** @param {string | null} key whose they are, by its id */
export function openChats(key) {
  const place = `ken-chats:${key ?? ""}`;

  /** @returns {Chat[]} */
  function list() {
    try {
      const kept = JSON.parse(localStorage.getItem(place) ?? "{}");
      return kept.form === FORM ? kept.chats : [];
    } catch {
      return [];
    }
  }
  /** Keeps as many of them as there is room for; whether the first is among them. @param {Chat[]} chats */
  function keep(chats) {
    for (let most = Math.min(MOST, chats.length); most >= Math.min(1, chats.length); most -= 1) {
      try {
        localStorage.setItem(place, JSON.stringify({ form: FORM, chats: chats.slice(0, most) }));
        return true;
      } catch {
        // There is no room: the oldest goes.
      }
    }
    return false;
  }
  // Another tab may have changed them: they are read each time.
  const others = (/** @type {string} */ id) => list().filter((one) => one.id !== id);
  return {
    list,
    /** @param {Chat} chat */
    put: (chat) => keep([chat, ...others(chat.id)]),
    /** @param {string} id */
    remove: (id) => keep(others(id)),
    /** @param {string} id */
    find: (id) => list().find((one) => one.id === id),
  };
}

/** @param {string} question that it begins with @returns {Chat} */
export const newChat = (question) => ({
  id: Date.now().toString(36) + Math.random().toString(36).slice(2, 8),
  title: question.length > 60 ? `${question.slice(0, 60).trimEnd()}…` : question,
  exchanges: [],
});

/** What was said before an exchange, as the server takes it. @param {Exchange[]} exchanges */
export const messages = (exchanges) => exchanges.flatMap(({ question, answers, lead }) => {
  const said = answers[lead];
  return said?.trace && !said.failed
    ? [{ role: "user", content: question }, { role: "assistant", content: said.text }] : [];
});
