// Saying whether an answer is good.

import { post } from "./api.js";
import { button, field, make } from "./dom.js";

/** The longest right answer that the server takes, in bytes. */
const LONGEST = 1000;

/** What is said of an answer that was rated. @type {Record<string, string>} */
const RATED = { good: "Rated good.", bad: "Rated bad." };

/**
 * Buttons for an answer, where the server has a use for what is said.
 * @param {import("./chats.js").Answer} answer
 * @param {import("./trace.js").Trace} trace
 * @param {import("./access.js").Access} access
 * @param {() => void} keep called when it was rated
 */
export function feedbackForm(answer, trace, access, keep) {
  // A server without traces keeps only what it needs to watch a guarantee: right answers.
  if (!access.keepsTraces && !trace.guarantee) return "";
  const right = make("input", { required: true, maxlength: String(LONGEST), autocomplete: "off" });
  const said = make("p", { class: "dim small", role: "status" }, RATED[answer.rating ?? ""] ?? "");
  const better = make("form", { class: "row", hidden: true }, field("What would be right", right), make("button", {}, "Send"));
  const buttons = make("div", { class: "row rate", role: "group", "aria-label": "Is the answer good?", hidden: Boolean(answer.rating) },
    button("Good", () => send("good", [answer.text])),
    button("Bad", () => {
      better.hidden = false;
      right.focus();
      if (access.keepsTraces) send("bad", []);
    }));
  better.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    send("bad", [right.value.trim()]);
  });
  /** @param {string} rating @param {string[]} answers */
  async function send(rating, answers) {
    const fitting = answers.filter((one) => new TextEncoder().encode(one).length <= LONGEST);
    const body = { request_id: trace.request_id, answers: fitting, ...(access.keepsTraces && { rating }) };
    try {
      const { counts, eval_question: kept } = await post("/v1/ken/feedback", body);
      buttons.hidden = true;
      if (answers.length) better.hidden = true;
      said.textContent = ["Thank you.", counts && "It counts for the guarantee.",
        kept && "The question is now one to evaluate on."].filter(Boolean).join(" ");
      answer.rating = rating;
      keep();
    } catch (error) {
      said.textContent = error.message;
    }
  }
  return make("div", {}, buttons, better, said);
}
