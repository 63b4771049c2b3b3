// OpenAI's client for JavaScript.

import assert from "node:assert/strict";

import { base, berth, checkWords, high, load, model, question, report, system, toolQuestion } from "./rows.mjs";

const { default: OpenAI } = await load("openai");
const client = new OpenAI({ baseURL: base, apiKey: "none", maxRetries: 0 });
const parameters = { type: "object", properties: { port: { type: "string" } }, required: ["port"] };
const definition = { name: "tide", description: "The tide of a port.", parameters };
const asked = (content) => [{ role: "system", content: system }, { role: "user", content }];

async function chatStreamed() {
  const stream = client.chat.completions.stream({
    model: "ken/always", messages: [{ role: "user", content: question }], stream_options: { include_usage: true },
  });
  const pieces = [];
  stream.on("content", (piece) => pieces.push(piece));
  const final = await stream.finalChatCompletion();
  assert.equal(pieces.join(""), final.choices[0].message.content);
  checkWords(pieces.join(""), berth);
  assert.ok(final.usage.total_tokens > 0 && final.ken.route === "corpus");
}

async function tools() {
  const messages = asked(toolQuestion);
  const tool = { type: "function", function: definition };
  const stream = client.chat.completions.stream({ model, messages, tools: [tool], tool_choice: "required", max_tokens: 60 });
  const { message } = (await stream.finalChatCompletion()).choices[0];
  const [call] = message.tool_calls;
  assert.equal(call.function.name, "tide");
  assert.deepEqual(Object.keys(JSON.parse(call.function.arguments)), ["port"]);
  messages.push(message, { role: "tool", tool_call_id: call.id, content: "high" });
  const second = await client.chat.completions.create({ model, messages, max_tokens: 60 });
  checkWords(second.choices[0].message.content, high);
}

async function embeddings() {
  const { data } = await client.embeddings.create({ model: "ken/embedder", input: ["a berth", "a tide"] });
  assert.ok(data[1].embedding.length > 100);
}

async function responses() {
  const tool = { type: "file_search", vector_store_ids: ["harbor"] };
  const stream = client.responses.stream({ model: "ken/always", input: question, tools: [tool] });
  checkWords((await stream.finalResponse()).output_text, berth);
}

await report("openai", [
  ["JavaScript: chat, streamed: the pieces are the text, usage and trace at the end", false, chatStreamed],
  ["JavaScript: tools, streamed: a call is demanded, its result is read", true, tools],
  ["JavaScript: embeddings", false, embeddings],
  ["JavaScript: responses with file_search, streamed", false, responses],
]);
