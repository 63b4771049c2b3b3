// Asks running servers with OpenAI's official client for JavaScript, by its helpers that put streams together.
// Arguments: the folder `node_modules` of the client; the address of a server; that of one whose model never
// ends an answer, so that its streams break off; and a question, of which the first server knows an answer with
// marks beyond the basic plane.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [modules, url, breaking, question] = process.argv.slice(2);
const { default: OpenAI, AzureOpenAI } = createRequire(`${modules}/`)("openai");
const at = (baseURL) => new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const client = at(url);
const messages = [{ role: "user", content: question }];
const full = { style: "full" };

/** The part of a text between two places, in code points as the server counts them. */
const part = (text, start, end) => [...text].slice(start, end).join("");

/** The error of the client that a promise ends with. */
async function failing(promise, kind) {
  let caught;
  await assert.rejects(promise, (error) => { caught = error; return true; });
  assert.ok(caught instanceof kind, `${caught}`);
  return caught;
}

// Chat completions, whole and put together: the same text, citations, usage and trace.
const whole = await client.chat.completions.create({ model: "ken/always", messages, ken: full });
const { content, annotations } = whole.choices[0].message;
assert.ok(content.includes("[1]") && content.length > [...content].length, content);
assert.equal(annotations.length, 2);
for (const { type, url_citation: citation } of annotations) {
  assert.equal(type, "url_citation");
  assert.match(part(content, citation.start_index, citation.end_index), /^\[?1\]?$/);
  assert.ok(citation.title && citation.url.startsWith("http://"));
}
assert.equal(whole._request_id, whole.ken.request_id);

const streamed = client.chat.completions.stream({
  model: "ken/always", messages, ken: full, stream_options: { include_usage: true },
});
const pieces = [];
let chunks = 0;
streamed.on("content", (piece) => pieces.push(piece));
streamed.on("chunk", () => { chunks += 1; });
const final = await streamed.finalChatCompletion();
assert.equal(pieces.join(""), content);
assert.ok(chunks >= 3, `${chunks}`);
assert.equal(final.choices.length, 1);
assert.equal(final.choices[0].message.content, content);
assert.deepEqual(final.choices[0].message.annotations, annotations);
assert.equal(final.choices[0].finish_reason, "stop");
assert.deepEqual(final.usage, whole.usage);
assert.deepEqual(await streamed.totalUsage(), whole.usage);
assert.equal(final.ken.route, "corpus");
assert.deepEqual(final.ken.citations, whole.ken.citations);
assert.equal(await streamed.finalContent(), content);

// One that is no longer wanted ends as such, and the next is answered.
const stopped = client.chat.completions.stream({ model: "ken/always", messages, ken: full });
stopped.abort();
await failing(stopped.finalChatCompletion(), OpenAI.APIUserAbortError);
const after = await client.chat.completions.create({ model: "ken/never", messages, ken: full });
assert.equal(after.ken.route, "self");

// The client for Azure, for which a deployment is the model.
const azure = new AzureOpenAI({
  endpoint: new URL(url).origin, apiKey: "none", apiVersion: "2024-10-21", deployment: "ken/never", maxRetries: 0,
});
const deployed = await azure.chat.completions.create({ model: "<ignored>", messages });
assert.deepEqual([deployed.model, deployed.ken.route], ["ken/never", "self"]);

// Responses: the same, by named events.
const response = await client.responses.create({ model: "ken/always", input: question, ken: full });
assert.equal(response.output_text, content);
// A client that offers the search as a tool is told of its call.
const tools = [{ type: "file_search", vector_store_ids: [] }];
const putTogether = client.responses.stream({ model: "ken/always", input: question, tools, ken: full });
const kinds = [];
let text = "";
for await (const event of putTogether) {
  kinds.push(event.type);
  if (event.type === "response.output_text.delta") text += event.delta;
}
const answered = await putTogether.finalResponse();
assert.equal(kinds[0], "response.created");
assert.equal(kinds.at(-1), "response.completed");
assert.equal(text, content);
assert.equal(answered.status, "completed");
assert.equal(answered.output_text, content);
assert.deepEqual(answered.usage, response.usage);
assert.equal(answered.usage.total_tokens, whole.usage.total_tokens);
const [search, said] = answered.output;
assert.equal(search.type, "file_search_call");
const files = said.content[0].annotations;
assert.deepEqual(files, response.output.at(-1).content[0].annotations);
assert.equal(files.length, 2);
assert.ok(files.every((one) => one.type === "file_citation" && one.filename));
assert.equal(kinds.filter((kind) => kind === "response.output_text.annotation.added").length, files.length);

// What is refused before the first piece has its status.
const refused = await failing(
  client.chat.completions.stream({ model: "gpt-5", messages }).finalChatCompletion(), OpenAI.NotFoundError);
assert.deepEqual([refused.status, refused.code], [404, "model_not_found"]);
assert.ok(refused.requestID);

// What fails amid a stream is an error with its code, and not a short answer.
const cut = at(breaking);
const chat = await failing(
  cut.chat.completions.stream({ model: "ken/always", messages }).finalChatCompletion(), OpenAI.APIError);
assert.equal(chat.code, "deadline_exceeded");
assert.equal(chat.status, undefined);
const broken = cut.responses.stream({ model: "ken/always", input: question });
const seen = [];
const whileRead = await failing((async () => { for await (const event of broken) seen.push(event.type); })(), OpenAI.APIError);
assert.equal(whileRead.code, "deadline_exceeded");
assert.ok(seen.includes("response.created") && !seen.includes("response.completed"), `${seen}`);

console.log("all right");
