/** The media type that a file's first bytes tell; undefined for what no browser shows everywhere. */
export function imageType(bytes: Uint8Array): string | undefined {
  return TYPES.find(({ marks }) => marks.every(([at, text]) => startsWith(bytes, at, text)))?.type;
}

const TYPES: { type: string; marks: [number, string][] }[] = [
  { type: "image/png", marks: [[0, "\x89PNG\r\n\x1a\n"]] },
  { type: "image/jpeg", marks: [[0, "\xff\xd8\xff"]] },
  { type: "image/gif", marks: [[0, "GIF8"]] },
  {
    type: "image/webp",
    marks: [
      [0, "RIFF"],
      [8, "WEBP"],
    ],
  },
];

function startsWith(bytes: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}
