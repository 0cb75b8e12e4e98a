/**
 * A plugin that recognises peers by a JSON Web Token, which they send as bearer token. Other peers need a token of the
 * server, such as OPENENV_CLIENT_TOKEN.
 */
import { createRemoteJWKSet, errors, jwtVerify } from "jose";
import { definePlugin, text } from "openenv-ts/plugin";

/** The keys of each issuer are fetched once, and again when a token has an unknown one. */
const keys = new Map<string, ReturnType<typeof createRemoteJWKSet>>();
/** The codes of errors in a token; the others are about the keys. */
const ABOUT_TOKEN = /^ERR_(JWT|JWS|JOSE_ALG|JOSE_NOT_SUPPORTED|JWKS_NO_MATCHING)/;

export default definePlugin({
  name: "jwt",
  // OPENENV_JWT_KEYS, OPENENV_JWT_ISSUER and OPENENV_JWT_AUDIENCE
  settings: { keys: { kind: text }, issuer: { kind: text }, audience: { kind: text } },

  start({ settings }) {
    for (const [name, value] of Object.entries(settings)) {
      if (value === undefined) throw new Error(`set OPENENV_JWT_${name.toUpperCase()}`);
    }
    const { OPENENV_CLIENT_TOKEN: token, OPENENV_CLIENT_TOKEN_FILE: file } = process.env;
    if (!token && !file) throw new Error("set OPENENV_CLIENT_TOKEN: without it, a peer needs no token at all");
  },

  async authorize({ headers, isOpen }, { settings }) {
    const { keys: url = "", issuer = "", audience = "" } = settings;
    // The header of a JSON Web Token begins with {", encoded.
    const token = /^Bearer (eyJ[\w-]*\.[\w-]+\.[\w-]+)$/.exec(headers.authorization ?? "")?.[1];
    if (token === undefined || isOpen) return undefined;
    const known = keys.get(url) ?? createRemoteJWKSet(new URL(url));
    keys.set(url, known);
    try {
      const { payload } = await jwtVerify(token, known, { issuer, audience, algorithms: ["ES256", "RS256"] });
      if (payload.sub === undefined) return refuse("the token has no subject");
      return { name: payload.sub, claims: payload };
    } catch (error) {
      // The token may be right if its keys could not be fetched: the server answers 503 to a hook that throws.
      if (!(error instanceof errors.JOSEError) || !ABOUT_TOKEN.test(error.code)) throw error;
      return refuse("the token is not valid, or has expired: request a new one");
    }
  },
});

function refuse(message: string) {
  return { code: "UNAUTHORIZED", message } as const;
}
