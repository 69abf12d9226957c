// my-agent: a coding agent that serves ACP on stdin and stdout, one JSON-RPC message a line.
//
// It asks a server of chat completions, carries out the tool calls of its answers, and tells the client what happens.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const MOST_REQUESTS = 200;
const COMMAND_TIMEOUT_MS = 600_000;
const OUTPUT_KEPT = 30_000;

const SYSTEM = (cwd) => `You are a coding agent. You work in the directory ${cwd}. Look before you change anything, \
make the smallest change that does the whole task, and check that it works. Then answer with a short summary.`;

// Describes a tool to the model; all its parameters are texts, and required.
function tool(name, description, parameters) {
  const entries = Object.entries(parameters).map(([key, text]) => [key, { type: "string", description: text }]);
  const schema = { type: "object", properties: Object.fromEntries(entries), required: Object.keys(parameters) };
  return { type: "function", function: { name, description, parameters: schema } };
}

const TOOLS = [
  tool("shell", "Run a bash command; returns its output and exit status.", { command: "As typed into bash." }),
  tool("write_file", "Write a whole text file.", { path: "Absolute, or relative.", content: "Its whole text." }),
];
const KINDS = { shell: "execute", write_file: "edit" };
const OPTIONS = ["allow_once", "allow_always", "reject_once"].map((kind) => ({ optionId: kind, name: kind, kind }));

// Says where the model is. BenchFlow sets the first variable, to its gateway; elsewhere the second counts.
function setting(name, otherwise = "") {
  return process.env[`BENCHFLOW_PROVIDER_${name}`] || process.env[`OPENAI_${name}`] || otherwise;
}

// Asks the model; yields the events of its answer as they come.
async function* complete(request, signal) {
  const url = `${setting("BASE_URL", "https://api.openai.com/v1").replace(/\/+$/, "")}/chat/completions`;
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${setting("API_KEY")}` },
    body: JSON.stringify({ ...request, stream: true, stream_options: { include_usage: true } }),
    signal,
  });
  if (!response.ok) {
    throw new Error(`the model's server answered ${response.status}: ${(await response.text()).slice(0, 2000)}`);
  }
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n"); // a piece may end anywhere, also within a character
    rest = lines.pop();
    for (const line of lines) {
      const data = line.slice(5).trim();
      if (line.startsWith("data:") && data !== "[DONE]") yield JSON.parse(data);
    }
  }
}

// What a request is answered with instead of a result.
class RpcError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// A conversation in one working directory.
class Session {
  id = randomUUID();
  model = setting("MODEL", "gpt-4.1");
  turn = null; // the AbortController of the prompt under way
  usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  #allowed = new Set();
  #shown = 0;
  #messages;

  constructor(cwd) {
    this.cwd = cwd;
    this.#messages = [{ role: "system", content: SYSTEM(cwd) }];
  }

