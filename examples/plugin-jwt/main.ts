/** Issues a token, and uses a server that knows its issuer. Run it with `npx openenv run examples/plugin-jwt/main.ts`. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import environment from "../dice.js";
import jwt from "./jwt.js";

// The issuer publishes its public key.
const { publicKey, privateKey } = await generateKeyPair("ES256");
const published = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] });
const issuer = createServer((_request, response) => response.end(published)).listen(0, "127.0.0.1");
await once(issuer, "listening");
const issue = (name: string, audience = "training") =>
  new SignJWT()
    .setProtectedHeader({ alg: "ES256" })
    .setSubject(name)
    .setIssuer("https://login.example")
    .setAudience(audience)
    .setExpirationTime("1h")
    .sign(privateKey);

process.env["OPENENV_JWT_KEYS"] = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
process.env["OPENENV_JWT_ISSUER"] = "https://login.example";
process.env["OPENENV_JWT_AUDIENCE"] = "training";
// Peers that the plugin does not know need a token of the server.
process.env["OPENENV_CLIENT_TOKEN"] = randomUUID();
const OPERATOR_TOKEN = randomUUID();
await using server = await serve(environment, {
  port: 0,
  logLevel: "error",
  plugins: [jwt],
  operatorToken: OPERATOR_TOKEN,
  // Only this setting makes an operator of a name.
  operators: ["ada"],
});

await using env = await connect(server.url, { token: await issue("bob") });
const { observation } = await env.reset();
assert.deepEqual(observation["sum"], 0);
const details = { status: 401, fault: "client", code: "UNAUTHORIZED" };
await assert.rejects(connect(server.url, { token: await issue("bob", "another server") }), { details });

const statusOf = async (path: string, token?: string): Promise<number> => {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (await fetch(`${server.url}${path}`, { headers })).status;
};
assert.deepEqual(
  [await statusOf("/health"), await statusOf("/schema"), await statusOf("/schema", "guess")],
  [200, 401, 401],
);
assert.deepEqual([await statusOf("/health", "of a probe"), await statusOf("/metrics", OPERATOR_TOKEN)], [200, 200]);
assert.equal(await statusOf("/sessions", await issue("ada")), 200);
assert.equal(await statusOf("/sessions", await issue("bob")), 401);
issuer.close();

// The token is right, but its keys cannot be fetched.
process.env["OPENENV_JWT_KEYS"] += "/other";
await using other = await serve(environment, { port: 0, logLevel: "silent", plugins: [jwt] });
const { status } = await fetch(`${other.url}/schema`, { headers: { authorization: `Bearer ${await issue("bob")}` } });
assert.equal(status, 503);
console.log("ada operates the server, bob plays, and a token for another server is refused");
