// The AI SDK, by its provider for servers like OpenAI's.

import assert from "node:assert/strict";

import { base, berth, checkBerth, checkWords, high, load, model as name, question, report, system, toolQuestion } from "./rows.mjs";

const { embedMany, generateObject, generateText, stepCountIs, streamText, tool } = await load("ai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { z } = await load("zod");

const provider = createOpenAICompatible({ name: "ken", baseURL: base, apiKey: "none", includeUsage: true, supportsStructuredOutputs: true });
const asking = { model: provider.chatModel(name), system, maxOutputTokens: 60, maxRetries: 0 };

/** The tool, and the ports that it was called with. */
function harbor() {
  const ports = [];
  const tide = tool({
    description: "The tide of a port.",
    inputSchema: z.object({ port: z.string() }),
    execute: async ({ port }) => { ports.push(port); return "high"; },
  });
  return { ports, tools: { tide } };
}

async function tools() {
  const { ports, tools } = harbor();
  // The first call is demanded; after its result, the model answers.
  const prepareStep = ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "none" });
  const { text } = await generateText({ ...asking, prompt: toolQuestion, tools, prepareStep, stopWhen: stepCountIs(2) });
  assert.equal(ports.length, 1);
  checkWords(text, high);
}

async function toolsStreamed() {
  const { ports, tools } = harbor();
  const result = streamText({ ...asking, prompt: toolQuestion, tools, toolChoice: { type: "tool", toolName: "tide" }, onError: () => {} });
  const calls = await result.toolCalls;
  assert.equal(calls[0].toolName, "tide");
  assert.equal(typeof calls[0].input.port, "string");
  assert.equal(ports.length, 1);
}

async function streamed() {
  const result = streamText({ ...asking, prompt: question, onError: () => {} });
  const pieces = [];
  for await (const piece of result.textStream) pieces.push(piece);
  checkWords(pieces.join(""), berth);
  assert.ok((await result.usage).totalTokens > 0);
}

async function object() {
  const { object } = await generateObject({ ...asking, prompt: question, schema: z.object({ berth: z.int() }) });
  checkBerth(object.berth);
}

async function embeddings() {
  const { embeddings } = await embedMany({ model: provider.embeddingModel("ken/embedder"), values: ["a berth", "a tide"], maxRetries: 0 });
  assert.ok(embeddings[1].length > 100);
}

await report("ai", [
  ["generateText with a tool: a call is demanded, its result is read", true, tools],
  ["streamText with a tool: a call of the one that is named", true, toolsStreamed],
  ["streamText: the pieces, and usage", false, streamed],
  ["generateObject by a zod schema", false, object],
  ["embedMany", false, embeddings],
]);
