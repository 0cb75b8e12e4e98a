import { useEffect, useState } from "react";
import { ask } from "../../../server/get.js";

interface Tasks {
  splits: { name: string; count: number | undefined }[];
  problem: string | undefined;
}

const NONE: Tasks = { splits: [], problem: undefined };

/** The splits of the server's tasks and how many tasks each has, asked for once. */
export function useTasks(there: boolean): Tasks {
  const [tasks, setTasks] = useState(NONE);
  useEffect(() => {
    if (!there) return;
    const controller = new AbortController();
    load(controller.signal).then(
      (splits) => setTasks({ splits, problem: undefined }),
      (error: Error) => {
        if (!controller.signal.aborted)
          setTasks({ splits: [], problem: `The tasks could not be read: ${error.message}` });
      },
    );
    return () => controller.abort();
  }, [there]);
  return tasks;
}

async function load(signal: AbortSignal): Promise<Tasks["splits"]> {
  const [name] = await ask<string[]>("/list_environments", { signal });
  const prefix = `/${encodeURIComponent(String(name))}`;
  const splits = await ask<{ name: string }[]>(`${prefix}/splits`, { signal });
  return Promise.all(
    splits.map(async (split) => {
      const { num_tasks } = await ask<{ num_tasks?: number }>(`${prefix}/num_tasks`, {
        body: { split: split.name },
        signal,
      });
      return { name: split.name, count: num_tasks };
    }),
  );
}
