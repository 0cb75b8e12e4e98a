import { OWNER, type Owner } from "../orphans/owner.js";

/** By these everything is found that was started here, and nothing else. */
const PREFIX = "openenv.";
/** Everything that is ours carries it. */
export const MARK = `${PREFIX}owner`;

export function renderLabels(provider: string, source: string): Record<string, string> {
  return {
    [MARK]: OWNER.id,
    [`${PREFIX}host`]: OWNER.host,
    [`${PREFIX}pid`]: String(OWNER.pid),
    [`${PREFIX}pid-start`]: OWNER.pidStart,
    [`${PREFIX}provider`]: provider,
    [`${PREFIX}source`]: source,
    [`${PREFIX}started`]: new Date().toISOString(),
  };
}

/** What the labels tell. */
export function readLabels(labels: Readonly<Record<string, string>>): {
  provider: string;
  source: string;
  startedAt: string;
  owner: Owner;
} {
  const read = (name: string): string => labels[PREFIX + name] ?? "";
  return {
    provider: read("provider"),
    source: read("source"),
    startedAt: read("started"),
    owner: { id: read("owner"), host: read("host"), pid: Number(read("pid")), pidStart: read("pid-start") },
  };
}
