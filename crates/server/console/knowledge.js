// Knowledge: whether the model knows one question, and what was found of many.

import { get, post } from "./api.js";
import { field, make, terms, told } from "./dom.js";
import { duration, measured } from "./format.js";
import { probedPanel } from "./probed.js";
import { promise, scale, standing } from "./trace.js";

/** Policies that measure nothing. */
const FIXED = ["always", "never"];

/** @param {import("./access.js").Access} access */
export async function knowledgePage(access) {
  const knows = access.may("ask") ? await knowsForm() : make("p", { class: "dim" }, access.lacks("ask", "ask what the model knows"));
  return {
    element: make("div", {},
      make("section", { class: "panel", "aria-labelledby": "knows-title" },
        make("h2", { id: "knows-title" }, "Does the model know it?"), knows),
      probedPanel()),
  };
}

async function knowsForm() {
  const { data } = await get("/v1/models");
  const policies = data.map((model) => model.id.replace("ken/", "")).filter((name) => ![...FIXED, "ken", "embedder"].includes(name));
  const question = make("input", { required: true, autocomplete: "off" });
  const policy = make("input", { required: true, list: "signals", autocomplete: "off", spellcheck: "false",
    value: policies[0] ?? "", placeholder: "certainty@0.4" });
  const found = make("div", { "aria-live": "polite" });
  const form = make("form", { class: "row", "aria-label": "Question to the model's knowledge" },
    field("Question", question), field("By the policy", policy),
    make("datalist", { id: "signals" }, policies.map((name) => make("option", { value: name }))),
    make("button", {}, "Measure"));
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    told(async () => {
      found.setAttribute("aria-busy", "true");
      try {
        found.replaceChildren(verdict(await post("/v1/ken/knows", { question: question.value, policy: policy.value })));
      } finally {
        found.removeAttribute("aria-busy");
      }
    });
  });
  return [make("p", { class: "dim" }, "The question is measured, and not answered."), form, found];
}

/** @param {any} knows what the server says */
function verdict(knows) {
  const { probability, guarantee } = knows;
  return make("div", {},
    make("p", { class: "answer" }, make("span", { class: `badge ${knows.retrieves ? "corpus" : "self"}` },
      knows.retrieves ? "would retrieve" : "answers from memory")),
    make("p", { class: "dim reason" }, knows.reason),
    terms([
      ["right from memory", probability == null ? null : `with probability ${measured(probability)}`],
      ["measured", `${measured(knows.score)}; above ${measured(knows.threshold)} it retrieves`],
      ["of 0 to 1", scale(knows)],
      ["that is", knows.measures],
      ["guarantee", guarantee && `${promise(guarantee)}; ${standing(guarantee.standing)}`],
      ["took", duration(knows.ms)],
    ]));
}
