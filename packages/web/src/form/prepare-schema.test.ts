import { describe, expect, test } from "vitest";
import { prepareSchema } from "./prepare-schema.js";

describe("a schema for a form", () => {
  test("prefills required fields with their example, and leaves optional ones empty", () => {
    const word = { type: "string", examples: ["[crane]", "[slate]"] };
    const { properties } = prepareSchema({ type: "object", properties: { word, more: word }, required: ["word"] });
    expect(properties?.["word"]).toMatchObject({ default: "[crane]" });
    expect(properties?.["more"]).not.toHaveProperty("default");
  });

  test("treats a field as a field, even when its name is a keyword", () => {
    const orNull = { anyOf: [{ type: "string" }, { type: "null" }] };
    const names = ["default", "type", "examples", "properties", "anyOf"];
    const { properties } = prepareSchema({
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, orNull])),
      required: names,
    });
    for (const name of names) expect(properties?.[name]).toMatchObject({ type: ["string", "null"] });
  });

  test("offers a choice once, also for a nullable union inside a nullable union", () => {
    const word = { anyOf: [{ type: "string" }, { type: "integer" }] };
    const orNull = (inner: object) => ({ anyOf: [inner, { type: "null" }] });
    const twice = { ...orNull(orNull(word)), default: null };
    const { properties } = prepareSchema({ type: "object", properties: { twice } });
    expect(properties?.["twice"]).toMatchObject({
      anyOf: ["string", "integer", "None"].map((title) => ({ title })),
    });
  });

  test("omits the free-form fields that every action has", () => {
    const metadata = { type: "object" };
    expect(prepareSchema({ type: "object", properties: { metadata } }).properties).toEqual({});
  });
});
