import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import {
  change,
  copyEnvironment,
  OTHERS,
  useSemanticChecks,
} from "../../../../../test-support/commands/semantic-checks.js";
import { createDoor } from "../../../../../test-support/environments/door-package.js";

const check = useSemanticChecks();

test.each<[string, string, string, Record<string, string>?]>([
  ["by its length", '"x".repeat(code)', "observation.note has the length of the answer code"],
  ["in base64", `btoa(\`the code is \${code}, says the door\`)`, "observation.note contains the answer code"],
  ["with an apostrophe", '"Say " + code', "observation.note contains the answer code", beginsWith("it's ")],
  [
    "with marks of an expression",
    '"Say " + code',
    "observation.note contains the answer code",
    beginsWith("c++ (a|b] - "),
  ],
])("an observation that leaks the answer %s", async (_, note, detail, changes = {}) => {
  await using project = await createDoor(note, changes);
  const { failed } = await check(project.dir, { leaveOut: ["canary_floor"] });
  expect(failed).toContainEqual(["no_solution_leakage", expect.stringContaining(detail)]);
});

test("a default of the schema that is the answer", async () => {
  await using project = await createDoor('""', {
    ...{ '"up", "down"': '"open", "down"', '"right", "open"': '"right", "up"' },
    ...{ "int(100, 120)": "int(7, 7)", ".default(0)": ".default(7)" },
  });
  const { failed } = await check(project.dir, { leaveOut: OTHERS });
  const detail = 'the defaults and examples of the schema are the answer: {"press":"open"} earns 1';
  expect(failed).toEqual([["no_solution_leakage", detail]]);
});

describe("what tells the answer before the agent acts", () => {
  test.each(["support", "incident", "sql", "wordle"])("is nowhere in %s", async (name) => {
    await using project = await copyEnvironment(name);
    const { failed, passed } = await check(project.dir, { leaveOut: OTHERS });
    expect({ failed, passed }).toEqual({ failed: [], passed: ["no_solution_leakage"] });
  });

  test.each([
    ["the article of the decision", "expected.decisions[0]?.article_id", /"KB-\d+"/],
    ["the article in one kind of task", 'task?.kind === "return" && expected.decisions[0]?.article_id', /"KB-\d+"/],
    ["the PIN of the customer", "person.pin", /"\d{4}"/],
  ])("is found: %s", async (_, leaked, detail) => {
    await using project = await copyEnvironment("support");
    const from = "email: person.email,";
    await change(join(project.dir, "server/environment.ts"), from, `email: \`\${person.email} \${${leaked}}\`,`);
    const { failed } = await check(project.dir, { leaveOut: OTHERS });
    expect(failed).toEqual([["no_solution_leakage", expect.stringMatching(detail)]]);
    expect(failed[0]?.[1]).toMatch(/^observation.email contains the answer arguments\.(article_id|pin) = /);
  });

  test.each([
    [
      "what an action needs that only looks something up",
      "validation/oracle.ts",
      'call("message_customer", { text: "Hello!',
      'call("find_customer", { email: person.email }),\n    call("message_customer", { text: "Hello!',
    ],
    [
      "the name of a tool",
      "server/environment.ts",
      "email: person.email,",
      'email: task?.kind === "return" ? "refund_order" : "",',
    ],
  ])("is not %s", async (_, file, from, to) => {
    await using project = await copyEnvironment("support");
    await change(join(project.dir, file), from, to);
    const { failed, passed } = await check(project.dir, { leaveOut: OTHERS });
    expect({ failed, passed }).toEqual({ failed: [], passed: ["no_solution_leakage"] });
  });

  test("is not a list of all choices", async () => {
    const changes = { "int(100, 120)": 'pick(["7", "8", "9"])', "z.int().default(0)": 'z.string().default("")' };
    await using project = await createDoor('"Codes are 7, 8 and 9."', changes);
    const { failed, passed } = await check(project.dir, { leaveOut: OTHERS });
    expect({ failed, passed }).toEqual({ failed: [], passed: ["no_solution_leakage"] });
  });

  test("is unknown if the oracle does the same in all tasks", async () => {
    await using project = await createDoor('"x"', { "int(100, 120)": "int(100, 100)" });
    const { failed, passed, skipped } = await check(project.dir, { leaveOut: OTHERS });
    expect({ failed, passed }).toEqual({ failed: [], passed: [] });
    expect(skipped).toContainEqual(["no_solution_leakage", expect.stringMatching(/acts the same in all tasks/)]);
  });
});

test.each([
  [
    "with the answer of one task",
    'if (code.endsWith("9")) log(code);',
    "",
    [/^logs contains the answer code = "code 109" of/],
  ],
  ["that repeats all actions", "", "log(JSON.stringify(action));", []],
])("a log %s", async (_, atReset, atStep, expected) => {
  await using file = await createProject({ "server.log": "" });
  const path = join(file.dir, "server.log");
  await using project = await createDoor('"x"', {
    ...beginsWith("code "),
    "export default": `import { appendFileSync } from "node:fs";
      const log = (text) => appendFileSync(${JSON.stringify(path)}, text + "\\n");
      export default`,
    'return { observation: { note: "x", pressed: 0 } }': `${atReset} return { observation: { note: "x", pressed: 0 } }`,
    "if (isOver)": `${atStep} if (isOver)`,
  });
  const { failed, passed } = await check(project.dir, { logs: () => readFile(path, "utf8"), leaveOut: OTHERS });
  expect(failed).toEqual(expected.map((detail) => ["no_solution_leakage", expect.stringMatching(detail)]));
  expect(passed).toEqual(expected.length > 0 ? [] : ["no_solution_leakage"]);
});

/** A door whose code begins with this text. */
function beginsWith(text: string): Record<string, string> {
  return {
    "int(100, 120)": `int(100, 120).toString().replace(/^/, "${text}")`,
    "z.int().default(0)": 'z.string().default("")',
  };
}
