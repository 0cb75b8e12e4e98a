import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rng } from "openenv-ts";
import { serve } from "openenv-ts/server";
import { describe, expect, test } from "vitest";
import { requirePython } from "../../test-support/requirement.js";
import environment from "./server/environment.js";
import { secrets } from "./words.js";

const python = await requirePython();
const here = fileURLToPath(new URL(".", import.meta.url));

describe.skipIf(!python.available)("a trainer on the Python package", () => {
  test("plays a typed episode, and reads the manifest", { timeout: 240_000 }, async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    const args = [`${here}python_client.py`, server.url, here, "[fuzzy]", "[cat]", `[${rng(7).pick(secrets)}]`];
    const { stdout } = await promisify(execFile)(python.path, args);
    const played = JSON.parse(stdout);
    expect(played).toMatchObject({
      news: [
        expect.stringMatching(/Feedback:\nF U Z Z Y\n[GYX ]{9}\nYou have 5 guesses left\.$/),
        expect.stringContaining("You attempted an invalid move"),
        expect.stringContaining("G G G G G"),
      ],
      reward: 1,
      done: true,
      signals: { "wordle.greens": 1, "wordle.yellows": 0, "wordle.repetitions": 1, "wordle.correct": 1 },
      turn: 2,
      manifest: { name: "wordle_env", reward: { range: [0, 1] }, types: { tags: ["game"] } },
    });
  });
});
