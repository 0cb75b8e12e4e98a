/** The page about agents in Python as its readers follow it: its scripts, with a model that plays a script. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createProject, type Project, type Running, startCommand } from "../test-support/commands/command-line.js";
import { type ScriptedModel, startScriptedModel, type Turn } from "../test-support/other-servers/scripted-model.js";
import { requireAgents, requireLangchain } from "../test-support/requirement.js";

const page = readFileSync(join(import.meta.dirname, "guide/python-agents.md"), "utf8");
const [agents, langchain] = [await requireAgents(), await requireLangchain()];
const TIME_LIMIT = { timeout: 400_000 };
const SEARCH: Turn = { tool: "search", arguments: { text: "Du" } };
const BORROW: Turn = { tool: "borrow", arguments: { title: "Dune" } };
const BORROW_UNKNOWN: Turn = { tool: "borrow", arguments: { title: "Dune II" } };
const SUBMIT: Turn = { tool: "submit", arguments: { answer: "Borrowed." } };
const NO_BOOK = 'There is no book "Dune II".';

interface Framework {
  script: string;
  /** How the script shows that the server was lost during a call, or before it. */
  lost: RegExp;
  /** How it shows that the server was restarted. */
  restarted: RegExp;
  /** An expression of the script, and the same with a token. */
  token: [string, string];
}

const URL_ONLY = '"url": f"{address}/mcp"';
const WITH_HEADER = `${URL_ONLY}, "headers": {"authorization": f"Bearer {token}"}`;
const FRAMEWORKS: Framework[] = [
  {
    script: "openai_agent.py",
    lost: /UserError: Error running tool \w+: Connection closed/,
    restarted: /ConnectionLostError: SESSION_LOST/,
    token: [URL_ONLY, WITH_HEADER],
  },
  {
    script: "inspect_agent.py",
    lost: /^error$/m,
    restarted: /^error$/m,
    token: ['url=f"{address}/mcp"', 'url=f"{address}/mcp", authorization=token'],
  },
  {
    script: "langchain_agent.py",
    lost: /httpx\.(ConnectError|RemoteProtocolError|ReadError)/,
    restarted: /McpError: Session terminated/,
    token: [URL_ONLY, WITH_HEADER],
  },
  {
    script: "fastmcp_agent.py",
    // It asks for progress, so a call that runs is a stream.
    lost: /httpx2\.(ConnectError|RemoteProtocolError|ReadError)|MCPError: SSE stream ended/,
    restarted: /ConnectionLostError: SESSION_LOST/,
    token: ['Client(f"{address}/mcp")', 'Client(f"{address}/mcp", auth=token)'],
  },
];
const isAvailable = ({ script }: Framework) => (script.startsWith("langchain") ? langchain : agents).available;

describe.each(FRAMEWORKS.filter(isAvailable))("$script", ({ script, lost, restarted, token }) => {
  test("plays in the session of its program, and the model reads why a tool failed", TIME_LIMIT, async () => {
    await using library = await openLibrary();
    await using model = await startScriptedModel(
      (nth) => [SEARCH, BORROW_UNKNOWN, BORROW][nth - 1] ?? lastTurn(script),
    );
    expect(await library.run(script, { model })).toMatch(/^reward 1\.0$/m);
    expect(model.results.map(textOf)).toEqual([
      '["Dune","Dubliners"]',
      expect.stringContaining(NO_BOOK),
      '{"days":14}',
    ]);
    await library.server.printed(/session ended/);
    expect(library.endings()).toEqual(["closed by the client"]);
  });

  test("plays in no session of its program at an address without a name", TIME_LIMIT, async () => {
    await using library = await openLibrary();
    await using model = await startScriptedModel((nth) => (nth === 1 ? BORROW : lastTurn(script)));
    const nameless = (code: string) => code.replace('f"{address}/mcp"', `"${library.address}/mcp"`);
    expect(await library.run(script, { model, edit: nameless })).toMatch(/^reward 0\.0$/m);
  });

  test.each(["before", "during"])(
    "raises when the server is lost %s a call: the model gets no answer",
    TIME_LIMIT,
    async (when) => {
      await using library = await openLibrary("new Promise<string[]>(() => {})");
      await using model = await startScriptedModel(async () => {
        if (when === "before") await library.kill();
        else void library.server.printed(/searching/).then(library.kill);
        return SEARCH;
      });
      const printed = await library.run(script, { model });
      expect(printed).toMatch(lost);
      expect(printed).not.toMatch(/^reward/m);
      expect(model.asked).toBe(1);
    },
  );

  test("has no reward when the server was restarted", TIME_LIMIT, async () => {
    await using library = await openLibrary();
    await using model = await startScriptedModel(async (nth) => {
      if (nth === 2) await library.restart();
      return nth < 3 ? BORROW : lastTurn(script);
    });
    const printed = await library.run(script, { model });
    expect(printed).toMatch(restarted);
    expect(printed).not.toMatch(/^reward/m);
  });

  test("needs the token that the page shows, in production that of a client", TIME_LIMIT, async () => {
    const tokens = { OPENENV_CLIENT_TOKEN: "of-the-client", OPENENV_ORCHESTRATOR_TOKEN: "of-the-program" };
    await using library = await openLibrary(undefined, { ...tokens, OPENENV_MODE: "production" });
    const play = async (edit: (code: string) => string) => {
      await using model = await startScriptedModel((nth) => (nth === 1 ? BORROW : lastTurn(script)));
      return await library.run(script, { model, edit, env: { OPENENV_TOKEN: "of-the-program" } });
    };
    const withToken = (code: string) => `token = "of-the-client"\n${code.replace(...token)}`;
    expect(page).toContain(token[1].replace('url=f"{address}/mcp", ', "mcp_server_http(…, "));
    expect(await play(withToken)).toMatch(/^reward 1\.0$/m);
    expect(await play((code) => code)).not.toMatch(/^reward/m);
  });
});

