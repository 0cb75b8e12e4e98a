/**
 * `sent` with every array of bytes in it as its field writes it (base64, a data URL), or with `raw` as its field has it:
 * bytes that JSON writes as base64. Only the field knows, so the form is taken from `parsed`, what the schema made of
 * `sent`. The rest stays as it is: the server parses it itself.
 */
export function encodeBytes(sent: unknown, parsed: unknown, raw = false): unknown {
  if (typeof sent !== "object" || sent === null) return sent;
  if (ArrayBuffer.isView(sent)) return (raw ? parsed : jsonForm(parsed)) ?? sent;
  let copy: Record<string, unknown> | undefined;
  for (const [key, value] of Object.entries(sent)) {
    const encoded = encodeBytes(value, (parsed as Record<string, unknown> | undefined)?.[key], raw);
    if (encoded === value) continue;
    copy ??= (Array.isArray(sent) ? [...sent] : { ...sent }) as Record<string, unknown>;
    copy[key] = encoded;
  }
  return copy ?? sent;
}

function jsonForm(value: unknown): unknown {
  const { toJSON } = (value ?? {}) as { toJSON?: () => unknown };
  return typeof toJSON === "function" ? toJSON.call(value) : value;
}
