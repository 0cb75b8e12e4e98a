import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Tools } from "../../contract/tools/tools.js";
import { type ContractMismatchError, defineContract } from "../../index.js";
import type { SchemaBody } from "../../protocol/published.js";
import { compareSchemas } from "./compare-schemas.js";

interface Parts {
  action?: z.ZodType<Record<string, unknown>, Record<string, unknown>>;
  observation?: z.ZodObject;
  state?: z.ZodObject;
  tools?: Tools;
}

function maze(parts: Parts = {}) {
  const action = z.object({ to: z.string() });
  const given = { name: "maze_env", action, observation: z.object({ at: z.int() }), ...parts };
  return defineContract({ ...given, action: given.action as z.ZodObject });
}

/** Why a client with this contract rejects a server with these schemas: the fields and the message. */
function refusal(contract: ReturnType<typeof maze>, schema: SchemaBody): [readonly string[], string] | undefined {
  try {
    compareSchemas(contract, { url: "http://server", name: undefined, schema });
  } catch (error) {
    const { fields, message } = error as ContractMismatchError;
    return [fields, /does not match the contract "maze_env": (.*)\. Use the server's/.exec(message)?.[1] ?? message];
  }
  return undefined;
}

function variant(kind: string, fields: z.core.$ZodLooseShape = {}) {
  return z.object({ kind: z.literal(kind), ...fields });
}

describe("the client names the fields that break the contract:", () => {
  test.each<[string, Parts, Parts, string[], string]>([
    [
      "one of a variant of a union, and a variant that was removed",
      { action: z.discriminatedUnion("kind", [variant("go", { to: z.string() }), variant("look"), variant("stop")]) },
      { action: z.discriminatedUnion("kind", [variant("look"), variant("go"), variant("wait")]) },
      ["action.go.to", "action.stop"],
      'action: "go.to" was removed; action: "stop" was removed',
    ],
    [
      "one that was removed",
      { action: z.object({ to: z.string(), speed: z.int() }) },
      { action: z.object({ to: z.string() }) },
      ["action.speed"],
      'action: "speed" was removed',
    ],
    [
      "one that was added and is required",
      { action: z.object({ to: z.string() }) },
      { action: z.object({ to: z.string(), speed: z.int() }) },
      ["action.speed"],
      'action: "speed" was added and is required',
    ],
    [
      "one that is required now",
      { action: z.object({ to: z.string().optional() }) },
      { action: z.object({ to: z.string() }) },
      ["action.to"],
      'action: "to" is now required',
    ],
    [
      "one of another type, once for steps and resets",
      { observation: z.object({ at: z.string() }) },
      { observation: z.object({ at: z.int().nullable() }) },
      ["observation.at", "reset_observation.at"],
      'observation: "at" changed from string to integer or null',
    ],
    [
      "a nested one, by its path",
      { state: z.object({ rooms: z.array(z.object({ doors: z.object({ open: z.int() }) })) }) },
      { state: z.object({ rooms: z.array(z.object({ doors: z.object({ open: z.string() }) })) }) },
      ["state.rooms[].doors.open"],
      'state: "rooms[].doors.open" changed from integer to string',
    ],
    [
      "several",
      { action: z.object({ to: z.string(), speed: z.int() }), state: z.object({ room: z.int() }) },
      { action: z.object({ to: z.enum(["north"]) }), state: z.object({ room: z.string() }) },
      ["action.to", "action.speed", "state.room"],
      'action: "to" changed from string to "north"; action: "speed" was removed; ' +
        'state: "room" changed from integer to string',
    ],
  ])("%s", (_what, ours, theirs, fields, problems) => {
    expect(refusal(maze(ours), maze(theirs).schemas())).toEqual([fields, problems]);
  });

  test("arguments and results of tools, and tools that were removed", () => {
    const tool = (input: z.ZodObject, output: z.ZodObject) => ({ description: "Looks.", input, output });
    const ours = { look: tool(z.object({}), z.object({ seen: z.string() })), go: { description: "Goes." } };
    const theirs = { look: tool(z.object({ at: z.string() }), z.object({ seen: z.int() })) };
    expect(refusal(maze({ tools: ours }), maze({ tools: theirs }).schemas())).toEqual([
      ["tools.look.at", "tools.look.seen", "tools.go"],
      'tools.look: "at" was added and is required; tools.look: "seen" changed from string to integer; ' +
        'tools: "go" was removed',
    ]);
  });
});

describe("the client accepts", () => {
  test.each<[string, Parts, Parts]>([
    ["an optional field of the action", {}, { action: z.object({ to: z.string(), speed: z.int().optional() }) }],
    ["a field of the observation", {}, { observation: z.object({ at: z.int(), hint: z.string() }) }],
    [
      "an action that may be more",
      { action: z.object({ to: z.enum(["north"]), steps: z.array(z.int().max(8)) }) },
      { action: z.object({ to: z.string(), steps: z.array(z.number().max(9)) }) },
    ],
    [
      "an observation that is always less",
      { observation: z.object({ at: z.int().nullable(), way: z.enum(["a", "b"]) }) },
      { observation: z.object({ at: z.int(), way: z.literal("a") }) },
    ],
    [
      "another limit, which the server checks",
      { action: z.object({ steps: z.int().max(9) }) },
      { action: z.object({ steps: z.int().max(8) }) },
    ],
    ["a new tool", {}, { tools: { look: { description: "Looks." } } }],
  ])("%s", (_what, ours, theirs) => {
    expect(refusal(maze(ours), maze(theirs).schemas())).toBeUndefined();
  });

  test("a server that publishes neither tools nor resets, nor the fields of its state", () => {
    const contract = maze({ tools: { look: { description: "Looks." } }, state: z.object({ room: z.int() }) });
    const { tools: _tools, reset_observation: _reset, ...schema } = contract.schemas();
    expect(refusal(contract, { ...schema, state: maze().schemas().state } as SchemaBody)).toBeUndefined();
  });
});
