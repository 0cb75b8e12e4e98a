import { describe, expect, test } from "vitest";
import { Registry } from "./registry.js";

const item = (name: string) => ({ name, index: -1 });

describe("a registry", () => {
  test("forgets what was removed and keeps the rest, in any order", () => {
    const registry = new Registry<{ name: string; index: number }>();
    const items = ["a", "b", "c", "d", "e"].map(item);
    for (const each of items) registry.add(each);
    for (const index of [1, 4, 0]) expect(registry.remove(items[index] as (typeof items)[0])).toBe(true);
    expect([...registry].map(({ name }) => name).sort()).toEqual(["c", "d"]);
    expect(registry.size).toBe(2);
  });

  test("says when an item is not in it", () => {
    const registry = new Registry<{ name: string; index: number }>();
    const [a, b] = [item("a"), item("b")];
    registry.add(a);
    expect(registry.remove(b)).toBe(false);
    expect(registry.remove(a)).toBe(true);
    expect(registry.remove(a)).toBe(false);
  });

  test("can lose items while it is walked", () => {
    const registry = new Registry<{ name: string; index: number }>();
    for (const name of ["a", "b", "c"]) registry.add(item(name));
    for (const each of registry) registry.remove(each);
    expect(registry.size).toBe(0);
  });
});