  // Asks the model, and does as it says, until it has no more tool calls. Returns ACP's stop reason.
  async work(prompt) {
    this.#messages.push({ role: "user", content: prompt });
    this.usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    for (let request = 0; request < MOST_REQUESTS; request++) {
      const [message, finish] = await this.#askModel();
      this.#messages.push(message);
      if (!message.tool_calls) return { length: "max_tokens", content_filter: "refusal" }[finish] ?? "end_turn";
      // Every call needs a result, also in a turn that is cancelled, or the next request would be refused.
      const results = message.tool_calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: "cancelled" }));
      this.#messages.push(...results);
      for (const [index, call] of message.tool_calls.entries()) {
        this.turn.signal.throwIfAborted();
        results[index].content = await this.#carryOut(call.function.name, call.function.arguments);
      }
    }
    return "max_turn_requests";
  }

  // Returns the model's answer as a message, and why it ended; tells of it as it comes.
  async #askModel() {
    let text = "";
    let finish = null;
    const calls = [];
    const request = { model: this.model, messages: this.#messages, tools: TOOLS };
    for await (const event of complete(request, this.turn.signal)) {
      if (event.error) throw new Error(`the model's server failed: ${JSON.stringify(event.error)}`);
      this.#count(event.usage ?? {});
      for (const { delta = {}, finish_reason } of event.choices ?? []) {
        const thought = delta.reasoning_content || delta.reasoning;
        if (thought) this.#tell("agent_thought_chunk", { content: { type: "text", text: thought } });
        if (delta.content) {
          text += delta.content;
          this.#tell("agent_message_chunk", { content: { type: "text", text: delta.content } });
        }
        for (const part of delta.tool_calls ?? []) {
          // The pieces of one call have the same index.
          const call = (calls[part.index ?? 0] ??= { type: "function", function: { name: "", arguments: "" } });
          call.id ??= part.id || `call-${randomUUID()}`;
          call.function.name += part.function?.name ?? "";
          call.function.arguments += part.function?.arguments ?? "";
        }
        finish = finish_reason ?? finish;
      }
    }
    if (!finish) throw new Error("the model's answer was cut");
    const made = calls.filter(Boolean);
    return [{ role: "assistant", content: text, ...(made.length && { tool_calls: made }) }, finish];
  }

  #count({ prompt_tokens = 0, completion_tokens = 0 }) {
    this.usage.inputTokens += prompt_tokens;
    this.usage.outputTokens += completion_tokens;
    this.usage.totalTokens = this.usage.inputTokens + this.usage.outputTokens;
  }

  // Does what a tool call says, and tells of it; returns what the model is told.
  async #carryOut(name, text) {
    let given = text;
    let problem = null;
    try {
      given = JSON.parse(text || "{}");
    } catch (error) {
      problem = `error: the arguments are no JSON: ${error.message}`;
    }
    // The model's own ids need not be unique in a session; those of ACP must be.
    const call = { toolCallId: `${++this.#shown}-${name}`, kind: KINDS[name] ?? "other", status: "pending" };
    Object.assign(call, { title: `${name} ${text}`.slice(0, 200), rawInput: { name, arguments: given } });
    this.#tell("tool_call", call);
    let [done, output] = [false, problem ?? "cancelled"];
    try {
      if (!problem) [done, output] = await this.#run(name, given, call);
    } finally {
      // Also when cancelled: a call that was begun is ended.
      const content = [{ type: "content", content: { type: "text", text: output } }];
      const status = done ? "completed" : "failed";
      this.#tell("tool_call_update", { toolCallId: call.toolCallId, status, content });
    }
    return output;
  }

  // Returns whether it went well, and the output.
  async #run(name, given, call) {
    if (!(name in KINDS)) return [false, `error: there is no tool ${name}`];
    if (!(await this.#permitted(name, call))) return [false, "error: the user did not allow this call"];
    this.#tell("tool_call_update", { toolCallId: call.toolCallId, status: "in_progress" });
    try {
      return name === "shell" ? await this.#shell(given) : await this.#writeFile(given);
    } catch (error) {
      this.turn.signal.throwIfAborted();
      return [false, `error: ${error.message}`];
    }
  }

  // Asks the client, before anything is changed. What cannot be asked is not allowed.
  async #permitted(name, call) {
    if (this.#allowed.has(name)) return true;
    const params = { sessionId: this.id, toolCall: call, options: OPTIONS };
    const { outcome } = await ask("session/request_permission", params, this.turn.signal);
    if (outcome?.outcome === "cancelled") this.turn.abort();
    this.turn.signal.throwIfAborted();
    if (outcome?.optionId === "allow_always") this.#allowed.add(name);
    return ["allow_once", "allow_always"].includes(outcome?.optionId);
  }

  async #shell({ command }) {
    // Output goes to a file: the end of a pipe would come only when all that was left running has closed it.
    const folder = mkdtempSync(join(tmpdir(), "shell-"));
    const file = openSync(join(folder, "output"), "w+");
    // stdin is closed, or the command would eat the client's messages; detached, it is killed with all it started.
    const child = spawn("bash", ["-c", command], { cwd: this.cwd, stdio: ["ignore", file, file], detached: true });
    const kill = () => child.exitCode === null && child.signalCode === null && process.kill(-child.pid, "SIGKILL");
    const timer = setTimeout(kill, COMMAND_TIMEOUT_MS);
    this.turn.signal.onabort = kill; // a session waits for one thing at a time
    try {
      const [status, signal] = await new Promise((done, fail) => {
        child.on("error", fail);
        child.on("exit", (...how) => done(how));
      });
      this.turn.signal.throwIfAborted();
      let output = readFileSync(join(folder, "output"), "utf8");
      if (output.length > OUTPUT_KEPT) {
        output = `${output.slice(0, OUTPUT_KEPT / 2)}\n[…]\n${output.slice(-OUTPUT_KEPT / 2)}`;
      }
      return [status === 0, `${output}\n[${signal ?? `exit status ${status}`}]`.trimStart()];
    } finally {
      clearTimeout(timer);
      closeSync(file);
      rmSync(folder, { recursive: true });
    }
  }

  async #writeFile({ path, content }) {
    const target = resolve(this.cwd, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
    return [true, `wrote ${path}`];
  }

  #tell(kind, fields) {
    send({ method: "session/update", params: { sessionId: this.id, update: { sessionUpdate: kind, ...fields } } });
  }
}

