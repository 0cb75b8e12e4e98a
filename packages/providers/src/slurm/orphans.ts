import { ProviderError } from "openenv-ts";
import { MARK, readLabels } from "../docker/labels.js";
import type { Orphan, OrphanFinder } from "../orphans/orphan.js";
import { runSlurm } from "./command.js";
import { cancelJobs } from "./job.js";

const PREFIX = "openenv:";

/** The labels as the comment of a job, encoded so that no command interprets them. */
export function renderComment(labels: Readonly<Record<string, string>>): string {
  return PREFIX + Buffer.from(JSON.stringify(labels)).toString("base64url");
}

/** Finds the jobs that carry our labels; none without Slurm. */
export function createSlurmOrphanFinder(): OrphanFinder {
  return {
    async list() {
      const text = await runSlurm("squeue", ["--all", "--noheader", "--format=%A %j %k"]).catch((error: unknown) => {
        if (error instanceof ProviderError && (error.cause as NodeJS.ErrnoException)?.code === "ENOENT") return "";
        throw error;
      });
      return text.split("\n").flatMap(describe);
    },
  };
}

function describe(line: string): Orphan[] {
  const [, id = "", name = "", comment = ""] = /^(\d+) (openenv-\S+) openenv:(\S+)$/.exec(line.trim()) ?? [];
  const labels = readComment(comment);
  if (labels?.[MARK] === undefined) return [];
  return [{ id, url: undefined, ...readLabels(labels), remove: () => cancelJobs(name) }];
}

function readComment(comment: string): Record<string, string> | undefined {
  try {
    return JSON.parse(Buffer.from(comment, "base64url").toString()) as Record<string, string>;
  } catch {
    return undefined;
  }
}