describe.skipIf(!langchain.available)("langchain_agent.py", () => {
  test("has structured content in its messages, and the status of a call that failed", TIME_LIMIT, async () => {
    await using library = await openLibrary();
    await using model = await startScriptedModel((nth) => [BORROW_UNKNOWN, BORROW][nth - 1] ?? "Borrowed.");
    const show = 'print([(m.status, m.artifact) for m in result["messages"] if m.type == "tool"])';
    const edit = (code: string) => code.replace('print(result["messages"][-1].content)', show);
    expect(await library.run("langchain_agent.py", { model, edit })).toContain(
      "[('error', None), ('success', {'structured_content': {'days': 14}})]",
    );
  });
});

describe.skipIf(!agents.available)("openai_agent.py and fastmcp_agent.py", () => {
  test("have structured content", TIME_LIMIT, async () => {
    await using library = await openLibrary();
    await using model = await startScriptedModel((nth) => (nth === 1 ? SEARCH : "Found."));
    const structured = (code: string) =>
      code.replace("failure_error_function", "use_structured_content=True, failure_error_function");
    await library.run("openai_agent.py", { model, edit: structured });
    expect(JSON.parse(textOf(model.results[0]))).toEqual({ result: ["Dune", "Dubliners"] });
    await using again = await startScriptedModel((nth) => (nth === 1 ? SEARCH : "Found."));
    const data = (code: string) =>
      code.replace("messages.append({", "print(result.data)\n                messages.append({");
    expect(await library.run("fastmcp_agent.py", { model: again, edit: data })).toContain("['Dune', 'Dubliners']");
  });
});

describe.skipIf(!agents.available)("rewards.py", () => {
  test("makes the calls of an agent steps, and reads their reward", TIME_LIMIT, async () => {
    await using library = await openLibrary();
    await using model = await startScriptedModel((nth) => [SEARCH, BORROW][nth - 1] ?? "Borrowed.");
    const rewarded = (code: string) =>
      `${blockOf("rewards.py")}\n${code
        .replace("        wanted =", "        session_id = await make_calls_steps(env)\n        wanted =")
        .replace(/print\("reward", .*\)/, 'print("reward", await read_reward(env, session_id), await env.state())')}`;
    expect(await library.run("openai_agent.py", { model, edit: rewarded })).toMatch(/^reward 1 .*'step_count': 2/m);
  });
});

interface RunOptions {
  model: ScriptedModel;
  edit?: (code: string) => string;
  env?: Record<string, string>;
}

/** The environment of the page, served; `search` replaces what its first tool returns. */
async function openLibrary(search?: string, env: Record<string, string> = {}) {
  const code = blockOf("environment.ts");
  const slow = code.replace(/BOOKS\.filter\(.*\)/, () => `{ console.error("searching"); return ${search}; }`);
  const project = await createProject({ "environment.ts": search === undefined ? code : slow });
  const start = (port = "0") => startCommand(["serve", "environment.ts", "--port", port], { cwd: project.dir, env });
  let server = start();
  const [, address = ""] = await server.printed(/at (http:\/\/[\w.:]+)/);
  const kill = async () => {
    server.process.kill("SIGKILL");
    await server.exited;
  };
  return {
    address,
    kill,
    get server(): Running {
      return server;
    },
    async restart() {
      await kill();
      server = start(new URL(address).port);
      await server.printed(/at http/);
    },
    /** Why the sessions have ended. */
    endings: () => [...server.stderr.matchAll(/"reason":"([^"]*)","msg":"session ended"/g)].map(([, reason]) => reason),
    /** Returns what the script prints, to both streams. */
    async run(script: string, options: RunOptions): Promise<string> {
      return await runScript(project, script, { ...options, address });
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}

async function runScript(
  project: Project,
  script: string,
  { model, edit = (code) => code, env = {}, address }: RunOptions & { address: string },
): Promise<string> {
  const shown = blockOf(script);
  const code = edit(shown).replace("http://localhost:8000", address);
  const file = await project.write(script, code);
  const python = (script.startsWith("langchain") ? langchain : agents).path;
  const settings = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "scripted", OPENAI_AGENTS_DISABLE_TRACING: "1" };
  const child = spawn(python, [file], {
    cwd: project.dir,
    env: { ...process.env, ...settings, ...env },
    // A busy machine takes a minute to import the clients.
    timeout: 180_000,
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (printed += text));
  const [exitCode] = await once(child, "close");
  if (exitCode === null) throw new Error(`${script} did not end:\n${printed}`);
  return printed;
}

function lastTurn(script: string): Turn {
  return script.startsWith("inspect") ? SUBMIT : "Borrowed.";
}

/** The APIs send a text or a list of its parts. */
function textOf(result: unknown): string {
  return typeof result === "string" ? result : (result as { text: string }[]).map(({ text }) => text).join("");
}

function blockOf(file: string): string {
  const [, code] =
    new RegExp(`^\`\`\`\\w+ file=${file.replace(".", "\\.")}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page) ?? [];
  if (code === undefined) throw new Error(`the page has no block ${file}`);
  return code;
}
