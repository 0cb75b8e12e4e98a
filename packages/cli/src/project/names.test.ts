import { expect, test } from "vitest";
import { ConfigError } from "../../../openenv/src/errors.js";
import { parseName, suggestName } from "./names.js";

test.each([
  ["counter-game", { kebab: "counter-game", module: "counter_game", prefix: "CounterGame", title: "Counter Game" }],
  ["counter_game", { kebab: "counter-game", module: "counter_game", prefix: "CounterGame", title: "Counter Game" }],
  ["my_env", { kebab: "my-env", module: "my_env", prefix: "My", title: "My Env" }],
  ["chess", { kebab: "chess", module: "chess", prefix: "Chess", title: "Chess" }],
  ["env", { kebab: "env", module: "env", prefix: "Env", title: "Env" }],
  ["grid2d-v3", { kebab: "grid2d-v3", module: "grid2d_v3", prefix: "Grid2dV3", title: "Grid2d V3" }],
])("%s is spelt as each place wants it", (name, spellings) => {
  expect(parseName(name)).toEqual(spellings);
});

test.each([
  ["CounterGame", "counter-game"],
  ["Counter Game!", "counter-game"],
  ["2048", "my-env"],
  ["3d_chess", "d-chess"],
  ["", "my-env"],
  ["../../etc", "etc"],
  ["-o", "o"],
  ["Größe", "gro-e"],
  ["class", "class-env"],
  ["json", "json-env"],
  ["server", "server-env"],
  ["node_modules", "node-modules-env"],
  ["null", "null-env"],
  ["a--b", "a-b"],
  ["x".repeat(65), "x".repeat(60)],
])("%j is refused, and %s suggested, which can be had", (name, suggestion) => {
  expect(() => parseName(name)).toThrow(ConfigError);
  expect(() => parseName(name)).toThrow(new RegExp(`; try ${suggestion}\\.$`));
  expect(suggestName(name)).toBe(suggestion);
  expect(parseName(suggestion).kebab).toBe(suggestion);
});
