// Calls operations of each dialect by the generated types, and prints how many of each.

import createClient from "openapi-fetch";

import type { paths } from "./generated/api.js";

declare const process: { env: Record<string, string>; stdout: { write(text: string): void } };

const { ORIGIN: baseUrl, KEY, PASSWORD } = process.env;
const counts: Record<string, number> = {};

/// The result of a call, which must be a success.
function ok<T>(dialect: string, answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(`${dialect}: ${JSON.stringify(answer.error)}`);
  counts[dialect] = (counts[dialect] ?? 0) + 1;
  return answer.data;
}

function equal<T>(found: T, expected: T): void {
  if (found !== expected) throw new Error(`${JSON.stringify(found)} is not ${JSON.stringify(expected)}`);
}

const client = (token?: string) =>
  createClient<paths>({ baseUrl, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
const withKey = client(KEY);

async function disaster(): Promise<void> {
  const body = { email: "admin@muster.local", password: PASSWORD };
  const login = ok("disaster", await client().POST("/api/v1/auth/login", { body }));
  const person = client(login.data.token);
  equal(ok("disaster", await person.GET("/api/v1/auth/me")).data.email, body.email);
  const report = { title: "Bridge flooded", kind: "flood" } as const;
  const { data: incident } = ok("disaster", await person.POST("/api/v1/incidents", { body: report }));
  equal(incident.state, "reported");
  const params = { path: { id: incident.id }, header: { "If-Match": "*" } };
  const assessment = { severity: "Severe", urgency: "Immediate", certainty: "Observed" } as const;
  const triaged = await person.POST("/api/v1/incidents/{id}/triage", { params, body: assessment });
  equal(ok("disaster", triaged).data.version > incident.version, true);
  equal(ok("disaster", await person.GET("/api/v1/incidents")).data.incidents[0].id, incident.id);
}

async function interfaceA(): Promise<void> {
  const reply = ok("interface A", await withKey.POST("/api/chat", { body: { message: "Hello?", model: "echo" } }));
  equal("success" in reply && reply.success, true);
  equal(ok("interface A", await withKey.GET("/api/models")).models.some((model) => model.id === "echo"), true);
}

async function openai(): Promise<void> {
  equal(ok("OpenAI", await withKey.GET("/v1/models")).data.some((model) => model.id === "echo"), true);
  const model = await withKey.GET("/v1/models/{id}", { params: { path: { id: "echo" } } });
  equal(ok("OpenAI", model).id, "echo");
  const chat = { model: "echo", messages: [{ role: "user" as const, content: "Hello?" }] };
  const completion = ok("OpenAI", await withKey.POST("/v1/chat/completions", { body: chat }));
  equal("choices" in completion && completion.choices.length, 1);
  const response = ok("OpenAI", await withKey.POST("/v1/responses", { body: { model: "echo", input: "Hello?" } }));
  equal("status" in response && response.status, "completed");
  const vectors = await withKey.POST("/v1/embeddings", { body: { model: "vectors", input: ["one", "three"] } });
  equal(ok("OpenAI", vectors).data.length, 2);
}

async function anthropic(): Promise<void> {
  const messages = [{ role: "user" as const, content: "Hello?" }];
  const message = await withKey.POST("/v1/messages", { body: { model: "echo", max_tokens: 16, messages } });
  const turn = ok("Anthropic", message);
  equal("role" in turn && turn.role, "assistant");
  const count = await withKey.POST("/v1/messages/count_tokens", { body: { model: "echo", messages } });
  equal(ok("Anthropic", count).input_tokens > 0, true);
}

async function agent(): Promise<void> {
  equal(ok("agent", await withKey.GET("/api/engines")).engines.some((engine) => engine.number === 108), true);
  const run = await withKey.POST("/api/q108/run", { body: { document: { a: 2 }, program: ".a + 1" } });
  equal(ok("agent", run).number, 108);
  equal(ok("agent", await withKey.GET("/api/v1/agents")).agents.some((it) => it.id === "json-wrangler"), true);
  const begun = await withKey.POST("/api/v1/agents/{id}/run", {
    params: { path: { id: "json-wrangler" } },
    body: { task: "count", params: { document: [1, 2], program: "length" } },
  });
  const { task_id: id } = ok("agent", begun);
  equal(ok("agent", await withKey.GET("/api/v1/tasks/{id}", { params: { path: { id } } })).task_id, id);
}

for (const call of [disaster, interfaceA, openai, anthropic, agent]) await call();
process.stdout.write(JSON.stringify(counts));
