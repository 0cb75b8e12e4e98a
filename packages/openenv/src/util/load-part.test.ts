import { expect, test } from "vitest";
import { ConfigError } from "../errors.js";
import { findPart, loadPart } from "./load-part.js";

const loadMissing = () => import("#parts/missing" as string);

test("an option of a part that is missing fails with the names of both", async () => {
  expect(await findPart("missing", loadMissing)).toBeUndefined();
  const loading = loadPart("missing", loadMissing, "JOURNAL");
  await expect(loading).rejects.toThrow(ConfigError);
  await expect(loading).rejects.toThrow('JOURNAL needs the part "missing" of openenv-ts');
});

test("a part that lacks a package fails with the name of the package", async () => {
  const message = "Cannot find package 'redis' imported from /app/dist/parts/durable/journals/redis.js";
  const error = Object.assign(new Error(message), { code: "ERR_MODULE_NOT_FOUND" });
  await expect(findPart("durable", () => Promise.reject(error))).rejects.toBe(error);
});

test("a part that is there is returned", async () => {
  expect(await findPart("sockets", () => import("#parts/sockets" as string))).toHaveProperty("loadRuntime");
});
