import { useEffect, useState } from "react";
import type { ListedSession } from "./session-rows.js";

const LENGTH = 12;

/**
 * The public name of a session, made from its id as the server makes it. Undefined for a session of a batch, whose name is
 * that of the batch, and where the browser has no cryptography: over plain HTTP to another machine.
 */
export function useHandle({ session_id, client }: ListedSession): string | undefined {
  const [handle, setHandle] = useState<string>();
  useEffect(() => {
    if (client !== "batch" && isSecureContext) void handleOf(session_id).then(setHandle);
  }, [session_id, client]);
  return handle;
}

async function handleOf(id: string): Promise<string> {
  const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
  const key = await crypto.subtle.importKey("raw", bytes(id), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const hash = await crypto.subtle.sign("HMAC", key, bytes("openenv session handle"));
  const text = btoa(String.fromCharCode(...new Uint8Array(hash)));
  return text.slice(0, LENGTH).replaceAll("+", "-").replaceAll("/", "_");
}
