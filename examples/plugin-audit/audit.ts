/** A plugin that writes a line of JSON for each reset, step and tool call: `openenv serve --plugin examples/plugin-audit/audit.ts`. */
import { appendFileSync } from "node:fs";
import { definePlugin, text } from "openenv-ts/plugin";

export default definePlugin({
  name: "audit",
  // OPENENV_AUDIT_FILE
  settings: { file: { kind: text, fallback: "audit.jsonl" } },
  metrics: { audit_lines_total: { type: "counter", help: "Lines of the audit log." } },

  // A file that cannot be written stops the start.
  start: ({ settings }) => appendFileSync(settings.file, ""),

  session(session, { principal }, { settings, metrics, worker }) {
    const write = (line: object): void => {
      const head = { at: new Date().toISOString(), worker, session: session.label, by: principal?.name };
      appendFileSync(settings.file, `${JSON.stringify({ ...head, ...line })}\n`);
      metrics.audit_lines_total++;
    };
    return {
      record: ({ event, type, request, answer }) => write({ event, type, request, answer }),
      // A step that is not in the log loses its session.
      mustRecord: true,
      ended: (reason) => write({ type: "end", reason }),
    };
  },
});
