import { describe, expect, test } from "vitest";
import { Registry } from "./registry.js";

const item = (name: string) => ({ name, index: -1 });

describe("a registry", () => {
  test("removes items in any order and keeps the others", () => {
    const registry = new Registry<{ name: string; index: number }>();
    const items = ["a", "b", "c", "d", "e"].map(item);
    for (const each of items) registry.add(each);
    for (const index of [1, 4, 0]) expect(registry.remove(items[index] as (typeof items)[0])).toBe(true);
    expect([...registry].map(({ name }) => name).sort()).toEqual(["c", "d"]);
    expect(registry.size).toBe(2);
  });

  test("returns false for an item that it does not contain", () => {
    const registry = new Registry<{ name: string; index: number }>();
    const [a, b] = [item("a"), item("b")];
    registry.add(a);
    expect(registry.remove(b)).toBe(false);
    expect(registry.remove(a)).toBe(true);
    expect(registry.remove(a)).toBe(false);
  });

  test("allows removing items during iteration", () => {
    const registry = new Registry<{ name: string; index: number }>();
    for (const name of ["a", "b", "c"]) registry.add(item(name));
    for (const each of registry) registry.remove(each);
    expect(registry.size).toBe(0);
  });
});
