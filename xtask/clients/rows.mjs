// What the files of clients for Node share: where the server is, and the rows of the table that they print. As `rows.py`, a trial is told in
// words, and its result is checked as far as the server is responsible for it.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

export const { TRIAL_SERVER: server, TRIAL_MODEL: model, TRIAL_STAND_IN: standIn, TRIAL_MODULES: modules } = process.env;
export const base = `${server}/v1`;
export const question = "At which berth is the Marigold?";
export const toolQuestion = "What is the tide at Orsand?";
export const system = "You answer for the harbor office, in a few words. The Marigold lies at berth 14.";
export const berth = "Berth 14.";
export const high = "The tide is high.";

/** A package of the folder `node_modules`. */
export const load = (name) => import(pathToFileURL(createRequire(`${modules}/`).resolve(name)));

/** Text of the model: the stand-in's words are known, those of a model inside `ken` are not. */
export function checkWords(text, expected) {
  assert.ok(typeof text === "string" && text.trim(), `no words: ${text}`);
  if (standIn) assert.equal(text.trim(), expected);
}

/** A number of an answer by a schema. */
export function checkBerth(value) {
  assert.ok(Number.isInteger(value), `${value} is no integer`);
  if (standIn) assert.equal(value, 14);
}

/** Runs the trials, each `[what, whether it needs tools, run]`, and prints a row of each. */
export async function report(name, trials) {
  const { version } = JSON.parse(fs.readFileSync(path.join(modules, name, "package.json")));
  for (const [what, needsTools, run] of trials) {
    const started = performance.now();
    const outcome = needsTools && process.env.TRIAL_TOOLS !== "yes" ? "skipped: the model's template has no tools" : await outcomeOf(run);
    const seconds = Math.round((performance.now() - started) / 100) / 10;
    fs.writeSync(1, `${JSON.stringify({ client: name, version, what, outcome, seconds })}\n`);
  }
}

async function outcomeOf(run) {
  try {
    await requestsSeen();
    await run();
    const { requests, with_evidence: held } = await requestsSeen();
    assert.equal(held, requests, "the model server got requests without evidence");
    return "ok";
  } catch (error) {
    console.error(error);
    return `failed: ${error}`.replaceAll("\n", " ").slice(0, 300);
  }
}

/** What the stand-in was asked since this was last called. */
const requestsSeen = async () => (standIn ? (await fetch(`${standIn}/seen`)).json() : { requests: 0, with_evidence: 0 });
