import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { InvalidOutputError } from "../validation/json-safe.js";
import { packError, unpackError } from "./packed-error.js";

function unreadable(): never {
  throw new Error("no");
}

test.each<[string, () => unknown, unknown]>([
  ["without a prototype", () => Object.create(null), "{}"],
  ["undefined", () => undefined, "undefined"],
  ["an object", () => ({ a: 1 }), '{"a":1}'],
  ["a message that throws", () => Object.defineProperty(new Error(), "message", { get: unreadable }), /cannot be read/],
  ["a name that throws", () => Object.assign(new Error("x"), { name: Object.create(null) }), /cannot be read/],
  ["a code that throws", () => Object.defineProperty(new Error("x"), "code", { get: unreadable }), "x"],
  ["an error without a stack", () => Object.assign(new Error("lonely"), { stack: undefined }), "lonely"],
  ["a proxy that throws", () => new Proxy(new Error(), { get: unreadable, getPrototypeOf: unreadable }), /cannot be/],
])("any thrown value can be sent: %s", (_, make, text) => {
  const sent = unpackError(structuredClone(packError(make())));
  expect(sent).toEqual(text instanceof RegExp ? expect.stringMatching(text) : text);
});

test.each<[string, unknown]>([
  ["a function", () => "no text"],
  ["missing", undefined],
])("an error with the name %s can be sent", (_, name) => {
  const error = Object.assign(new TypeError("unlucky"), { name, code: "OWN" });
  expect(unpackError(structuredClone(packError(error)))).toMatchObject({
    name: "Error",
    message: "unlucky",
    code: "OWN",
  });
});

test("an error from another realm keeps its message", () => {
  const error: unknown = runInNewContext("try { nobody.here } catch (error) { error }");
  expect(error).not.toBeInstanceOf(Error);
  expect(unpackError(structuredClone(packError(error)))).toMatchObject({
    name: "ReferenceError",
    message: "nobody is not defined",
  });
});

test("an InvalidOutputError keeps its class", () => {
  const error = new InvalidOutputError("it contains itself");
  const sent = unpackError(structuredClone(packError(error)));
  expect(sent).toBeInstanceOf(InvalidOutputError);
  expect(sent).toMatchObject({ message: "it contains itself", code: "EXECUTION_ERROR", stack: error.stack });
});
