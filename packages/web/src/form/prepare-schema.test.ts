import { describe, expect, test } from "vitest";
import { prepareSchema } from "./prepare-schema.js";

describe("a schema for a form", () => {
  test("begins what has to be filled in with its example, and nothing that may be left out", () => {
    const word = { type: "string", examples: ["[crane]", "[slate]"] };
    const { properties } = prepareSchema({ type: "object", properties: { word, more: word }, required: ["word"] });
    expect(properties?.["word"]).toMatchObject({ default: "[crane]" });
    expect(properties?.["more"]).not.toHaveProperty("default");
  });

  test("takes a field for a field, also where it is called like a keyword", () => {
    const orNull = { anyOf: [{ type: "string" }, { type: "null" }] };
    const names = ["default", "type", "examples", "properties", "anyOf"];
    const { properties } = prepareSchema({
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, orNull])),
      required: names,
    });
    for (const name of names) expect(properties?.[name]).toMatchObject({ type: ["string", "null"] });
  });

  test("offers a choice once, also where a union that may be null is in one that may be null", () => {
    const word = { anyOf: [{ type: "string" }, { type: "integer" }] };
    const orNull = (inner: object) => ({ anyOf: [inner, { type: "null" }] });
    const twice = { ...orNull(orNull(word)), default: null };
    const { properties } = prepareSchema({ type: "object", properties: { twice } });
    expect(properties?.["twice"]).toMatchObject({
      anyOf: ["string", "integer", "None"].map((title) => ({ title })),
    });
  });

  test("leaves out the free-form fields that every action has", () => {
    const metadata = { type: "object" };
    expect(prepareSchema({ type: "object", properties: { metadata } }).properties).toEqual({});
  });
});