const sessions = new Map();
const asked = new Map();
let asks = 0;

// stdout is the protocol's alone: what else is printed goes to stderr.
console.log = console.info = console.debug = console.error;

// Writes one message. JSON escapes line ends, so it is one line.
function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

// Asks the client; the answer comes between other messages, and is known by its id. An error is an empty one.
function ask(method, params, signal) {
  const id = asks++;
  send({ id, method, params });
  return new Promise((done) => {
    asked.set(id, done);
    signal.onabort = () => done({});
  });
}

// Answers one message of the client's.
async function handle(message) {
  if (!message.method) {
    asked.get(message.id)?.(message.result ?? {}); // it is an answer itself
    asked.delete(message.id);
    return;
  }
  let reply;
  try {
    reply = { result: await answer(message.method, message.params ?? {}) };
  } catch (error) {
    console.error(error); // what has failed is an error, and no turn that ended
    const reason = error.cause ? `${error.message}: ${error.cause.message}` : error.message;
    reply = { error: { code: error instanceof RpcError ? error.code : -32603, message: reason } };
  }
  if ("id" in message) send({ id: message.id, ...reply }); // one without is a notification, and never answered
}

async function answer(method, params) {
  switch (method) {
    case "initialize": {
      // The answer names the version that is spoken here, whichever was asked for.
      const agentInfo = { name: "my-agent", title: "my-agent", version: "0.1.0" };
      return { protocolVersion: 1, agentCapabilities: {}, agentInfo, authMethods: [] };
    }
    case "session/new": {
      const session = new Session(params.cwd);
      sessions.set(session.id, session);
      const availableModels = [{ modelId: session.model, name: session.model }];
      return { sessionId: session.id, models: { availableModels, currentModelId: session.model } };
    }
    case "session/set_model":
      find(params).model = params.modelId;
      return {};
    case "session/prompt":
      return prompt(find(params), params.prompt);
    case "session/cancel":
      find(params).turn?.abort();
      return {};
  }
  throw new RpcError(-32601, `there is no method ${method}`);
}

function find({ sessionId }) {
  const session = sessions.get(sessionId);
  if (!session) throw new RpcError(-32602, `there is no session ${sessionId}`);
  return session;
}

// Works on a prompt, of texts and links.
async function prompt(session, blocks) {
  if (session.turn) throw new RpcError(-32600, "this session still works on a prompt");
  const turn = (session.turn = new AbortController());
  let stopReason;
  try {
    stopReason = await session.work(blocks.map((block) => block.text ?? block.uri ?? "").join("\n\n"));
  } catch (error) {
    if (!turn.signal.aborted) throw error;
    stopReason = "cancelled"; // no error: the client asked for it
  } finally {
    session.turn = null;
  }
  return { stopReason, usage: session.usage };
}

// Lines end with \n alone: node:readline would also end them at U+2028, which JSON may hold. Nothing is waited for here:
// the next line may be a cancel, or the answer that a turn needs.
let rest = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines) take(line);
});

function take(line) {
  let message = null;
  try {
    message = JSON.parse(line);
  } catch {}
  if (message !== null && typeof message === "object" && !Array.isArray(message)) handle(message);
  else send({ id: null, error: { code: -32700, message: "no JSON-RPC message" } });
}

// When the client has left, what is under way is stopped.
process.stdin.on("end", () => {
  for (const session of sessions.values()) session.turn?.abort();
  setTimeout(() => process.exit(0), 500).unref();
});
