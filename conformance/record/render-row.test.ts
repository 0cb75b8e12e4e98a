import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { listTranscripts } from "../replay/load.js";
import { renderRow } from "./render-row.js";

const lines = listTranscripts().flatMap((file) => readFileSync(file, "utf8").trim().split("\n"));

test("a row with the recorded answer is the recorded line, to the character", () => {
  for (const line of lines) {
    const rendered = renderRow(line, JSON.parse(line));
    // JavaScript has its own order of keys that are numbers.
    if (/"\d+": /.test(line)) expect(JSON.parse(rendered)).toEqual(JSON.parse(line));
    else expect(rendered).toBe(line);
  }
});

test("a row with another answer differs where the answer does", () => {
  const line = '{"case": "c", "send": {"n": 1.0}, "recv": [{"reward": 2.0, "done": false, "gone": 1}], "note": "n"}';
  const rendered =
    '{"case": "c", "send": {"n": 1.0}, "recv": [{"reward": 2.0, "done": true, "more": "é"}], "note": "n"}';
  expect(renderRow(line, { recv: [{ reward: 2, done: true, more: "é" }] })).toBe(rendered);
});

test("what was sent in a dialogue stays, and headers and parts of a schema that were not recorded stay out", () => {
  const steps = '{"path": "/ws", "steps": [{"send": {"type": "state"}, "recv": [{"count": 2}]}]}';
  expect(renderRow(steps.replace("2", "1"), { steps: [{ recv: [{ count: 2 }] }] })).toBe(steps);
  const schema = '{"path": "/schema", "status": 200, "response": {"state": {"type": "object"}}}';
  const answer = { status: 200, content_type: "application/json", response_headers: { server: "x" } };
  expect(renderRow(schema, { ...answer, response: { action: {}, state: { type: "object" } } })).toBe(schema);
});

test("a string replaces the JSON, and an unexpected close is added", () => {
  const line = '{"status": 200, "response": {}}';
  expect(renderRow(line, { status: 500, response_text: "no" })).toBe('{"status": 500, "response_text": "no"}');
  expect(renderRow('{"recv": []}', { recv: [], closed_by_server: { code: 1011 } })).toBe(
    '{"recv": [], "closed_by_server": {"code": 1011}}',
  );
});
